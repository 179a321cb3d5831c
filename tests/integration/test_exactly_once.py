"""An exactly-once source in processes that are killed: counts the committed records."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from hearth.broker import KafkaBroker
from hearth.storage import State, TargetState
from tests.crash.process import tree
from tests.integration.process_host import ProcessHost
from tests.integration.thread_host import file_source
from tests.profile import crashes
from tests.timeouts import TIMEOUT, eventually

KILLS = 2
LINE = "{:09d}\n"


@pytest.fixture(scope="module")
def host(broker: KafkaBroker) -> Iterator[ProcessHost]:
    """Provide a host whose sources write exactly once."""
    with ProcessHost(broker.bootstrap_servers, "exact", exactly_once_source_support="enabled") as host:
        assert isinstance(host, ProcessHost)
        yield host


class Lines:
    """A file to which numbered lines are written all the time."""

    def __init__(self, path: Path, connector: str) -> None:
        self.path, self.connector, self.count = path, connector, 0
        path.touch()

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Write a few lines at a time during the block."""
        stop = threading.Event()
        thread = threading.Thread(target=self._write, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _write(self, stop: threading.Event) -> None:
        while not stop.wait(0.01):
            self.add(20)

    def add(self, count: int) -> None:
        """Write ``count`` lines at once."""
        with self.path.open("a") as file:
            file.writelines(LINE.format(number) for number in range(self.count, self.count + count))
        self.count += count

    def come_through(self, host: ProcessHost) -> bool:
        """Wait until all lines written so far are committed."""
        size = self.path.stat().st_size
        return eventually(lambda: self.position(host) >= size, TIMEOUT)

    def position(self, host: ProcessHost) -> int:
        """Return the committed position."""
        (offset,) = host.offsets.get(self.connector, [{"filename": str(self.path)}])
        return 0 if offset is None else int(offset["position"])


def committed(broker: KafkaBroker, topic: str) -> list[int]:
    """Return the records of a topic with isolation.level=read_committed."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "ledger",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(TIMEOUT)) is not None and message.error() is None:
        found.append(int(message.value() or b""))
    consumer.close()
    return found


def test_kills_lose_and_duplicate_no_line(host: ProcessHost, broker: KafkaBroker, tmp_path: Path) -> None:
    """The task's process or its stage, at any moment; the next run continues after the last commit."""
    chance, lines = random.Random(), Lines(tmp_path / "lines", "ledger")
    host.run(file_source("ledger", lines.path, "ledger-lines"))
    with lines.growing():
        for _ in range(KILLS * crashes()):
            threading.Event().wait(chance.uniform(0.05, 0.5))
            victim = chance.choice(tree(host.launcher.processes[-1].pid))
            os.kill(victim.pid, signal.SIGKILL)
            revive(host, len(host.launcher.processes))
            assert lines.come_through(host), host.state("ledger")
    assert lines.come_through(host)
    assert committed(broker, "ledger-lines") == list(range(lines.count))


def revive(host: ProcessHost, runs: int) -> None:
    """Wait until the task is launched again or FAILED; restart it then, as a user would."""
    eventually(lambda: len(host.launcher.processes) > runs or host.state("ledger") is State.FAILED, TIMEOUT)
    if host.state("ledger") is State.FAILED:
        host.herder.restart_task("ledger", 0).result(TIMEOUT)


def test_a_recreated_connector_continues_from_the_stored_offsets(
    host: ProcessHost, broker: KafkaBroker, tmp_path: Path
) -> None:
    """From its own offsets topic, with the cluster's copy; or from offsets that a user sets."""
    lines = Lines(tmp_path / "lines", "again")
    config = file_source("again", lines.path, "again-lines", **{"offsets.storage.topic": "again-offsets"})
    partition = {"filename": str(lines.path)}
    for _ in range(2):
        lines.add(20)
        host.run(config)
        assert lines.come_through(host), host.state("again")
        host.herder.delete("again").result(TIMEOUT)
    assert committed(broker, "again-lines") == list(range(40))
    host.herder.put("again", {**config, "offsets.storage.topic": "exact-offsets"}, TargetState.STOPPED).result(TIMEOUT)
    end = {"partition": partition, "offset": {"position": lines.path.stat().st_size}}
    assert host.herder.offsets.read("again").result(TIMEOUT) == {"offsets": [end]}
    host.herder.offsets.alter("again", [(partition, {"position": 30 * len(LINE.format(0))})]).result(TIMEOUT)
    host.herder.want("again", TargetState.STARTED).result(TIMEOUT)
    assert lines.come_through(host), host.state("again")
    assert committed(broker, "again-lines") == [*range(40), *range(30, 40)]
    host.herder.want("again", TargetState.STOPPED).result(TIMEOUT)
    host.herder.offsets.reset("again").result(TIMEOUT)
    assert host.herder.offsets.read("again").result(TIMEOUT) == {"offsets": []}

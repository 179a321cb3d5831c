"""A source that has more to send than its producer takes, because its broker is away, and is ended meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.pipeline import pass_time
from tests.crash.process import await_end, holder
from tests.peer.hearth_connect import HearthConnect
from tests.peer.rest import eventually
from tests.peer.topic import Topics

STRING = "org.apache.kafka.connect.storage.StringConverter"
FIRST, MORE = 1_000, 100_000
"""More than a producer keeps."""


def append(path: Path, numbers: range) -> None:
    """Write lines that are numbers."""
    with path.open("a") as file:
        file.writelines(f"{number}\n" for number in numbers)


@contextmanager
def host_of(host: HearthConnect) -> Iterator[HearthConnect]:
    """Run a host for the time of a test."""
    try:
        host.start()
        yield host
    finally:
        host.stop()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("act", ["delete", "restart"])
def test_nothing_of_an_ended_run_is_sent_later(tmp_path: Path, own_broker: KafkaBroker, act: str) -> None:
    """A deleted connector sends nothing more; lines of a restarted one come in order, not between those of before."""
    lines, topics = tmp_path / "lines", Topics(own_broker.bootstrap_servers)
    topics.create("numbers")
    append(lines, range(FIRST))
    settings = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}
    settings["offset.storage.file.filename"] = str(tmp_path / "offsets")
    source = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    config = {"name": "full", "connector.class": source, "file": str(lines), "topic": "numbers"}
    with host_of(HearthConnect(tmp_path, own_broker.bootstrap_servers, settings, [config])) as host:
        assert eventually(lambda: topics.count("numbers") == FIRST, 60), host.last_words()
        stage = holder(lines)
        own_broker.kill()
        append(lines, range(FIRST, FIRST + MORE))
        pass_time(3)
        if act == "delete":
            assert host.rest.call("DELETE", "/connectors/full").status == 204
        else:
            assert host.rest.call("POST", "/connectors/full/tasks/0/restart").status == 204
        await_end([stage])
        own_broker.start()
        expected = FIRST if act == "delete" else FIRST + MORE
        assert eventually(lambda: topics.count("numbers") >= expected, 60), host.last_words()
        pass_time(3)
        assert [record.value for record in topics.read("numbers")] == [str(each).encode() for each in range(expected)]

"""Debezium reads a MariaDB server while the JVM of its task, the task, Spark's JVM and the host are killed."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.counters import KEYS, TABLE, arrived, connector, counting, last_numbers, numbers, repeats
from tests.crash.pipeline import pass_time
from tests.crash.process import Process, await_end, tree
from tests.mariadb import MariaDb, is_installed, serving
from tests.peer.hearth_connect import HearthConnect
from tests.peer.plugin_list import place
from tests.peer.topic import Topics
from tests.timeouts import eventually

pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_installed(), reason="this machine has no MariaDB")]

KILLS = 20
SECONDS_TO_FLOW = 120.0


class Host:
    """A worker with the connector, whose processes may be killed."""

    def __init__(self, folder: Path, database: MariaDb, broker: KafkaBroker) -> None:
        plugins = folder / "plugins"
        plugins.mkdir()
        place("debezium-connector-mariadb", plugins)
        settings = {"plugin.path": str(plugins), "offset.flush.interval.ms": "1000"}
        self.topics = Topics(broker.bootstrap_servers)
        self.worker = HearthConnect(folder, broker.bootstrap_servers, settings, [connector(database, broker)])

    def processes(self, word: str) -> list[Process]:
        """Return the worker's processes with a word in their command line."""
        return [each for each in tree(self.worker.pid) if word in each.command]

    def jvms(self) -> list[Process]:
        """Return the JVMs of stages: the connector's, which is the host's child, and the task's."""
        return self.processes("hearth.stage.Main")

    def victims(self, kind: str) -> Sequence[int]:
        """Return the processes of which one is killed."""
        if kind == "host":
            return [self.worker.pid]
        if kind == "executor":
            return [each.pid for each in self.processes("org.apache.spark.deploy.SparkSubmit")]
        jvms = self.jvms()
        return (
            [each.pid for each in jvms]
            if kind == "jvm"
            else [each.parent for each in jvms if each.parent != self.worker.pid]
        )

    def kill(self, kind: str, chance: random.Random) -> None:
        """Kill a process of a kind once there is one; a killed host's processes end by themselves."""
        assert eventually(lambda: bool(self.victims(kind)), SECONDS_TO_FLOW, 0.1), self.worker.last_words()
        below = tree(self.worker.pid)
        with suppress(ProcessLookupError):  # it ended by itself
            os.kill(chance.choice(list(self.victims(kind))), signal.SIGKILL)
        if kind == "host":
            self.worker.kill()
            await_end(below, 60.0)
            self.worker.start()

    def flows(self) -> bool:
        """Return whether the task runs; start it and the connector again if a stage was killed."""
        states = self.worker.rest.states("ledger")
        if "FAILED" in states:
            self.worker.rest.call("POST", "/connectors/ledger/restart?includeTasks=true&onlyFailed=true")
        return len(states) > 1 and set(states) == {"RUNNING"}

    def await_flow(self) -> None:
        """Wait until the task runs and new records arrive."""
        assert eventually(self.flows, SECONDS_TO_FLOW, 0.2), self.worker.last_words()
        before = arrived(self.topics)

        def arrives() -> bool:
            self.flows()
            return arrived(self.topics) > before

        assert eventually(arrives, SECONDS_TO_FLOW, 0.2), self.worker.last_words()


@pytest.mark.parametrize(("found", "count"), [([0, 1, 2], 0), ([0, 1, 0, 1, 2], 2), ([0, 0, 1], 1)])
def test_repeats_are_counted(found: Sequence[int], count: int) -> None:
    """After a kill a task may begin at an earlier number."""
    assert repeats(found) == count


@pytest.mark.parametrize("found", [[0, 2], [1], [0, 1, 2, 0, 3]])
def test_missing_number_is_noticed(found: Sequence[int]) -> None:
    """Also behind numbers that come again, where order would be lost."""
    with pytest.raises(AssertionError):
        repeats(found)


def test_no_change_is_lost_and_the_order_of_each_key_is_kept(broker: KafkaBroker, tmp_path: Path) -> None:
    """Twenty kills of four kinds; at the end the topic has every number of every counter, in order."""
    chance = random.Random(34)
    kinds = ["jvm", "task", "executor", "host"] * (KILLS // 4)
    chance.shuffle(kinds)
    with serving() as database:
        database.run(TABLE)
        host = Host(tmp_path, database, broker)
        host.worker.start()
        try:
            assert eventually(lambda: arrived(host.topics) == KEYS, SECONDS_TO_FLOW), host.worker.last_words()
            with counting(database):  # after the snapshot, which is where the numbers start
                host.await_flow()
                for number, kind in enumerate(kinds):
                    pass_time(chance.uniform(0.2, 2.0))
                    host.kill(kind, chance)
                    host.await_flow()
                    print(f"{number + 1}: records flow again after the {kind} was killed")
            last = last_numbers(database)

            def is_complete() -> bool:
                host.flows()
                return {key: max(found, default=-1) for key, found in numbers(host.topics).items()} == last

            assert eventually(is_complete, SECONDS_TO_FLOW, 1.0), (last, host.worker.last_words())
            again = Counter({key: repeats(found) for key, found in numbers(host.topics).items()})
            print(f"{sum(last.values())} changes, {again.total()} repeats, {Counter(kinds)}")
        finally:
            host.worker.stop()

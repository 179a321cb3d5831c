"""Hosts, executors, tasks and Spark's own processes are killed and stopped at random, and no line is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.bench.cluster import SparkCluster
from tests.crash.process import tree
from tests.integration.numbered_lines import NumberedLines
from tests.integration.test_exactly_once import committed
from tests.peer.distributed import HearthDistributed
from tests.peer.rest import eventually

pytestmark = [pytest.mark.slow, pytest.mark.long]
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {
    "key.converter": STRING,
    "value.converter": STRING,
    "offset.flush.interval.ms": "300",
    "errors.task.restart.max": "-1",  # the stage process of a task may be killed as well
    "errors.task.restart.backoff.ms": "200",
    "errors.task.restart.backoff.max.ms": "5000",
}
EXACTLY_ONCE = {"exactly.once.source.support": "enabled", "consumer.isolation.level": "read_committed"}
HOSTS, PIPELINES, ACTS = 3, 4, 50


class Chaos:
    """Ends and stops processes of a cluster as chance has it, and starts again what has to be there."""

    def __init__(self, hosts: list[HearthDistributed], spark: SparkCluster, chance: random.Random) -> None:
        self._hosts, self._spark, self._chance = hosts, spark, chance
        self.done: list[str] = []

    def act(self) -> None:
        """Do one thing."""
        acts: list[Callable[[], str]] = [
            self._kill_host, self._kill_host, self._stop_host, self._restart_host,
            self._kill_executor, self._kill_python, self._stop_executor, self._kill_worker,
        ]  # fmt: skip
        began = time.strftime("%H:%M:%S", time.gmtime())
        self.done.append(f"{began} {self._chance.choice(acts)()}")
        print(self.done[-1], flush=True)

    def _kill_host(self) -> str:
        host = self._chance.choice(self._hosts)
        host.kill()
        self._pause(3)
        host.start()
        return f"host at {host.port} killed"

    def _restart_host(self) -> str:
        host = self._chance.choice(self._hosts)
        host.stop()
        host.start()
        return f"host at {host.port} restarted"

    def _stop_host(self) -> str:
        host = self._chance.choice(self._hosts)
        return f"host at {host.port} {self._stopped([host.pid], 40)}"

    def _stop_executor(self) -> str:
        executor = self._any_executor()
        if executor is None:
            return "no executor"
        return f"executor {executor} {self._stopped([each.pid for each in tree(executor)], 20)}"

    def _kill_executor(self) -> str:
        executor = self._any_executor()
        return "no executor" if executor is None else f"executor {self._killed(executor)}"

    def _kill_python(self) -> str:
        executor = self._any_executor()
        below = [] if executor is None else [each.pid for each in tree(executor) if each.pid != executor]
        return f"process of a task {self._killed(self._chance.choice(below))}" if below else "no task"

    def _kill_worker(self) -> str:
        worker = self._chance.choice(self._spark.pids[1:])
        self._killed(worker)
        self._spark.replace(worker)
        return f"Spark worker {worker} killed, another one started"

    def _any_executor(self) -> int | None:
        found = list(self._spark.executors())
        return self._chance.choice(found) if found else None

    def _killed(self, pid: int) -> str:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return f"{pid} killed"

    def _stopped(self, pids: list[int], most: float) -> str:
        seconds = self._chance.uniform(0.5, most)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if number is signal.SIGSTOP:
                time.sleep(seconds)
        return f"stopped for {seconds:.1f} s"

    def _pause(self, most: float) -> None:
        time.sleep(self._chance.uniform(0, most))


@pytest.mark.parametrize("settings", [{}, EXACTLY_ONCE], ids=["at least once", "exactly once"])
def test_nothing_is_lost_whatever_is_killed_or_stopped(
    settings: dict[str, str], tmp_path: Path, own_broker: KafkaBroker
) -> None:
    """Of four pipelines on two Spark workers each line arrives, in order; what came again is counted and said.

    With exactly once each is in its topic once.
    """
    seed = int(os.environ.get("HEARTH_CHAOS", "1"))
    chance = random.Random(seed)
    servers = own_broker.bootstrap_servers
    with contextlib.ExitStack() as stack:
        spark = stack.enter_context(SparkCluster(tmp_path / "spark", workers=2))
        settings = {**SETTINGS, **settings, **spark.settings()}
        hosts = [HearthDistributed(tmp_path / str(each), servers, "chaos", settings) for each in range(HOSTS)]
        for host in hosts:
            stack.callback(host.stop)
            host.start()
        pipelines = [stack.enter_context(NumberedLines(tmp_path, f"chaos-{each}")) for each in range(PIPELINES)]
        for lines in pipelines:
            for config in lines.configs():
                assert hosts[-1].rest.create(config).status == 201
        assert all(lines.flows() for lines in pipelines), hosts[0].last_words()
        for lines in pipelines:
            lines.arrivals.forget_gaps()
        chaos = Chaos(hosts, spark, chance)
        for _ in range(int(os.environ.get("HEARTH_CHAOS_ACTS", ACTS))):
            chaos.act()
            assert not any(lines.arrivals.faults for lines in pipelines), chaos.done
            if chance.random() < 0.6:
                assert all(lines.flows(120) for lines in pipelines), told(chaos, hosts)
        assert all(lines.flows(120) for lines in pipelines), told(chaos, hosts)
        assert all(lines.is_complete(120) for lines in pipelines), told(chaos, hosts)
        for lines in pipelines:
            assert lines.arrivals.faults == [], told(chaos, hosts)
            print(
                f"{lines.topic}: {lines.written} lines, {lines.arrivals.repeats} came again, nothing new for "
                f"{lines.arrivals.longest_gap:.1f} s at most"
            )
            if EXACTLY_ONCE.items() <= settings.items():
                assert committed(own_broker, lines.topic) == list(range(lines.written))
        assert eventually(lambda: len({len(host.rest.call("GET", "/connectors").json) for host in hosts}) == 1, 20)


def told(chaos: Chaos, hosts: list[HearthDistributed]) -> str:
    """Say what was done, and what the hosts said last."""
    return "\n".join([*chaos.done, *(host.last_words() for host in hosts)])

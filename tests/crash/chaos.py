"""Chaos: kills and suspends processes of a cluster at random, and restarts those that must exist."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from tests.bench.cluster import SparkCluster
from tests.crash.actor import Journal
from tests.crash.process import tree
from tests.peer.distributed import HearthDistributed

LONGEST_STOP = 40.0
LONGEST_AWAY = 3.0
_JAVA = "java "


class Chaos:
    """Kills and suspends any process of some hosts and of their Spark cluster; each is restarted or resumed.

    Without a Spark cluster each host has a local Spark.
    """

    def __init__(
        self,
        hosts: Sequence[HearthDistributed],
        spark: SparkCluster | None,
        chance: random.Random,
        journal: Journal,
        longest_stop: float = LONGEST_STOP,
    ) -> None:
        self._hosts, self._chance, self._journal = hosts, chance, journal
        self._longest_stop = longest_stop
        self._acts: list[Callable[[], str]] = [
            self._kill_host, self._kill_host, self._restart_host, self._stop_host, self._stop_whole_host,
            self._kill_driver, self._kill_python_of_host,
        ]  # fmt: skip
        if spark is not None:
            self._spark = spark
            self._acts += [
                self._kill_master, self._kill_worker, self._stop_master, self._stop_worker,
                self._kill_executor, self._kill_executor, self._stop_executor, self._stop_whole_executor,
                self._kill_python, self._kill_python, self._stop_python,
            ]  # fmt: skip

    def act(self) -> None:
        """Execute one random act."""
        self._do(self._chance.choice(self._acts))

    def kill_first_host(self) -> None:
        """Kill the oldest host permanently."""
        self._do(self._end_first_host)

    def kill_process(self) -> None:
        """Kill a process of a task or of a connector."""
        self._do(self._kill_python_of_host)

    def _do(self, act: Callable[[], str]) -> None:
        started = time.monotonic()
        done = act()
        self._journal.note(f"{done}, in {time.monotonic() - started:.1f} s")

    # Hosts, with the JVM of the driver and the processes of connectors -----------------------------------------

    def _end_first_host(self) -> str:
        self._hosts[0].kill()
        return f"host at {self._hosts[0].port} killed"

    def _kill_host(self) -> str:
        host = self._chance.choice(self._hosts)
        host.kill()
        self._pause()
        host.start()
        return f"host at {host.port} killed and started again"

    def _restart_host(self) -> str:
        host = self._chance.choice(self._hosts)
        host.stop()
        host.start()
        return f"host at {host.port} restarted"

    def _stop_host(self) -> str:
        host = self._chance.choice(self._hosts)
        return f"host at {host.port} {self._stopped([host.pid])}"

    def _stop_whole_host(self) -> str:
        host = self._chance.choice(self._hosts)
        return f"host at {host.port} with all its processes {self._stopped(each.pid for each in tree(host.pid))}"

    def _kill_driver(self) -> str:
        drivers = [each for host in self._hosts for each in tree(host.pid) if _JAVA in each.command]
        return f"Spark's driver {self._killed([each.pid for each in drivers])}"

    def _kill_python_of_host(self) -> str:
        running = [host for host in self._hosts if host.is_running]
        below = [each.pid for host in running for each in tree(host.pid)[1:] if _JAVA not in each.command]
        return f"process of a host {self._killed(below)}"

    # The master and the workers of Spark -----------------------------------------------------------------------

    def _kill_master(self) -> str:
        return f"Spark's master {self._replaced(self._spark.pids[0])}"

    def _kill_worker(self) -> str:
        return f"Spark's worker {self._replaced(self._chance.choice(self._spark.pids[1:]))}"

    def _stop_master(self) -> str:
        return f"Spark's master {self._stopped([self._spark.pids[0]])}"

    def _stop_worker(self) -> str:
        return f"Spark's worker {self._stopped([self._chance.choice(self._spark.pids[1:])])}"

    # Executors, with the processes of tasks --------------------------------------------------------------------

    def _kill_executor(self) -> str:
        return f"executor {self._killed(list(self._spark.executors()))}"

    def _stop_executor(self) -> str:
        return f"executor {self._stopped(self._any(list(self._spark.executors())))}"

    def _stop_whole_executor(self) -> str:
        executor = self._any(list(self._spark.executors()))
        processes = [each.pid for pid in executor for each in tree(pid)]
        return f"executor with all its processes {self._stopped(processes)}"

    def _kill_python(self) -> str:
        return f"process of an executor {self._killed(self._pythons())}"

    def _stop_python(self) -> str:
        return f"process of an executor {self._stopped(self._any(self._pythons()))}"

    def _pythons(self) -> list[int]:
        return [each.pid for executor in self._spark.executors() for each in tree(executor)[1:]]

    # Mechanics -------------------------------------------------------------------------------------------------

    def _any(self, pids: list[int]) -> list[int]:
        return [self._chance.choice(pids)] if pids else []

    def _killed(self, pids: list[int]) -> str:
        chosen = self._any(pids)
        _signal(chosen, signal.SIGKILL)
        return f"{chosen[0]} killed" if chosen else "is not there"

    def _replaced(self, pid: int) -> str:
        _signal([pid], signal.SIGKILL)
        self._pause()
        self._spark.replace(pid)
        return f"{pid} killed, another started"

    def _stopped(self, pids: Iterable[int]) -> str:
        chosen, seconds = list(pids), self._chance.uniform(0.5, self._longest_stop)
        if not chosen:
            return "is not there"
        _signal(chosen, signal.SIGSTOP)
        time.sleep(seconds)
        _signal(chosen, signal.SIGCONT)
        return f"{chosen[0]} stopped for {seconds:.1f} s"

    def _pause(self) -> None:
        time.sleep(self._chance.uniform(0, LONGEST_AWAY))


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

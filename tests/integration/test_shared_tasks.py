"""Tasks of one environment that share their processes (``task.isolation=environment``), on a real executor."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest

from tests.crash.process import Process, carried, find
from tests.integration.conftest import Host, MakeRecorder
from tests.integration.test_failure import SINK, SOURCE, misbehaving
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

_PROCESS = re.compile(r"runs in process (\d+)")


def is_there(pid: int) -> bool:
    """Return whether a process is alive."""
    try:
        return find(pid).is_alive
    except ProcessLookupError:
        return False


class Shared:
    """Connectors whose tasks share processes: sources of numbers without end."""

    def __init__(self, host: Host, topics: Topics, name: str) -> None:
        self._host, self._topics, self._name = host, topics, name
        self.neighbours = [f"{name}-{number}" for number in range(3)]

    def config(self, name: str, connector: str = SOURCE, **settings: str) -> dict[str, str]:
        """Return the configuration of a connector."""
        return {**misbehaving(name, connector, **settings), "task.isolation": "environment"}

    def run(self) -> None:
        """Start some sources that behave."""
        for each in self.neighbours:
            assert self._host.rest.create(self.config(each)).status == 201
        for each in self.neighbours:
            self._host.wait_for_state(each, "RUNNING")

    def runtimes(self, *names: str) -> set[int]:
        """Return the processes of connectors' tasks, by default of the neighbours', according to the log.

        A task's status may be RUNNING before the log line is read.
        """
        found: dict[str, int | None] = {}

        def are_logged() -> bool:
            found.update({each: self._process_of(each) for each in names or self.neighbours})
            return all(pid is not None and is_there(pid) for pid in found.values())

        assert eventually(are_logged, TIMEOUT), f"{found}\n{self._host.last_words()}"
        return {pid for pid in found.values() if pid is not None}

    def _process_of(self, name: str) -> int | None:
        """Return the process that the log last reported for a task."""
        lines = [line for line in self._host.last_words().splitlines() if f"[{name}|task-0] the task runs" in line]
        match = _PROCESS.search(lines[-1]) if lines else None
        return None if match is None else int(match[1])

    @property
    def runtime(self) -> Process:
        """Return the process that the neighbours share."""
        pids = self.runtimes()
        assert len(pids) == 1, self._host.last_words()
        (pid,) = pids
        assert find(pid).title == "task-runtime"
        return find(pid)

    @property
    def stages(self) -> list[Process]:
        """Return its stages, including one that hangs or has been idle for seconds."""
        return [each for each in carried(self.runtime.pid) if "hearth_stage" in each.command]

    def numbers(self, name: str) -> list[int]:
        """Return the numbers that a source has written, in order."""
        return [int(record.value or b"") for record in self._topics.read(name)]

    def go_on(self) -> bool:
        """Return whether all of them write on; no number may be missing or out of order."""
        before = {each: self._topics.count(each) for each in self.neighbours}
        assert eventually(lambda: all(self._topics.count(each) > count for each, count in before.items()), TIMEOUT)
        for each in self.neighbours:
            found = self.numbers(each)
            assert sorted(set(found)) == list(range(max(found) + 1)), "a number is missing"
            steps = [after - number for number, after in zip(found, found[1:])]
            assert all(step <= 1 for step in steps), "a number is out of order"
        return True

    def has_logged(self, text: str) -> bool:
        """Return whether the log has a line."""
        return text in self._host.last_words()

    def trace(self, name: str) -> str:
        """Wait until a task is FAILED, and return its trace."""
        self._host.wait_for_state(name, "FAILED", TIMEOUT)
        return str(self._host.rest.status(name)["tasks"][0]["trace"])


@pytest.fixture
def shared(host: Host, topics: Topics, name: str) -> Shared:
    """Provide running sources that share their processes."""
    made = Shared(host, topics, name)
    made.run()
    return made


def test_tasks_of_an_environment_share_a_process_and_a_stage(
    host: Host, shared: Shared, topics: Topics, name: str, recorder: MakeRecorder
) -> None:
    """Tasks of another environment have other processes; each log line has the context of its own task."""
    host.run(shared.config(f"{name}-sink", SINK))
    topics.create(f"{name}-other")
    topics.produce(f"{name}-other", [Record(None, b"one"), Record(None, b"two")])
    other = recorder(f"{name}-other", task_isolation="environment")
    other.await_values(["one", "two"])
    assert shared.runtimes(*shared.neighbours, f"{name}-sink") == {shared.runtime.pid}
    assert shared.runtimes(other.config["name"]) != {shared.runtime.pid}
    assert len(shared.stages) == 1
    for act in ("pause", "resume"):
        host.rest.call("PUT", f"/connectors/{shared.neighbours[0]}/{act}")
        host.wait_for_state(shared.neighbours[0], "PAUSED" if act == "pause" else "RUNNING")
    host.delete(shared.neighbours.pop())
    assert shared.go_on()


@pytest.mark.parametrize("victim", ["runtime", "stage"])
def test_killing_a_shared_process_loses_nothing(host: Host, shared: Shared, victim: str) -> None:
    """Either process is killed under load: all tasks restart from their stored positions."""
    killed = shared.runtime if victim == "runtime" else shared.stages[0]
    assert eventually(lambda: all(len(shared.numbers(each)) > 20 for each in shared.neighbours), TIMEOUT)
    os.kill(killed.pid, signal.SIGKILL)
    assert eventually(lambda: not killed.is_alive, TIMEOUT)
    for each in shared.neighbours:
        host.wait_for_state(each, "RUNNING")
    assert shared.go_on()
    assert len(shared.stages) == 1
    assert not shared.has_logged(f"[{shared.neighbours[0]}|task-0] the task runs in its own process")


def test_a_task_that_kills_the_shared_process_is_identified(host: Host, shared: Shared, name: str) -> None:
    """The culprit is unknown until each task has its own processes: then it is FAILED, and the others run on."""
    bad = shared.config(f"{name}-bad", misbehave_how="exit", misbehave_after="3")
    assert host.rest.create(bad).status == 201
    assert f"the stage process of {name}-bad-0 exited with 3" in shared.trace(f"{name}-bad")
    for each in [*shared.neighbours, f"{name}-bad"]:
        assert shared.has_logged(f"[{each}|task-0] the task runs in its own process from now on")
    for each in shared.neighbours:
        host.wait_for_state(each, "RUNNING")
    assert shared.go_on()


def test_a_hanging_task_is_moved_without_affecting_others(host: Host, shared: Shared, name: str) -> None:
    """The call is repeated once in its own processes, and the task is FAILED when it hangs again."""
    before: Any = [host.rest.status(each) for each in shared.neighbours]
    processes = shared.runtime, shared.stages
    bad = shared.config(f"{name}-bad", misbehave_how="hang", misbehave_after="3")
    assert host.rest.create(bad).status == 201
    trace = shared.trace(f"{name}-bad")
    assert f"the stage process of {name}-bad-0 did not answer 'poll' within 2 s" in trace
    assert "which it shares" not in trace
    assert shared.go_on()
    assert (shared.runtime, shared.stages) == processes
    assert [host.rest.status(each) for each in shared.neighbours] == before
    host.run(shared.config(f"{name}-late"))
    assert len(shared.stages) == 2, "a task that starts later gets another process than the one with the hanging call"

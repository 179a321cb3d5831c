"""An autoscaler carries out decisions: it calls Spark, and drains tasks before an executor is released."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from hearth.config.capacity_key import Capacity
from hearth.link.link_call import ExecutorUsage
from hearth.spark.autoscaler import INTERRUPT_SECONDS, Autoscaler
from hearth.spark.executor_set import Executor, ExecutorSet
from hearth.spark.scaling import CALM_SECONDS, SETTLING_SECONDS
from hearth_api import ConnectError


class Cluster:
    """Executors of four slots on machines of four processors, their tasks, and a clock."""

    def __init__(self, capacity: Capacity) -> None:
        self.now = 0.0
        self.present: dict[str, bool] = {"0": False}
        """Whether an executor is leaving."""
        self.running: dict[str, list[str]] = {"0": []}
        self.used: dict[str, float] = {}
        self.asked: list[int] = []
        self.given_back: list[str] = []
        self.moved: list[str] = []
        self.stuck: set[str] = set()
        self.silent: set[str] = set()
        self.late: list[str] = []
        self.scaler = Autoscaler(capacity, cast(ExecutorSet, self), self, lambda: self.late, lambda: self.now)

    def ask_for(self, count: int) -> None:
        self.asked.append(count)

    def give_back(self, executor: str) -> None:
        self.given_back.append(executor)
        self.present[executor] = True

    def look(self) -> list[Executor]:
        return [Executor(name, "m", 4, is_leaving) for name, is_leaving in self.present.items()]

    def tasks(self) -> dict[str, list[str]]:
        return {name: list(groups) for name, groups in self.running.items()}

    def is_running(self, group: str) -> bool:
        return any(group in groups for groups in self.running.values())

    def move(self, group: str) -> bool:
        if group in self.stuck:
            return False
        self.moved.append(group)
        return True

    def usage(self, group: str) -> ExecutorUsage:
        if group in self.silent:
            raise ConnectError("it hangs")
        executor = next(name for name, groups in self.running.items() if group in groups)
        return ExecutorUsage(self.used.get(executor, 0.0), 4.0, self.now)

    def pass_time(self, seconds: float, cpus: float = 0.0) -> None:
        """Let all executors use a number of processors for a while; check every five seconds."""
        for _ in range(int(seconds / 5)):
            self.now += 5
            for name in self.present:
                self.used[name] = self.used.get(name, 0.0) + 5 * cpus
            self.scaler.look()


@pytest.fixture
def cluster() -> Cluster:
    """Provide one executor, of up to two."""
    return Cluster(Capacity(1, 2, 0.2, 0.8))


def test_load_is_measured_by_the_first_task_that_answers(cluster: Cluster) -> None:
    """Four processors of which nearly all are used; the first task that is asked hangs."""
    cluster.running["0"], cluster.silent = ["a-0", "b-0"], {"a-0"}
    cluster.pass_time(SETTLING_SECONDS + 10, cpus=3.6)
    assert cluster.asked == [2]


def test_tasks_move_to_a_new_executor(cluster: Cluster) -> None:
    """Half of them move, once; what cannot move at once is tried again."""
    cluster.running["0"] = ["a-0", "b-0", "c-0", "d-0"]
    cluster.pass_time(SETTLING_SECONDS + 10, cpus=3.6)
    cluster.present["1"], cluster.running["1"] = False, []
    cluster.stuck = {"d-0"}
    cluster.pass_time(5)
    assert cluster.moved == ["c-0"]
    cluster.running = {"0": ["a-0", "b-0", "d-0"], "1": ["c-0"]}
    cluster.stuck = set()
    cluster.pass_time(5)
    cluster.running = {"0": ["a-0", "b-0"], "1": ["c-0", "d-0"]}
    cluster.pass_time(20)
    assert cluster.moved == ["c-0", "d-0"]


def test_released_executor_drains_its_tasks(cluster: Cluster) -> None:
    """It is asked again until the last task has ended; no task is cut off, and the end is logged."""
    cluster.present["1"] = False
    cluster.scaler._scaling.wanted = 2
    cluster.running = {"0": ["a-0", "b-0"], "1": ["c-0"]}
    cluster.stuck = {"c-0"}
    cluster.pass_time(SETTLING_SECONDS + CALM_SECONDS + 15)
    assert (cluster.given_back, cluster.moved) == (["1"], [])
    cluster.stuck = set()
    cluster.pass_time(5)
    assert cluster.moved == ["c-0"]


def test_missing_executors_cause_one_warning(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """After a minute, with the keys it may be about."""
    cluster.late = ["a-0"]
    with caplog.at_level(logging.WARNING):
        cluster.pass_time(3 * INTERRUPT_SECONDS)
    assert cluster.asked == [2]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "the cluster provides 1 of 2 requested executors" in messages[0]
    assert "spark.cores.max" in messages[0]


def test_running_task_does_not_wait_for_a_slot(cluster: Cluster) -> None:
    """A task that has not reported for a while may be running slowly."""
    cluster.running["0"], cluster.late = ["a-0"], ["a-0"]
    cluster.pass_time(30)
    assert cluster.asked == []


def test_failed_check_is_followed_by_the_next(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may be restarting."""
    looks: list[int] = []

    def look(_self: Any) -> None:
        looks.append(1)
        if len(looks) == 2:
            cluster.scaler.close()
        raise RuntimeError("no JVM")

    monkeypatch.setattr("hearth.spark.autoscaler.LOOK_SECONDS", 0.0)
    monkeypatch.setattr(Autoscaler, "look", look)
    cluster.scaler.run()
    assert (len(looks), cluster.asked) == (2, [1])

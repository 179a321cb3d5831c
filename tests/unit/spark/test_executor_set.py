"""The present executors and the one that a run prefers, with a fake Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hearth.config.capacity_key import Capacity
from hearth.spark.executor_set import ExecutorSet, starting_settings
from hearth.spark.spark_setting import spark_settings


class Listed(list[Any]):
    """A sequence as Scala has it."""

    def size(self) -> int:
        return len(self)

    def apply(self, number: int) -> Any:
        return self[number]


class Spark:
    """A context with executors, and jobs by group."""

    def __init__(self, *executors: str, slots: int = 2) -> None:
        self.executors = list(executors)
        self.leaving: set[str] = set()
        self.running: dict[str, str] = {}
        self.asked = 0
        self.stopped = 0
        self._slots = slots
        self._jvm = SimpleNamespace()
        manager = SimpleNamespace(isDefined=lambda: True, get=lambda: SimpleNamespace(stop=self._stop))
        self._spark = SimpleNamespace(
            executorAllocationManager=lambda: manager,
            schedulerBackend=lambda: SimpleNamespace(isExecutorActive=lambda name: name not in self.leaving),
            statusStore=lambda: SimpleNamespace(executorList=self._list, taskList=self._tasks),
        )
        self._jsc = SimpleNamespace(sc=lambda: self._spark)

    def _stop(self) -> None:
        self.stopped += 1

    def _list(self, _active: bool) -> Listed:
        def summary(name: str) -> Any:
            return SimpleNamespace(id=lambda: name, hostPort=lambda: f"m{name}:71", totalCores=lambda: self._slots)

        return Listed(map(summary, ["driver", *self.executors]))

    def statusTracker(self) -> Any:
        """Return what knows jobs and stages: here the stage of a group is the group."""
        return SimpleNamespace(
            getJobIdsForGroup=lambda group: [group],
            getJobInfo=lambda job: SimpleNamespace(status="RUNNING", stageIds=[job]),
        )

    def _tasks(self, group: str, _attempt: int, _most: int) -> Listed:
        self.asked += 1
        executor = self.running.get(group)
        task = SimpleNamespace(status=lambda: "RUNNING", executorId=lambda: executor)
        return Listed([task] if executor is not None else [])


def test_dynamic_allocation_stops_after_the_start() -> None:
    """It goes by tasks that wait, and would take from what is asked for."""
    spark = Spark("0")
    ExecutorSet(spark)
    assert spark.stopped == 1
    settings = starting_settings(Capacity(2, 5, 0.2, 0.8))
    assert settings["spark.dynamicAllocation.minExecutors"] == "2"
    assert settings["spark.dynamicAllocation.maxExecutors"] == "5"
    assert settings["spark.decommission.enabled"] == "true"
    local = spark_settings({}, Capacity(2, 5, 0.2, 0.8))
    assert "spark.dynamicAllocation.enabled" not in local


def test_run_prefers_the_executor_with_the_fewest_tasks(caplog: pytest.LogCaptureFixture) -> None:
    """What was submitted a moment ago counts; one that leaves, or is full, is not chosen."""
    spark = Spark("0", "1", "2")
    spark.leaving = {"2"}
    executors = ExecutorSet(spark, lambda: 0.0)
    assert [(each.id, each.is_leaving) for each in executors.look()] == [("0", False), ("1", False), ("2", True)]
    places = [executors.prefer(f"c-{number}") for number in range(5)]
    assert places == ["executor_m0_0", "executor_m1_1", "executor_m0_0", "executor_m1_1", None]
    executors.ended("c-1")
    assert executors.prefer("d-0") == "executor_m1_1"


def test_new_executors_are_preferred_within_a_second() -> None:
    """All tasks of a host that begins to lead are submitted within a second or two, while executors come."""
    spark, now = Spark(), [0.0]
    executors = ExecutorSet(spark, lambda: now[0])
    assert executors.prefer("c-0") is None
    spark.executors = ["0"]
    assert executors.prefer("c-1") is None
    now[0] = 1.0
    assert executors.prefer("c-2") == "executor_m0_0"


def test_executor_of_a_run_is_looked_up_once() -> None:
    """And again when its executor is gone: Spark itself runs the task elsewhere then."""
    spark = Spark("0", "1")
    executors = ExecutorSet(spark)
    executors.look()
    executors.prefer("c-0")
    spark.running["c-0"] = "1"
    assert executors.tasks() == {"1": ["c-0"]}
    assert executors.is_running("c-0")
    executors.tasks()
    assert spark.asked == 1
    spark.executors.remove("1")
    executors.look()
    spark.running["c-0"] = "0"
    assert executors.tasks() == {"0": ["c-0"]}
    executors.ended("c-0")
    assert (executors.tasks(), executors.is_running("c-0")) == ({}, False)


def test_waiting_run_has_no_executor() -> None:
    """It has no executor yet, whichever it prefers."""
    spark = Spark("0", slots=1)
    executors = ExecutorSet(spark)
    executors.look()
    assert executors.prefer("c-0") is not None
    assert executors.prefer("c-1") is None
    assert executors.tasks() == {"0": ["c-0"], "": ["c-1"]}
    assert not executors.is_running("c-0")

"""Tasks that wait for a slot cause one warning."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.config.capacity_key import Capacity
from hearth.spark.slot import INTERRUPT_SECONDS, SlotWatch

CLUSTER = {"spark.master": "spark://one:7077", "spark.driver.host": "10.0.0.1"}


class Context:
    """A Spark in which some jobs run, with some executors and cores."""

    def __init__(self, executors: int = 1) -> None:
        self.running: set[str] = set()
        self.defaultParallelism = 2
        self.busy, self.slots = 2, 2
        status = SimpleNamespace(size=lambda: executors + 1)
        profiles = SimpleNamespace(defaultResourceProfile=lambda: "default")
        infos = lambda: [SimpleNamespace(numRunningTasks=lambda: self.busy)]  # noqa: E731
        spark = SimpleNamespace(
            getExecutorMemoryStatus=lambda: status,
            statusTracker=lambda: SimpleNamespace(getExecutorInfos=infos),
            resourceProfileManager=lambda: profiles,
            maxNumConcurrentTasks=lambda profile: {"default": self.slots}[profile],
        )
        self._jsc = SimpleNamespace(sc=lambda: spark)

    def statusTracker(self) -> Any:
        """Return itself, which knows all."""
        return self

    def getJobIdsForGroup(self, group: str) -> list[str]:
        """Return one job, called like its group."""
        return [group]

    def getJobInfo(self, job: str) -> Any:
        """Return a job of one stage."""
        return SimpleNamespace(status="RUNNING", stageIds=[job])

    def getStageInfo(self, stage: str) -> Any:
        """Return a stage with a task that runs or waits."""
        return SimpleNamespace(numActiveTasks=int(stage in self.running))


class Stand:
    """A watch with the test's clock, and its messages."""

    def __init__(self, settings: Mapping[str, str], executors: int = 1, capacity: Capacity | None = None) -> None:
        self.now = 0.0
        self.messages: list[str] = []
        self.context = Context(executors)
        self.watch = SlotWatch(settings, self.messages.append, lambda: self.now, capacity)

    def look(self, seconds: float = 0.0) -> list[str]:
        """Let time pass, check, and return the new messages."""
        self.now += seconds
        self.messages.clear()
        self.watch.look(self.context)
        return list(self.messages)


def test_running_job_causes_no_warning() -> None:
    """Nor looked at again."""
    stand = Stand(CLUSTER)
    stand.watch.submitted("c-0")
    stand.context.running.add("c-0")
    assert stand.look(INTERRUPT_SECONDS) == []
    stand.context.running.clear()
    assert stand.look(60) == []


def test_job_without_a_slot_causes_one_warning_with_the_keys() -> None:
    """It waits as long as it must, and the log does not fill."""
    stand = Stand(CLUSTER)
    stand.watch.submitted("c-0")
    assert stand.look(INTERRUPT_SECONDS / 2) == []
    (messages,) = stand.look(INTERRUPT_SECONDS)
    assert "no slot for c-0: the executors of spark://one:7077 (1) have 2 cores" in messages
    assert "spark.cores.max" in messages
    assert stand.look(60) == []
    stand.watch.submitted("c-1")
    assert "c-0, c-1" in stand.look(INTERRUPT_SECONDS)[0]
    stand.watch.placed("c-0")
    assert stand.look(1) == []


@pytest.mark.parametrize(
    ("least", "most", "remedy"),
    [
        (1, 2, "raise autoscaling.max.worker.count=2 or spark.executor.cores"),
        (1, 3, "executors are requested up to 3; if none is added raise spark.cores.max or add workers"),
        (2, 2, "raise capacity.worker.count=2 or spark.executor.cores"),
    ],
)
def test_warning_names_the_keys_to_change(least: int, most: int, remedy: str) -> None:
    """Where others say how many executors there are, those of Spark do not help."""
    stand = Stand(CLUSTER, 2, Capacity(least, most, 0.2, 0.8))
    stand.watch.submitted("c-0")
    (messages,) = stand.look(INTERRUPT_SECONDS)
    assert messages.endswith(f"one for each task; {remedy}")


def test_cluster_without_an_executor_causes_a_warning() -> None:
    """Its workers are full, or too small for what is asked."""
    stand = Stand(CLUSTER, executors=0)
    stand.context.busy = stand.context.slots = 0
    stand.watch.submitted("c-0")
    (messages,) = stand.look(INTERRUPT_SECONDS)
    assert "spark://one:7077 has started no executor" in messages
    assert "spark.executor.memory" in messages
    assert "spark.driver.host=10.0.0.1" in messages


def test_free_slot_causes_no_warning() -> None:
    """On a busy machine Spark takes seconds to place a task; the warning comes once the slots are used."""
    stand = Stand({"spark.master": "local[2]"})
    stand.context.busy = 1
    stand.watch.submitted("c-1")
    assert stand.look(60) == []
    stand.context.busy = 2
    assert len(stand.look()) == 1


def test_full_local_master_causes_a_warning() -> None:
    """There the number of slots is part of its name."""
    stand = Stand({"spark.master": "local[1]"})
    stand.watch.submitted("c-1")
    assert stand.look(INTERRUPT_SECONDS) == [
        "no slot for c-1: all slots of spark.master=local[1] are used; raise the number in it"
    ]

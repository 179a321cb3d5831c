"""Scaling by load: out at once, in after a while, and never an executor whose tasks cannot move."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hearth.config.capacity_key import Capacity
from hearth.spark.scaling import CALM_SECONDS, SETTLING_SECONDS, ExecutorLoad, Scaling, moves
from tests.profile import machine_settings

BETWEEN = Capacity(1, 4, 0.2, 0.8)


def executors(*cpu: float | None, tasks: int = 1, slots: int = 8) -> list[ExecutorLoad]:
    """Return executors with as many tasks each, and these shares of CPU."""
    return [
        ExecutorLoad(str(number), slots, tuple(f"c-{number}-{task}" for task in range(tasks)), share)
        for number, share in enumerate(cpu)
    ]


def settled(capacity: Capacity, *cpu: float | None, tasks: int = 1, slots: int = 8) -> tuple[Scaling, float]:
    """Return what has decided over these executors for a while, and the time."""
    scaling = Scaling(capacity)
    scaling.wanted = len(cpu)
    scaling.decide(0.0, executors(*[0.5] * len(cpu), tasks=tasks, slots=slots), 0)
    return scaling, SETTLING_SECONDS


def test_scaling_starts_with_the_minimum() -> None:
    """It stays there until an executor can be measured."""
    scaling = Scaling(BETWEEN)
    assert scaling.decide(0.0, [], 3).wanted == 1


def test_high_load_scales_out_at_once() -> None:
    """By the first look at a load that is too high; as many as bring it below the mark."""
    scaling, now = settled(BETWEEN, 0.9)
    assert scaling.decide(now, executors(0.9), 0).wanted == 2
    scaling, now = settled(BETWEEN, 1.0, 1.0, 0.9)
    assert scaling.decide(now, executors(1.0, 1.0, 0.9), 0).wanted == 4


def test_mean_load_decides() -> None:
    """One busy executor beside an idle one needs no further one, once tasks are shared out."""
    scaling, now = settled(BETWEEN, 1.0, 0.4)
    assert scaling.decide(now, executors(1.0, 0.4), 0).wanted == 2


def test_waiting_tasks_scale_out_without_load() -> None:
    """They use no CPU as long as they wait."""
    scaling, _ = settled(BETWEEN, 0.0, slots=2)
    decision = scaling.decide(1.0, executors(0.0, slots=2, tasks=2), 5)
    assert (decision.wanted, "5 tasks wait" in decision.reason) == (4, True)


def test_no_more_are_requested_while_some_are_missing() -> None:
    """A cluster may take a minute to give what it has been asked for, or not have it."""
    scaling, now = settled(BETWEEN, 0.9)
    assert scaling.decide(now, executors(0.9), 0).wanted == 2
    assert scaling.decide(now + 500, executors(0.9), 9).wanted == 2


def test_load_is_ignored_after_tasks_moved() -> None:
    """Starting takes CPU, and those that have come have not been measured."""
    scaling, now = settled(BETWEEN, 0.9)
    scaling.decide(now, executors(0.9), 0)
    assert scaling.decide(now + 5, executors(1.0, 1.0), 0).wanted == 2
    assert scaling.decide(now + 5 + SETTLING_SECONDS, executors(1.0, 1.0), 0).wanted == 3


def test_low_load_releases_one_after_a_while() -> None:
    """The one with the fewest tasks; a moment of load in between restarts the wait."""
    scaling, now = settled(BETWEEN, 0.1, 0.1)
    loads = [ExecutorLoad("a", 8, ("x", "y"), 0.1), ExecutorLoad("b", 8, ("z",), 0.1)]
    assert scaling.decide(now, loads, 0).leaving is None
    now += SETTLING_SECONDS
    assert scaling.decide(now, loads, 0).leaving is None
    assert scaling.decide(now + CALM_SECONDS - 1, executors(0.3, 0.3), 0).leaving is None
    now += CALM_SECONDS + SETTLING_SECONDS
    scaling.decide(now, loads, 0)
    scaling.decide(now + SETTLING_SECONDS, loads, 0)
    assert scaling.decide(now + SETTLING_SECONDS + CALM_SECONDS - 1, loads, 0).leaving is None
    decision = scaling.decide(now + SETTLING_SECONDS + CALM_SECONDS, loads, 0)
    assert (decision.wanted, decision.leaving) == (1, "b")


@pytest.mark.parametrize(
    ("cpu", "tasks", "slots"),
    [((0.15, 0.15), 2, 3), ((0.1, None), 1, 8)],
    ids=["no slots elsewhere", "not known"],
)
def test_executor_whose_tasks_cannot_move_is_kept(cpu: tuple[float | None, ...], tasks: int, slots: int) -> None:
    """No other has slots for its tasks, or its load is unknown."""
    scaling, now = settled(BETWEEN, *cpu, tasks=tasks, slots=slots)
    for second in range(0, 1000, 5):
        assert scaling.decide(now + second, executors(*cpu, tasks=tasks, slots=slots), 0).leaving is None


def test_executor_is_kept_if_the_rest_would_be_overloaded() -> None:
    """With marks close to each other it would come and go for ever."""
    close = Capacity(1, 4, 0.5, 0.6)
    scaling, now = settled(close, 0.45, 0.45)
    for second in range(0, 1000, 5):
        assert scaling.decide(now + second, executors(0.45, 0.45), 0).leaving is None


def test_request_for_missing_executors_is_cancelled_at_low_load() -> None:
    """Nothing has to drain for that."""
    scaling, now = settled(BETWEEN, 0.9)
    assert scaling.decide(now, executors(0.9), 0).wanted == 2
    decisions = [scaling.decide(now + second, executors(0.1), 0) for second in range(0, 200, 5)]
    assert decisions[-1].wanted == 1
    assert not [each for each in decisions if each.leaving]


def test_surplus_executors_are_released_at_any_load() -> None:
    """A cluster that was slow to hear may have given more."""
    scaling, now = settled(Capacity(2, 2, 0.2, 0.8), 0.9, 0.9, 0.9)
    decision = scaling.decide(now, executors(0.9, 0.9, 0.9), 0)
    assert (decision.wanted, decision.leaving) == (2, "0")


def test_fixed_count_ignores_load() -> None:
    """Neither out nor in."""
    for cpu in (1.0, 0.0):
        scaling, now = settled(Capacity(2, 2, 0.2, 0.8), cpu, cpu)
        decisions = [scaling.decide(now + second, executors(cpu, cpu), 3) for second in range(0, 500, 5)]
        assert {(each.wanted, each.leaving) for each in decisions} == {(2, None)}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_tasks_are_levelled_within_free_slots(shape: list[tuple[int, int]]) -> None:
    """Counts differ by at most one where slots are free; no task moves twice, and no executor exceeds its slots."""
    loads = [
        ExecutorLoad(str(number), max(slots, tasks), tuple(f"{number}-{task}" for task in range(tasks)))
        for number, (slots, tasks) in enumerate(shape)
    ]
    moving = moves(loads)
    assert len(set(moving)) == len(moving)
    left = {each.id: len(each.tasks) for each in loads}
    left = {name: count - Counter(group.partition("-")[0] for group in moving)[name] for name, count in left.items()}
    room = {each.id: each.slots for each in loads}
    for _ in moving:  # as a launcher puts them: where the fewest are
        taker = min((name for name in left if left[name] < room[name]), key=lambda name: left[name])
        left[taker] += 1
    most = max(left.values())
    assert all(count >= most - 1 or count == room[name] for name, count in left.items())


class ScalingMachine(RuleBasedStateMachine):
    """A cluster gives, takes and loses executors; tasks come, go and work. Counts and slots are kept to."""

    @initialize(least=st.integers(1, 3), more=st.integers(0, 3))
    def begin(self, least: int, more: int) -> None:
        """Begin with nothing."""
        self.capacity = Capacity(least, least + more, 0.2, 0.8)
        self.scaling = Scaling(self.capacity)
        self.now, self.serial = 0.0, 0
        self.tasks: dict[str, list[str]] = {}
        self.leaving: set[str] = set()
        self.wanted = least

    @rule(
        cpu=st.lists(st.sampled_from([None, 0.0, 0.1, 0.5, 1.0]), min_size=9, max_size=9), seconds=st.integers(1, 90)
    )
    def look(self, cpu: list[float | None], seconds: int) -> None:
        """Look, and do what was decided."""
        self.now += seconds
        loads = [
            ExecutorLoad(name, 3, tuple(tasks), share)
            for (name, tasks), share in zip(self.tasks.items(), cpu, strict=False)
            if name not in self.leaving
        ]
        decision = self.scaling.decide(self.now, loads, 0)
        assert self.capacity.least <= decision.wanted <= self.capacity.most
        if decision.leaving is not None:
            assert decision.leaving in {each.id for each in loads}
            free = sum(each.slots - len(each.tasks) for each in loads if each.id != decision.leaving)
            assert free >= len(self.tasks[decision.leaving])
            assert len(loads) > self.capacity.least
            self.leaving.add(decision.leaving)
        self.wanted = decision.wanted

    @rule()
    def give(self) -> None:
        """The cluster gives one that was asked for."""
        if len(self.tasks) - len(self.leaving) < self.wanted:
            self.serial += 1
            self.tasks[str(self.serial)] = []

    @rule(number=st.integers(0, 8))
    def lose(self, number: int) -> None:
        """One dies, or has drained."""
        if self.tasks:
            name = list(self.tasks)[number % len(self.tasks)]
            del self.tasks[name]
            self.leaving.discard(name)

    @rule(number=st.integers(0, 8), count=st.integers(0, 3))
    def work(self, number: int, count: int) -> None:
        """Tasks come and go."""
        if self.tasks:
            name = list(self.tasks)[number % len(self.tasks)]
            self.tasks[name] = [f"{name}-{each}" for each in range(count)]

    @invariant()
    def no_more_than_there_may_be(self) -> None:
        """Nothing beyond the most is ever asked for."""
        if hasattr(self, "wanted"):
            assert len(self.tasks) - len(self.leaving) <= self.capacity.most


TestScaling = ScalingMachine.TestCase
TestScaling.settings = machine_settings(steps=30)

"""Tasks that failed and restart themselves: when, how often, and what calls it off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hearth.config.restart_key import TaskRestartConfig
from hearth.herder.task_restart import TaskRestarts
from hearth.storage import RestartRequest, State, TargetState
from tests.unit.herder.herder_world import World, WorldTimer

PREFIX = "errors.task.restart."


class Bench:
    """Restarts of one connector, with a clock and alarms of the test."""

    def __init__(self, **settings: int) -> None:
        self.now = 0.0
        self.alarms: list[WorldTimer] = []
        self.reconciled = 0
        keys = {f"{PREFIX}{name.replace('_', '.')}": str(value) for name, value in settings.items()}
        self.settings = TaskRestartConfig(keys)
        self.restarts = TaskRestarts("a", self._reconcile, self._later, lambda: self.now)
        self.restarts.begin(0, self.settings, by_itself=False)

    def _reconcile(self) -> None:
        self.reconciled += 1

    def _later(self, seconds: float, act: Callable[[], None]) -> WorldTimer:
        return WorldTimer(self.alarms, seconds, act)

    def fail(self, lasting: float = 0.0) -> float | None:
        """Let the task run so long and fail; returns after which pause it is restarted, and lets that pass."""
        self.restarts.running(0)
        self.now += lasting
        self.restarts.failed(0)
        if not self.alarms:
            return None
        (alarm,) = self.alarms
        alarm.ring()
        assert self.restarts.due() == {0}
        self.restarts.call_off([0])
        self.restarts.begin(0, self.settings, by_itself=True)
        return alarm.seconds


def test_a_failed_task_stays_failed_unless_somebody_wants_otherwise() -> None:
    """As in Kafka Connect."""
    assert Bench().fail() is None


def test_pauses_double_up_to_the_longest_until_the_last_restart() -> None:
    """Then it stays FAILED."""
    bench = Bench(max=5, backoff_ms=100, backoff_max_ms=500)
    assert [bench.fail() for _ in range(6)] == [0.1, 0.2, 0.4, 0.5, 0.5, None]
    assert bench.reconciled == 5


def test_without_a_limit_it_goes_on() -> None:
    """With the longest pause in the end."""
    bench = Bench(max=-1)
    assert [bench.fail() for _ in range(100)][-1] == 60


def test_a_run_that_lasted_begins_the_count_anew() -> None:
    """What fails once a day is not to stay FAILED after a week."""
    bench = Bench(max=2, backoff_ms=100, backoff_max_ms=500)
    assert [bench.fail(), bench.fail(lasting=0.5), bench.fail(lasting=0.4), bench.fail()] == [0.1, 0.1, 0.2, None]


def test_somebody_who_restarts_it_begins_the_count_anew() -> None:
    """He has mended something, perhaps."""
    bench = Bench(max=1)
    assert [bench.fail(), bench.fail()] == [1, None]
    bench.restarts.begin(0, bench.settings, by_itself=False)
    assert bench.fail() == 1


def test_a_failure_that_is_told_twice_counts_once() -> None:
    """And one of a task that is about to be restarted not at all."""
    bench = Bench(max=3)
    bench.restarts.failed(0)
    bench.restarts.failed(0)
    (alarm,) = bench.alarms
    alarm.ring()
    bench.restarts.failed(0)
    assert bench.alarms == []


def test_an_alarm_that_rang_while_it_was_called_off_does_nothing() -> None:
    """It may have waited for the lock meanwhile."""
    bench = Bench(max=3)
    bench.restarts.failed(0)
    (alarm,) = bench.alarms
    bench.restarts.call_off([0])
    alarm.ring()
    bench.restarts.failed(0)
    alarm.ring()
    assert (bench.restarts.due(), bench.reconciled, len(bench.alarms)) == (set(), 0, 1)


@pytest.fixture
def world() -> World:
    """Make a world whose host leads, with a connector whose task restarts itself at most twice, and has failed."""
    made = World()
    made.lead()
    made.configs.put_connector(
        "a", {"name": "a", "connector.class": "x", "text": "1", f"{PREFIX}max": "2", "tasks.max": "1"}
    )
    made.host.queues.work("a")
    fail(made)
    return made


def fail(world: World) -> int:
    """Let the task fail; returns the generation of its run."""
    run = world.run("a", 0)
    assert run is not None
    world.fail(run)
    return run.generation


def state(world: World) -> State:
    """Return the state of the task."""
    return world.statuses.tasks("a")[0].state


def test_a_failed_task_restarts_itself(world: World) -> None:
    """With a run of its own, as often as it may; then somebody else can restart it."""
    for _ in range(2):
        assert state(world) is State.FAILED
        world.host.alarms[0].ring()
        world.host.queues.work("a")
        fail(world)
    world.settle()
    assert (state(world), world.run("a", 0)) == (State.FAILED, None)
    world.configs.put_restart(RestartRequest("a", only_failed=True, include_tasks=True))
    world.settle()
    assert state(world) is State.RUNNING


def test_a_task_that_was_lost_too_often_restarts_itself_as_well(world: World) -> None:
    """It is FAILED like any other."""
    world.settle()
    while (run := world.run("a", 0)) is not None:
        world.end(run, "executor 3 exited")
    assert (state(world), len(world.host.alarms)) == (State.FAILED, 1)
    world.settle()
    assert state(world) is State.RUNNING


def test_the_restart_of_an_operator_takes_the_place_of_its_own(world: World) -> None:
    """One run begins, not two."""
    world.configs.put_restart(RestartRequest("a", include_tasks=True))
    world.host.queues.work("a")
    assert world.host.alarms == []
    before = world.generation
    world.settle()
    assert (world.generation, state(world)) == (before, State.RUNNING)


def test_a_task_that_is_to_rest_restarts_when_it_is_to_go_on(world: World) -> None:
    """Whoever paused it wants nothing to happen."""
    world.configs.put_target("a", TargetState.PAUSED)
    world.settle()
    assert (world.run("a", 0), world.host.alarms) == (None, [])
    world.configs.put_target("a", TargetState.STARTED)
    world.settle()
    assert state(world) is State.RUNNING


@pytest.mark.parametrize("act", ["stop", "delete", "replace", "follow"])
def test_what_is_done_to_a_connector_calls_the_restart_off(world: World, act: str) -> None:
    """It begins no task that is no more, or one of before."""
    (alarm,) = world.host.alarms
    if act == "stop":
        world.configs.put_target("a", TargetState.STOPPED)
    elif act == "delete":
        world.configs.remove_connector("a")
    elif act == "replace":
        world.configs.put_connector("a", {"name": "a", "connector.class": "x", "text": "2"})
    else:
        world.host.reconciler.follow()
    while world.host.queues.ready:
        world.host.queues.work("a")
    before = world.generation
    assert world.host.alarms == []
    alarm.ring()
    world.settle()
    assert world.generation == before


def test_a_wrong_value_is_told_in_the_status_of_the_tasks(world: World) -> None:
    """These keys are none of a connector's definition, so it is taken, and says what is wrong when it starts."""
    world.configs.put_connector("a", {"name": "a", "connector.class": "x", "text": "2", f"{PREFIX}max": "many"})
    while world.host.queues.ready:
        world.host.queues.work("a")
    trace = world.statuses.tasks("a")[0].trace
    assert trace is not None
    assert "Invalid value many for configuration errors.task.restart.max" in trace

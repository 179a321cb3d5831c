"""Automatic restarts of failed tasks: when, how often, and what cancels them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hearth.config.restart_key import TaskRestartConfig
from hearth.herder.task_restart import TaskRestarts
from hearth.storage import RestartRequest, State, TargetState
from tests.unit.herder.herder_world import World, WorldTimer

PREFIX = "errors.task.restart."


class Bench:
    """The restarts of one connector, with a fake clock and fake timers."""

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
        """Let the task run for a while and fail; return its backoff after waiting for it."""
        self.restarts.running(0)
        self.now += lasting
        self.restarts.failed(0)
        if not self.alarms:
            return None
        (alarm,) = self.alarms
        alarm.ring()
        assert self.restarts.due() == {0}
        self.restarts.cancel([0])
        self.restarts.begin(0, self.settings, by_itself=True)
        return alarm.seconds


def test_a_failed_task_stays_failed_by_default() -> None:
    """As in Kafka Connect."""
    assert Bench().fail() is None


def test_the_backoff_doubles_up_to_its_maximum() -> None:
    """After the last restart the task stays FAILED."""
    bench = Bench(max=5, backoff_ms=100, backoff_max_ms=500)
    assert [bench.fail() for _ in range(6)] == [0.1, 0.2, 0.4, 0.5, 0.5, None]
    assert bench.reconciled == 5


def test_restarts_without_a_limit_continue() -> None:
    """With the maximum backoff in the end."""
    bench = Bench(max=-1)
    assert [bench.fail() for _ in range(100)][-1] == 60


def test_a_long_run_resets_the_count() -> None:
    """A task that fails once a day must not stay FAILED after a week."""
    bench = Bench(max=2, backoff_ms=100, backoff_max_ms=500)
    assert [bench.fail(), bench.fail(lasting=0.5), bench.fail(lasting=0.4), bench.fail()] == [0.1, 0.1, 0.2, None]


def test_a_manual_restart_resets_the_count() -> None:
    """The cause may have been fixed."""
    bench = Bench(max=1)
    assert [bench.fail(), bench.fail()] == [1, None]
    bench.restarts.begin(0, bench.settings, by_itself=False)
    assert bench.fail() == 1


def test_a_failure_reported_twice_counts_once() -> None:
    """And a failure of a task that is about to restart does not count."""
    bench = Bench(max=3)
    bench.restarts.failed(0)
    bench.restarts.failed(0)
    (alarm,) = bench.alarms
    alarm.ring()
    bench.restarts.failed(0)
    assert bench.alarms == []


def test_a_timer_that_fires_while_being_cancelled_does_nothing() -> None:
    """It may have waited for the lock."""
    bench = Bench(max=3)
    bench.restarts.failed(0)
    (alarm,) = bench.alarms
    bench.restarts.cancel([0])
    alarm.ring()
    bench.restarts.failed(0)
    alarm.ring()
    assert (bench.restarts.due(), bench.reconciled, len(bench.alarms)) == (set(), 0, 1)


@pytest.fixture
def world() -> World:
    """Return a world with a leading host, and a connector whose failed task restarts at most twice."""
    made = World()
    made.lead()
    made.configs.put_connector(
        "a", {"name": "a", "connector.class": "x", "text": "1", f"{PREFIX}max": "2", "tasks.max": "1"}
    )
    made.host.queues.work("a")
    fail(made)
    return made


def fail(world: World) -> int:
    """Fail the task; return the generation of its run."""
    run = world.run("a", 0)
    assert run is not None
    world.fail(run)
    return run.generation


def state(world: World) -> State:
    """Return the state of the task."""
    return world.statuses.tasks("a")[0].state


def test_a_failed_task_is_restarted(world: World) -> None:
    """With a new run, up to the limit; after that a manual restart is possible."""
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


def test_a_task_that_was_lost_too_often_is_restarted(world: World) -> None:
    """It is FAILED like any other."""
    world.settle()
    while (run := world.run("a", 0)) is not None:
        world.end(run, "executor 3 exited")
    assert (state(world), len(world.host.alarms)) == (State.FAILED, 1)
    world.settle()
    assert state(world) is State.RUNNING


def test_a_manual_restart_replaces_the_automatic_one(world: World) -> None:
    """One run starts, not two."""
    world.configs.put_restart(RestartRequest("a", include_tasks=True))
    world.host.queues.work("a")
    assert world.host.alarms == []
    before = world.generation
    world.settle()
    assert (world.generation, state(world)) == (before, State.RUNNING)


def test_a_paused_task_restarts_on_resume(world: World) -> None:
    """Nothing must happen while it is paused."""
    world.configs.put_target("a", TargetState.PAUSED)
    world.settle()
    assert (world.run("a", 0), world.host.alarms) == (None, [])
    world.configs.put_target("a", TargetState.STARTED)
    world.settle()
    assert state(world) is State.RUNNING


@pytest.mark.parametrize("act", ["stop", "delete", "replace", "follow"])
def test_an_action_on_the_connector_cancels_the_restart(world: World, act: str) -> None:
    """No removed or replaced task starts."""
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


def test_an_invalid_value_is_reported_in_the_status_of_the_tasks(world: World) -> None:
    """These keys are not in the connector's ConfigDef, so it is accepted and fails on start."""
    world.configs.put_connector("a", {"name": "a", "connector.class": "x", "text": "2", f"{PREFIX}max": "many"})
    while world.host.queues.ready:
        world.host.queues.work("a")
    trace = world.statuses.tasks("a")[0].trace
    assert trace is not None
    assert "Invalid value many for configuration errors.task.restart.max" in trace

"""What runs is made to match the store, one event at a time; `test_reconciler_machine` combines them."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.storage import NotLeading, RestartRequest, State, TargetState
from hearth_api import ConnectError, NotFoundError
from tests.unit.herder.herder_world import Instance, World


@pytest.fixture
def world() -> World:
    """Make a world whose host leads."""
    made = World()
    made.lead()
    return made


def config(name: str = "a", **changes: str) -> dict[str, str]:
    """Return the configuration of a connector; `start` and `ask` may be `raise` or `hang`."""
    return {"name": name, "connector.class": "x", "tasks.max": "2", "text": "1", **changes}


def put(world: World, name: str = "a", **changes: str) -> None:
    """Write a configuration as another host, and let it take effect."""
    world.configs.put_connector(name, config(name, **changes))
    world.settle()


def instance(world: World, name: str = "a") -> Instance:
    """Return the started instance of a connector."""
    (found,) = [each for each in world.instances if each.is_started and each.name == name]
    return found


def generation(world: World, name: str = "a", task: int = 0) -> int:
    """Return the generation of the run of a task."""
    run = world.run(name, task)
    assert run is not None
    return run.generation


def state(world: World, name: str = "a") -> State | None:
    """Return the state of a connector."""
    status = world.statuses.connector(name)
    return None if status is None else status.state


class TestLeading:
    """Starting and ending to lead."""

    def test_starting_to_lead_reconciles_everything(self) -> None:
        """Earlier writes of other hosts are carried out."""
        world = World()
        for name in ("a", "b"):
            world.configs.put_connector(name, config(name))
            world.configs.put_target(name, TargetState.STARTED)
        world.settle()
        assert world.runs == []
        world.lead()
        world.settle()
        assert sorted(run.key for run in world.runs) == [("a", 0), ("b", 0)]

    def test_ending_to_lead_stops_everything(self, world: World) -> None:
        """The store is unchanged, and a late notification starts nothing."""
        put(world)
        world.host.reconciler.follow()
        assert (world.runs, world.instances) == ([], [])
        put(world, text="2")
        assert (world.runs, world.instances) == ([], [])
        assert world.configs.snapshot().connectors() == ["a"]

    def test_ending_to_lead_does_not_wait_for_a_plugin_that_hangs(self, world: World) -> None:
        """Otherwise its tasks would run together with those of the next leader."""
        put(world)
        world.configs.put_connector("a", config(start="hang"))
        world.host.queues.work("a")
        assert world.host.queues.parked
        assert len(world.runs) == 1
        world.host.reconciler.follow()
        assert (world.runs, world.instances) == ([], [])
        before = world.configs.snapshot()
        world.settle()
        assert world.configs.snapshot() == before
        assert state(world) is State.RUNNING  # an ended task reports nothing; the next leader will

    def test_an_instance_loaded_after_the_term_is_not_started(self, world: World) -> None:
        """Its process did not exist when all others were ended."""
        world.configs.put_connector("a", config(load="hang"))
        world.host.queues.work("a")
        world.host.reconciler.follow()
        world.settle()
        assert world.instances == []
        assert state(world) is None

    def test_task_configs_returned_after_the_term_are_not_written(self, world: World) -> None:
        """Another host may have written others."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        world.host.reconciler.follow()
        world.settle()
        entry = world.configs.snapshot().find("a")
        assert entry is not None
        assert entry.tasks == ()

    def test_a_plugin_that_hangs_is_ended_before_the_next_term_restarts_it(self, world: World) -> None:
        """Only one instance exists at a time."""
        world.configs.put_connector("a", config(start="hang"))
        world.host.queues.work("a")
        before = world.serial
        world.host.reconciler.follow()
        world.lead()
        world.settle()
        assert state(world) is State.RUNNING
        assert instance(world).serial > before
        assert world.breaches == []

    def test_no_task_starts_after_the_end(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The host may stop leading while a queue is about to launch one."""
        planner: Any = world.host.reconciler._services.planner
        plan = planner.plan

        def plan_slowly(*arguments: Any) -> Any:
            world.host.reconciler.follow()
            return plan(*arguments)

        monkeypatch.setattr(planner, "plan", plan_slowly)
        put(world)
        assert (world.runs, world.instances, world.generation) == ([], [], 0)

    def test_pause_and_stop_survive_the_host(self, world: World) -> None:
        """If its store does: paused tasks start paused, and a stopped connector has none."""
        for name, target in (("a", TargetState.PAUSED), ("b", TargetState.STOPPED)):
            put(world, name)
            world.configs.put_target(name, target)
        world.settle()
        world.restart_host(is_killed=False)
        world.lead()
        world.settle()
        assert [(run.key, run.is_paused) for run in world.runs] == [(("a", 0), True)]
        assert (state(world, "a"), state(world, "b")) == (State.PAUSED, State.STOPPED)
        assert [each.name for each in world.instances if each.is_started] == []

    def test_generations_grow_across_terms_and_hosts(self, world: World) -> None:
        """A surviving run of an earlier host is always older."""
        seen = []
        put(world)
        seen.append(generation(world))
        world.lead()
        world.settle()
        seen.append(generation(world))
        world.restart_host(is_killed=True)
        world.lead()
        world.settle()
        seen.append(generation(world))
        run = world.run("a", 0)
        assert run is not None
        world.end(run, "executor 3 exited")
        seen.append(generation(world))
        assert seen == sorted(set(seen))

    @pytest.mark.parametrize("start", ["raise", "hang"])
    def test_stored_tasks_run_even_if_the_instance_fails(self, world: World, start: str) -> None:
        """A new leader starts them first; in Kafka Connect they start in parallel."""
        world.host.reconciler.follow()
        world.configs.put_connector("a", config(start=start))
        world.configs.put_tasks("a", [{"table": "0", "text": "1"}])
        world.lead()
        world.host.queues.work("a")
        assert [run.key for run in world.runs] == [("a", 0)]

    def test_tasks_of_another_configuration_wait_for_the_instance(self, world: World) -> None:
        """It will most likely return others."""
        world.host.reconciler.follow()
        world.configs.put_connector("a", config())
        world.configs.put_tasks("a", [{"table": "0", "text": "1"}])
        world.configs.put_connector("a", config(text="2", start="hang"))
        world.lead()
        world.host.queues.work("a")
        assert world.runs == []
        world.settle()
        assert [run.plan.task_config["text"] for run in world.runs] == ["2"]

    def test_tasks_of_a_stopped_connector_do_not_start(self, world: World) -> None:
        """The host that wrote the target may have ended before it removed the tasks."""
        put(world)
        world.host.reconciler.follow()
        before = world.generation
        world.configs.put_target("a", TargetState.STOPPED)
        world.lead()
        world.settle()
        entry = world.configs.snapshot().find("a")
        assert entry is not None
        assert (entry.tasks, world.generation) == ((), before)

    def test_an_ended_instance_reports_nothing(self, world: World) -> None:
        """The next leader may have written the status already."""
        put(world)
        run = world.host.reconciler._supervisors["a"]._run
        assert run is not None
        world.host.reconciler.follow()
        run.transition(TargetState.STOPPED)
        run.fail("too late")
        assert state(world) is State.RUNNING

    def test_a_host_that_does_not_lead_writes_only_targets(self, world: World) -> None:
        """As in Kafka Connect, any host may write a target."""
        put(world)
        world.host.reconciler.follow()
        herder = world.host.herder
        for future in (
            herder.put("b", config("b")),
            herder.patch("a", {"text": "2"}),
            herder.delete("a"),
            herder.restart_connector("a"),
            herder.restart_task("a", 0),
            herder.restart(RestartRequest("a", include_tasks=True)),
        ):
            world.settle()
            assert isinstance(future.exception(), NotLeading)
        herder.want("a", TargetState.PAUSED)
        world.settle()
        entry = world.configs.snapshot().find("a")
        assert entry is not None
        assert (entry.target, entry.config) == (TargetState.PAUSED, config())


class TestEvents:
    """Writes of other hosts."""

    def test_a_configuration_of_another_host_replaces_what_runs(self, world: World) -> None:
        """Instance and tasks."""
        put(world)
        first = generation(world)
        put(world, text="2")
        assert instance(world).config["text"] == "2"
        assert generation(world) > first

    def test_writing_the_same_configuration_replaces_only_the_instance(self, world: World) -> None:
        """Users do this to repair a FAILED connector."""
        put(world)
        serial, first = instance(world).serial, generation(world)
        put(world)
        assert instance(world).serial > serial
        assert generation(world) == first

    def test_a_connector_deleted_and_created_again_is_replaced(self, world: World) -> None:
        """Its configuration is the same, but its revision is not."""
        put(world)
        serial, first = instance(world).serial, generation(world)
        world.configs.remove_connector("a")
        put(world)
        assert instance(world).serial > serial
        assert generation(world) > first

    def test_a_connector_deleted_by_another_host_is_removed(self, world: World) -> None:
        """With its tasks and its status."""
        put(world)
        world.configs.remove_connector("a")
        world.settle()
        assert (world.runs, world.instances, state(world)) == ([], [], None)
        assert world.statuses.tasks("a") == []

    def test_a_target_of_another_host_is_followed(self, world: World) -> None:
        """Pause, resume and stop."""
        put(world)
        first = generation(world)
        for target, shown in ((TargetState.PAUSED, State.PAUSED), (TargetState.STARTED, State.RUNNING)):
            world.configs.put_target("a", target)
            world.settle()
            assert state(world) is shown
            assert generation(world) == first
        world.configs.put_target("a", TargetState.STOPPED)
        world.settle()
        assert (world.runs, world.instances, state(world)) == ([], [], State.STOPPED)
        world.configs.put_target("a", TargetState.STARTED)
        world.settle()
        assert generation(world) > first

    def test_tasks_of_another_host_replace_those_that_run(self, world: World) -> None:
        """No status of a removed task remains."""
        world.tables["a"] = 2
        put(world)
        world.strange.add("a")
        world.configs.put_tasks("a", [{"table": "7", "text": "1"}])
        world.settle()
        assert [run.plan.task_config["table"] for run in world.runs] == ["7"]
        assert [status.task for status in world.statuses.tasks("a")] == [0]

    def test_tasks_of_a_reverted_configuration_are_replaced(self, world: World) -> None:
        """They started while the connector was paused and not asked; its task configurations equal the stored ones."""
        put(world, note="1")
        world.configs.put_target("a", TargetState.PAUSED)
        put(world, note="2")
        world.configs.put_restart(RestartRequest("a", include_tasks=True))
        world.settle()
        assert [run.config["note"] for run in world.runs] == ["2"]
        put(world, note="1")
        world.configs.put_target("a", TargetState.STARTED)
        world.settle()
        assert [run.config["note"] for run in world.runs] == ["1"]

    def test_a_restart_request_of_another_host_is_carried_out_once(self, world: World) -> None:
        """The states at that moment determine what restarts."""
        world.tables["a"] = 2
        put(world)
        run = world.run("a", 1)
        assert run is not None
        world.fail(run)
        before = [generation(world), world.generation, instance(world).serial]
        world.configs.put_restart(RestartRequest("a", only_failed=True, include_tasks=True))
        world.settle()
        assert (generation(world), instance(world).serial) == (before[0], before[2])
        assert generation(world, task=1) > before[1]
        before = [generation(world), generation(world, task=1), instance(world).serial]
        world.configs.put_restart(RestartRequest("a", include_tasks=True))
        world.settle()
        assert generation(world) > before[0]
        assert generation(world, task=1) > before[1]
        assert instance(world).serial == before[2] + 1

    def test_a_restart_of_nothing_does_nothing(self, world: World) -> None:
        """The request may follow the deletion of its connector."""
        world.configs.put_restart(RestartRequest("a", include_tasks=True))
        world.settle()
        put(world)
        assert generation(world) == world.generation


class TestFailures:
    """Plugins that misbehave."""

    def test_a_failed_start_is_not_retried(self, world: World) -> None:
        """Repeated notifications, an unchanged target or new tasks do not trigger it; a restart does."""
        put(world, start="raise")
        assert state(world) is State.FAILED
        tried = world.serial
        world.configs.put_target("a", TargetState.STARTED)
        world.host.reconciler.on_change("a")
        world.settle()
        assert world.serial == tried
        world.configs.put_restart(RestartRequest("a"))
        world.settle()
        assert world.serial == tried + 1

    def test_tasks_continue_if_a_new_configuration_fails_to_start(self, world: World) -> None:
        """With the configuration they were generated from."""
        put(world)
        first = generation(world)
        put(world, text="2", start="raise")
        assert state(world) is State.FAILED
        assert generation(world) == first

    def test_a_connector_that_hangs_blocks_no_other(self, world: World) -> None:
        """Any number may hang; each has its own queue."""
        for number in range(20):
            world.configs.put_connector(f"h{number}", config(f"h{number}", start="hang"))
            world.host.queues.work(f"h{number}")
        assert len(world.host.queues.parked) == 20
        future = world.host.herder.put("b", config("b"))
        world.host.queues.validate()
        world.host.queues.work("b")
        assert future.result(0).info["tasks"] == [{"connector": "b", "task": 0}]
        world.settle()

    def test_a_connector_deleted_during_task_configs_gets_no_tasks(self, world: World) -> None:
        """Its answer is discarded."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        world.configs.remove_connector("a")
        world.settle()
        assert (world.runs, world.instances, world.generation) == ([], [], 0)

    def test_tasks_of_a_configuration_changed_meanwhile_are_replaced(self, world: World) -> None:
        """The writer of the change did not wait for this host."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        put(world, text="2")
        assert [run.plan.task_config["text"] for run in world.runs] == ["2"]

    @pytest.mark.parametrize("restarts", [False, True])
    def test_an_error_of_an_ended_process_is_ignored(self, world: World, restarts: bool) -> None:
        """It was stopped before the error was handled, and possibly replaced."""
        put(world)
        world.configs.put_target("a", TargetState.STOPPED)
        listener = instance(world).listener
        assert listener is not None
        listener.on_error("the database is gone")
        world.host.queues.work("a")
        assert state(world) is State.STOPPED
        if restarts:
            world.configs.put_target("a", TargetState.STARTED)
            world.settle()
            assert state(world) is State.RUNNING

    def test_a_request_is_not_lost_after_one_of_a_replaced_instance(self, world: World) -> None:
        """Both request a reconfiguration; the first has been replaced by its turn, the second is asked again."""
        put(world)
        first = instance(world).listener
        assert first is not None
        world.configs.put_connector("a", config(ask="hang"))
        first.on_task_reconfiguration()
        world.host.queues.work("a")
        second = instance(world).listener
        assert second is not None
        world.host.queues.release("a")
        world.tables["a"] = 2
        second.on_task_reconfiguration()
        world.settle()
        assert [run.key for run in world.runs] == [("a", 0), ("a", 1)]


class TestAnswers:
    """Results of requests."""

    def answer(self, world: World, future: Any) -> Any:
        """Return a result once everything has settled."""
        world.settle()
        return future.result(0)

    def test_a_request_completes_once_it_is_carried_out(self, world: World) -> None:
        """As soon as the queue has done that one job."""
        world.configs.put_connector("a", config())
        world.settle()
        future = world.host.herder.put("a", config(text="2"))
        seen = []
        future.add_done_callback(lambda _: seen.append((instance(world).config, world.runs[0].plan.task_config)))
        world.host.queues.validate()
        world.host.queues.work("a")
        assert future.result(0).is_new is False
        assert seen == [(config(text="2"), {"table": "0", "text": "2"})]

    def test_a_failed_start_fails_a_put_but_not_a_restart(self, world: World) -> None:
        """The configuration is stored in any case."""
        with pytest.raises(ConnectError, match="Failed to transition connector a to state STARTED"):
            self.answer(world, world.host.herder.put("a", config(start="raise")))
        assert world.configs.snapshot().connectors() == ["a"]
        plan = self.answer(world, world.host.herder.restart(RestartRequest("a", only_failed=True)))
        assert plan["connector"]["state"] == "RESTARTING"
        with pytest.raises(ConnectError, match="Failed to transition"):
            self.answer(world, world.host.herder.restart_connector("a"))

    def test_one_task_is_restarted_alone(self, world: World) -> None:
        """Other hosts are not notified."""
        world.tables["a"] = 2
        put(world)
        before = generation(world), generation(world, task=1)
        self.answer(world, world.host.herder.restart_task("a", 1))
        assert generation(world) == before[0]
        assert generation(world, task=1) > before[1]
        with pytest.raises(NotFoundError, match="Task a-2 not found"):
            self.answer(world, world.host.herder.restart_task("a", 2))


class TestUpgrading:
    """Replacing bundles while connectors run."""

    def test_only_users_of_a_replaced_bundle_restart(self, world: World) -> None:
        """In their previous state; a connector with upgrades disabled keeps running."""
        put(world)
        put(world, "b", upgrade="none")
        world.configs.put_target("a", TargetState.PAUSED)
        world.settle()
        before = {name: (generation(world, name)) for name in "ab"}
        world.host.reconciler.on_plugins({"org.example.Another"})
        world.settle()
        assert {name: generation(world, name) for name in "ab"} == before
        world.exchange()
        world.settle()
        assert generation(world, "a") > before["a"]
        assert generation(world, "b") == before["b"]
        assert instance(world, "b").version == "1"
        assert (state(world), world.run("a", 0).is_paused) == (State.PAUSED, True)  # type: ignore[union-attr]

    def test_a_connector_whose_new_bundle_is_unusable_keeps_running(
        self, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The environment is built before anything is stopped; the error is logged."""
        put(world)
        before = generation(world)

        def plan(*_: object) -> None:
            raise ConnectError("no wheel of numpy for this machine")

        monkeypatch.setattr(world.host.planner, "plan", plan)
        world.exchange()
        while world.host.queues.ready:
            world.host.queues.work(world.host.queues.ready[0])
        assert generation(world) == before
        assert instance(world).version == "1"
        assert "the connector keeps running with its old bundles: no wheel of numpy for this machine" in caplog.text

    def test_a_connector_starts_once_its_missing_bundle_is_added(self, world: World) -> None:
        """Such as a connector from a file, if its host started before the bundle was added."""
        world.is_missing = True
        world.configs.put_connector("a", config())
        while world.host.queues.ready:
            world.host.queues.work(world.host.queues.ready[0])
        assert state(world) is State.FAILED
        world.is_missing = False
        world.exchange()
        world.settle()
        assert (state(world), instance(world).version) == (State.RUNNING, "2")

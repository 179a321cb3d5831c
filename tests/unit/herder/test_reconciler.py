"""What runs becomes what the store says: one thing at a time; `test_reconciler_machine` mixes them."""

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
    """Write a configuration as another host would, and let it take effect."""
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
    """A host begins to lead and leads no more."""

    def test_to_begin_is_to_reconcile_everything(self) -> None:
        """What others have written before is made to run."""
        world = World()
        for name in ("a", "b"):
            world.configs.put_connector(name, config(name))
            world.configs.put_target(name, TargetState.STARTED)
        world.settle()
        assert world.runs == []
        world.lead()
        world.settle()
        assert sorted(run.key for run in world.runs) == [("a", 0), ("b", 0)]

    def test_to_end_is_to_want_nothing(self, world: World) -> None:
        """The store keeps what it has, and a change that is heard later starts nothing."""
        put(world)
        world.host.reconciler.follow()
        assert (world.runs, world.instances) == ([], [])
        put(world, text="2")
        assert (world.runs, world.instances) == ([], [])
        assert world.configs.snapshot().connectors() == ["a"]

    def test_to_end_does_not_wait_for_what_hangs(self, world: World) -> None:
        """Its tasks would run on beside those of the next leader."""
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
        assert state(world) is State.RUNNING  # who is over reports nothing, the next leader will

    def test_an_instance_whose_class_is_loaded_when_the_term_is_over_is_not_started(self, world: World) -> None:
        """Its process was not there when all others were ended."""
        world.configs.put_connector("a", config(load="hang"))
        world.host.queues.work("a")
        world.host.reconciler.follow()
        world.settle()
        assert world.instances == []
        assert state(world) is None

    def test_an_answer_that_comes_when_the_term_is_over_is_not_written(self, world: World) -> None:
        """Another host may have written what tasks there are."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        world.host.reconciler.follow()
        world.settle()
        entry = world.configs.snapshot().find("a")
        assert entry is not None
        assert entry.tasks == ()

    def test_what_hangs_of_one_term_is_over_before_the_next_begins_it_anew(self, world: World) -> None:
        """One instance at a time."""
        world.configs.put_connector("a", config(start="hang"))
        world.host.queues.work("a")
        before = world.serial
        world.host.reconciler.follow()
        world.lead()
        world.settle()
        assert state(world) is State.RUNNING
        assert instance(world).serial > before
        assert world.breaches == []

    def test_no_task_begins_behind_the_end(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The host may cease to lead while a queue is about to launch one."""
        planner: Any = world.host.reconciler._with.planner
        plan = planner.plan

        def plan_slowly(*arguments: Any) -> Any:
            world.host.reconciler.follow()
            return plan(*arguments)

        monkeypatch.setattr(planner, "plan", plan_slowly)
        put(world)
        assert (world.runs, world.instances, world.generation) == ([], [], 0)

    def test_a_pause_and_a_stop_outlive_the_host(self, world: World) -> None:
        """Where its store does: tasks that are to rest begin so, and a stopped connector has none."""
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

    def test_generations_grow_over_terms_and_hosts(self, world: World) -> None:
        """What an earlier host has left behind, wherever it is, is the older."""
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
    def test_tasks_that_are_there_run_whatever_becomes_of_the_instance(self, world: World, start: str) -> None:
        """A new leader lets them go on first; in Kafka Connect they start beside it."""
        world.host.reconciler.follow()
        world.configs.put_connector("a", config(start=start))
        world.configs.put_tasks("a", [{"table": "0", "text": "1"}])
        world.lead()
        world.host.queues.work("a")
        assert [run.key for run in world.runs] == [("a", 0)]

    def test_tasks_of_another_configuration_wait_for_the_instance(self, world: World) -> None:
        """It most likely wants others."""
        world.host.reconciler.follow()
        world.configs.put_connector("a", config())
        world.configs.put_tasks("a", [{"table": "0", "text": "1"}])
        world.configs.put_connector("a", config(text="2", start="hang"))
        world.lead()
        world.host.queues.work("a")
        assert world.runs == []
        world.settle()
        assert [run.plan.task_config["text"] for run in world.runs] == ["2"]

    def test_tasks_of_a_connector_that_is_wanted_stopped_do_not_run_for_a_moment(self, world: World) -> None:
        """Who wrote that may have ended before it took them out of the store."""
        put(world)
        world.host.reconciler.follow()
        before = world.generation
        world.configs.put_target("a", TargetState.STOPPED)
        world.lead()
        world.settle()
        entry = world.configs.snapshot().find("a")
        assert entry is not None
        assert (entry.tasks, world.generation) == ((), before)

    def test_an_instance_that_is_over_reports_nothing(self, world: World) -> None:
        """The status is the next leader's, who may have written it already."""
        put(world)
        run = world.host.reconciler._supervisors["a"]._run
        assert run is not None
        world.host.reconciler.follow()
        run.transition(TargetState.STOPPED)
        run.fail("too late")
        assert state(world) is State.RUNNING

    def test_who_does_not_lead_changes_nothing(self, world: World) -> None:
        """Only a target may be written by anybody, as in Kafka Connect."""
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
    """Whoever writes to the store is heard."""

    def test_a_configuration_of_another_host_replaces_what_runs(self, world: World) -> None:
        """Instance and tasks."""
        put(world)
        first = generation(world)
        put(world, text="2")
        assert instance(world).config["text"] == "2"
        assert generation(world) > first

    def test_the_same_texts_written_anew_make_the_instance_anew_and_leave_the_tasks(self, world: World) -> None:
        """Users do this to mend a connector that has FAILED."""
        put(world)
        serial, first = instance(world).serial, generation(world)
        put(world)
        assert instance(world).serial > serial
        assert generation(world) == first

    def test_a_connector_made_again_between_two_looks_is_another(self, world: World) -> None:
        """Its texts are the same, its revision is not."""
        put(world)
        serial, first = instance(world).serial, generation(world)
        world.configs.remove_connector("a")
        put(world)
        assert instance(world).serial > serial
        assert generation(world) > first

    def test_a_connector_another_host_deleted_is_gone(self, world: World) -> None:
        """With its tasks and its status."""
        put(world)
        world.configs.remove_connector("a")
        world.settle()
        assert (world.runs, world.instances, state(world)) == ([], [], None)
        assert world.statuses.tasks("a") == []

    def test_a_target_of_another_host_is_followed(self, world: World) -> None:
        """To rest, to go on, and to be without tasks."""
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
        """And no status is left of those there are no more."""
        world.tables["a"] = 2
        put(world)
        world.strange.add("a")
        world.configs.put_tasks("a", [{"table": "7", "text": "1"}])
        world.settle()
        assert [run.plan.task_config["table"] for run in world.runs] == ["7"]
        assert [status.task for status in world.statuses.tasks("a")] == [0]

    def test_tasks_launched_with_a_configuration_that_was_taken_back_are_replaced(self, world: World) -> None:
        """They began while their connector rested, and so was not asked; what it then says is what the store has."""
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

    def test_a_restart_of_another_host_takes_place_once(self, world: World) -> None:
        """The states at that moment say what of it."""
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
        """It may come behind the end of its connector."""
        world.configs.put_restart(RestartRequest("a", include_tasks=True))
        world.settle()
        put(world)
        assert generation(world) == world.generation


class TestFailures:
    """Plugins do what they should not."""

    def test_a_failed_start_is_not_tried_again_by_itself(self, world: World) -> None:
        """An echo, a target it has already, or news of its tasks are no reason; a restart is."""
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

    def test_tasks_go_on_when_their_connector_does_not_start_with_another_configuration(self, world: World) -> None:
        """They run with the configuration they were made from."""
        put(world)
        first = generation(world)
        put(world, text="2", start="raise")
        assert state(world) is State.FAILED
        assert generation(world) == first

    def test_a_connector_that_hangs_holds_up_no_other(self, world: World) -> None:
        """Any number may hang; each has a queue of its own."""
        for number in range(20):
            world.configs.put_connector(f"h{number}", config(f"h{number}", start="hang"))
            world.host.queues.work(f"h{number}")
        assert len(world.host.queues.parked) == 20
        future = world.host.herder.put("b", config("b"))
        world.host.queues.validate()
        world.host.queues.work("b")
        assert future.result(0).info["tasks"] == [{"connector": "b", "task": 0}]
        world.settle()

    def test_a_connector_deleted_while_it_is_asked_gets_no_tasks(self, world: World) -> None:
        """What it then answers is about something that is no more."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        world.configs.remove_connector("a")
        world.settle()
        assert (world.runs, world.instances, world.generation) == ([], [], 0)

    def test_tasks_made_for_a_configuration_that_changed_meanwhile_are_replaced(self, world: World) -> None:
        """Whoever wrote it did not wait for the answer of this host."""
        world.configs.put_connector("a", config(ask="hang"))
        world.host.queues.work("a")
        put(world, text="2")
        assert [run.plan.task_config["text"] for run in world.runs] == ["2"]

    @pytest.mark.parametrize("restarts", [False, True])
    def test_a_complaint_of_a_process_that_was_ended_meanwhile_is_no_news(self, world: World, restarts: bool) -> None:
        """It was stopped before anybody looked, and perhaps another lives in its place."""
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

    def test_the_request_of_an_instance_is_not_lost_behind_that_of_the_one_before(self, world: World) -> None:
        """Both ask to be asked; the first is gone when its turn comes, the second is asked again."""
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
    """Users hear what came of what they asked for."""

    def answer(self, world: World, future: Any) -> Any:
        """Return an answer when everything has come to rest."""
        world.settle()
        return future.result(0)

    def test_an_answer_comes_when_what_runs_has_become_it(self, world: World) -> None:
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

    def test_a_start_that_fails_is_the_answer_of_a_put_and_not_of_a_restart(self, world: World) -> None:
        """It is stored in any case."""
        with pytest.raises(ConnectError, match="Failed to transition connector a to state STARTED"):
            self.answer(world, world.host.herder.put("a", config(start="raise")))
        assert world.configs.snapshot().connectors() == ["a"]
        plan = self.answer(world, world.host.herder.restart(RestartRequest("a", only_failed=True)))
        assert plan["connector"]["state"] == "RESTARTING"
        with pytest.raises(ConnectError, match="Failed to transition"):
            self.answer(world, world.host.herder.restart_connector("a"))

    def test_one_task_is_restarted_alone(self, world: World) -> None:
        """No other host hears of it."""
        world.tables["a"] = 2
        put(world)
        before = generation(world), generation(world, task=1)
        self.answer(world, world.host.herder.restart_task("a", 1))
        assert generation(world) == before[0]
        assert generation(world, task=1) > before[1]
        with pytest.raises(NotFoundError, match="Task a-2 not found"):
            self.answer(world, world.host.herder.restart_task("a", 2))


class TestUpgrading:
    """Bundles are exchanged while connectors run."""

    def test_what_uses_the_bundle_begins_anew_and_nothing_else(self, world: World) -> None:
        """In the state it was in; a connector that wants to stay as it is stays so."""
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

    def test_what_would_lack_something_goes_on_as_it_was(
        self, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its environment is built before anything is ended; what is wrong is logged."""
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

    def test_what_never_began_for_want_of_its_bundle_begins_when_it_comes(self, world: World) -> None:
        """As a connector of a file does, whose host started before the bundle was there."""
        world.is_missing = True
        world.configs.put_connector("a", config())
        while world.host.queues.ready:
            world.host.queues.work(world.host.queues.ready[0])
        assert state(world) is State.FAILED
        world.is_missing = False
        world.exchange()
        world.settle()
        assert (state(world), instance(world).version) == (State.RUNNING, "2")

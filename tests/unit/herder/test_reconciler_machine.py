"""Connectors match the store, whatever happens and in whatever order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.storage import RestartRequest, TargetState
from tests.profile import machine_settings
from tests.unit.herder.herder_world import Run, World

T = TypeVar("T")

NAMES = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from(["1", "2"])
GOOD: dict[str, str] = {}
BAD = [{call: deed} for call in ("start", "ask") for deed in ("raise", "hang")]
DEEDS = st.sampled_from([GOOD, GOOD, GOOD, *BAD, {"load": "hang"}, {"validate": "hang"}])
"""What a connector does when it is called."""
TARGETS = st.sampled_from([TargetState.STARTED, TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED])
TASKS = st.integers(0, 2)
NUMBERS = st.integers(0, 11)
"""An index, taken modulo the number of choices."""
REQUESTS = st.builds(RestartRequest, NAMES, st.booleans(), st.booleans())
CONFIG = {"connector.class": "x", "tasks.max": "2"}
RESTARTS = "errors.task.restart.max"
BY_USER = st.booleans()
"""Whether a user of this host makes the request or another host writes it to the store."""


@pytest.fixture(autouse=True)
def _nothing_is_logged() -> Iterator[None]:
    """Skip log handlers, which would see a hundred thousand failures."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def one_of(several: Sequence[T], number: int) -> T:
    """Return one of several choices, evenly distributed if twelve is divisible by their number."""
    return several[number % len(several)]


class ReconcilerMachine(RuleBasedStateMachine):
    """Users, other hosts, plugins, executors and hosts act at random; queues work now and then."""

    world: World

    @initialize(tables=TASKS, wanted=TARGETS)
    def begin(self, tables: int, wanted: TargetState) -> None:
        """Start with a leading host and a connector."""
        self.world = World()
        self.world.calm = {"a", "b"}
        self.world.tables = {"a": tables, "b": 1}
        self.world.lead()
        self.world.configs.put_connector("a", {**CONFIG, "name": "a", "text": "1", RESTARTS: "2"}, wanted)
        self.world.settle()

    @invariant()
    def no_promise_is_broken(self) -> None:
        """At most one run of a task and one instance of a connector exist, and generations grow."""
        assert not getattr(self, "world", None) or not self.world.breaches, self.world.breaches

    def teardown(self) -> None:
        """Everything settles, while this host leads and after it stops leading."""
        if hasattr(self, "world"):
            if not self.world.host.reconciler.leads:
                self.world.lead()
            self.world.settle()
            self.world.host.reconciler.follow()
            self.world.settle()
            self.world.restart_host(is_killed=False)
            assert not self.world.breaches, self.world.breaches

    # Users and other hosts ---------------------------------------------------------------------------------------

    @rule(
        name=NAMES,
        text=TEXTS,
        restarts=st.sampled_from("02"),
        deeds=DEEDS,
        wanted=st.none() | TARGETS,
        by_user=BY_USER,
    )
    def put(self, name: str, text: str, restarts: str, deeds: dict[str, str], wanted: Any, by_user: bool) -> None:
        """Put a configuration; what it starts may fail or hang."""
        config = {**CONFIG, "name": name, "text": text, RESTARTS: restarts, **deeds}
        if "hang" in deeds.values():
            self.world.calm.discard(name)
        if by_user:
            self.world.ask(lambda: self.world.host.herder.put(name, config, wanted))
            return
        self.world.written(name)
        self.world.write(lambda: self.world.configs.put_connector(name, config, wanted))

    @rule(name=NAMES, text=TEXTS)
    def patch(self, name: str, text: str) -> None:
        """Change one key."""
        self.world.ask(lambda: self.world.host.herder.patch(name, {"text": text}))

    @rule(name=NAMES, by_user=BY_USER)
    def delete(self, name: str, by_user: bool) -> None:
        """Delete a connector."""
        if by_user:
            self.world.ask(lambda: self.world.host.herder.delete(name))
        else:
            self.world.write(lambda: self.world.configs.remove_connector(name))

    @rule(name=NAMES, wanted=TARGETS, by_user=BY_USER)
    def want(self, name: str, wanted: TargetState, by_user: bool) -> None:
        """Pause, resume or stop."""
        if by_user:
            self.world.ask(lambda: self.world.host.herder.want(name, wanted))
        else:
            self.world.write(lambda: self.world.configs.put_target(name, wanted))

    @rule(request=REQUESTS, by_user=BY_USER)
    def restart(self, request: RestartRequest, by_user: bool) -> None:
        """Restart connector and tasks."""
        self.world.restarted(request)
        if by_user:
            self.world.ask(lambda: self.world.host.herder.restart(request))
        else:
            self.world.write(lambda: self.world.configs.put_restart(request))

    @rule(name=NAMES, task=st.none() | TASKS)
    def restart_one(self, name: str, task: int | None) -> None:
        """Restart only the instance or one task, which no other host can request."""
        herder = self.world.host.herder
        self.world.ask(lambda: herder.restart_connector(name) if task is None else herder.restart_task(name, task))

    @rule(name=NAMES, text=TEXTS, count=TASKS)
    def other_tasks(self, name: str, text: str, count: int) -> None:
        """Another host that has just led writes task configurations; the instance here is then asked again."""
        tasks = [{"table": str(table), "text": text} for table in range(count)]
        self.world.write(lambda: self.world.configs.put_tasks(name, tasks))
        self.world.strange.add(name)

    @rule()
    def a_bundle_is_exchanged(self) -> None:
        """A newer version of the shared bundle is put on plugin.path."""
        self.world.exchange()

    # Plugins and executors ---------------------------------------------------------------------------------------

    @rule(name=NAMES, tables=TASKS)
    def tables_change(self, name: str, tables: int) -> None:
        """The tables of a connector change, and it requests a reconfiguration."""
        self.world.tables[name] = tables
        for instance in self.world.instances:
            if instance.name == name and instance.listener is not None:
                instance.listener.on_task_reconfiguration()

    @rule()
    def a_shared_process_ends(self) -> None:
        """A connector kills the shared process: all instances in it are lost."""
        for instance in list(self.world.instances):
            instance.lose()

    @rule(name=NAMES)
    def complain(self, name: str) -> None:
        """A connector reports an error."""
        for instance in self.world.instances:
            if instance.name == name and instance.listener is not None:
                self.world.faults.add(name)
                instance.listener.on_error("the database is gone")

    @rule(number=NUMBERS, act=st.sampled_from(["report", "fail", "lose", "deafen"]))
    def something_happens_to_a_run(self, number: int, act: str) -> None:
        """A run connects, fails, is lost with its executor, or becomes unreachable."""
        if not self.world.runs:
            return
        run: Run = one_of(self.world.runs, number)
        if act == "report":
            self.world.report(run)
        elif act == "fail":
            self.world.fail(run)
        elif act == "lose":
            self.world.end(run, "executor 3 exited")
        else:
            run.is_deaf = True

    @rule(name=NAMES, task=TASKS)
    def an_executor_is_wanted_back(self, name: str, task: int) -> None:
        """An executor is drained: its tasks move elsewhere."""
        self.world.host.reconciler.move(name, task)

    @precondition(lambda self: bool(self.world.host.alarms))
    @rule(number=NUMBERS)
    def a_pause_is_over(self, number: int) -> None:
        """The backoff of a failed task ends."""
        one_of(self.world.host.alarms, number).ring()

    # Queues and hosts --------------------------------------------------------------------------------------------

    @precondition(lambda self: bool(self.world.host.queues.ready))
    @rule(number=NUMBERS, is_one=st.booleans())
    def work(self, number: int, is_one: bool) -> None:
        """One queue, or each, works until it is empty or its plugin hangs; other queues are not affected."""
        ready = self.world.host.queues.ready
        for queue in [one_of(ready, number)] if is_one else list(ready):
            self.world.host.queues.work(queue)

    @precondition(lambda self: bool(self.world.host.queues.parked))
    @rule(number=NUMBERS, outcome=st.sampled_from(["", "raise"]))
    def release(self, number: int, outcome: str) -> None:
        """A plugin that hung answers after all, or its call is given up."""
        self.world.outcome = outcome
        self.world.host.queues.release(one_of(list(self.world.host.queues.parked), number))

    @precondition(lambda self: bool(self.world.host.queues.parked))
    @rule(number=NUMBERS)
    def run_out_of_time(self, number: int) -> None:
        """An impatient job has waited long enough for a plugin that hangs."""
        self.world.outcome = ""
        self.world.host.queues.run_out_of_time(one_of(list(self.world.host.queues.parked), number))

    @rule(act=st.sampled_from(["lead", "follow", "stop", "kill"]), leads_then=st.sampled_from([True, True, False]))
    def host_changes(self, act: str, leads_then: bool) -> None:
        """This host starts another term, stops leading, or is replaced by another host."""
        if act == "follow":
            self.world.host.reconciler.follow()
            assert not self.world.runs
            assert not [each for each in self.world.instances if each.is_started]
        elif act in ("stop", "kill"):
            self.world.restart_host(is_killed=act == "kill")
        if leads_then or act == "lead":
            self.world.lead()

    @rule()
    def settle(self) -> None:
        """Everything settles for a moment."""
        self.world.settle()


TestReconciler = ReconcilerMachine.TestCase
TestReconciler.settings = machine_settings(steps=25)

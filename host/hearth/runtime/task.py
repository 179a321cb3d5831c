"""One run of a task: its stages, its loop, its end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage
from hearth.kafka.consumer import Consumer
from hearth.kafka.membership import GroupIdentity
from hearth.kafka.producer import Producer
from hearth.link.heartbeat import LAST_RESORT_SECONDS
from hearth.runtime.launcher import TaskLaunch
from hearth.runtime.link import ENDS, HostLost, HostUnreachable, TaskLink, Welcome
from hearth.runtime.pipeline import Pipeline, loading, split
from hearth.runtime.place import LocalPlace, Place, StagePlace
from hearth.runtime.plan import SourcePlan
from hearth.runtime.sink import SinkLoop
from hearth.runtime.source import SourceLoop
from hearth.runtime.subscription import Subscription
from hearth.runtime.tolerance import Reporter, Tolerance, log_reporters, trace_of
from hearth_api import ConnectError
from hearth_execution.retry import Retry
from hearth_stage.channel import Request
from hearth_stage.plugin_call import Configure, Stopping

if TYPE_CHECKING:
    from hearth.runtime.topic import TopicCreation

log = logging.getLogger(__name__)

HANGING_SECONDS = 5.0
"""How much longer than it may take to drain a task that was told to stop may hang."""


def run_task(launch: TaskLaunch, found: Callable[[Environment], Environment]) -> str | None:
    """Join the host, and run the task it tells of until it is told to stop, fails, or loses its host.

    ``found`` returns an environment of the host as this machine has it.

    A failure of the task is reported to the host and ends the run quietly, so that Spark does not try it again:
    whether a task restarts is the herder's to say. What cannot be reported, that the host was not found, is returned:
    Spark carries it to the host. The link is closed last, for that is how the end is seen.
    """
    link = TaskLink()
    with contextlib.closing(link):
        try:
            welcome = link.connect(launch.link, launch.connector, launch.task)
        except ConnectError as error:
            log.warning("%s-%d: not started: %s", launch.connector, launch.task, error)
            return str(error) if isinstance(error, HostUnreachable) else None
        environments = {key: found(each) for key, each in welcome.plan.environments.items()}
        plan = replace(welcome.plan, environments=environments)
        TaskRun(replace(welcome, plan=plan), link).execute()
    return None


class TaskRun:
    """A task with everything it needs, from when it has joined its host until it has ended."""

    def __init__(self, welcome: Welcome, link: TaskLink) -> None:
        self._spec, self._is_paused = welcome.plan, welcome.is_paused
        self._settings = self._spec.settings
        self._reporters: list[Reporter] = []
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._link = link
        self._early: list[Any] = []
        self._loop: SourceLoop | SinkLoop | None = None
        self._lock = threading.Lock()
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None
        self._places: dict[str | None, Place] = {}
        self._stages: list[Stage] = []
        self._lost: HostLost | None = None

    def execute(self) -> None:
        """Run the task and tell the host how it ended."""
        self._link.listen(self._on_command, self._on_lost)
        try:
            self._execute()
        finally:
            self._over.set()

    def _execute(self) -> None:
        state, trace = "UNASSIGNED", None
        try:
            self._start()
            self._link.status("PAUSED" if self._is_paused else "RUNNING")
            assert self._loop is not None
            self._loop.execute()
        except HostLost as error:
            log.warning("%s: %s", self._spec.name, error)
        except Exception as error:
            state, trace = "FAILED", trace_of(error)
            log.error("%s failed and stays so until it is restarted:\n%s", self._spec.name, trace)
        finally:
            self._close()
        with contextlib.suppress(ConnectError):
            self._link.status(state, trace)

    def _start(self) -> None:
        spec = self._spec
        inside, between = split(spec)
        self._set_loop(self._new_loop())
        assert self._loop is not None
        home = spec.plugin("task").environment
        assert home is not None, "a task runs in a stage process, never in the runtime (invariant 6)"
        self._places[None] = LocalPlace(spec.type, self._retry())
        for environment in dict.fromkeys([home, *(plugin.environment for plugin in spec.plugins)]):
            if environment is not None:
                self._start_stage(environment, self._loop)
        self._load()
        task_place = self._places[home]
        assert isinstance(task_place, StagePlace)
        self._loop.start(task_place.stage, Pipeline.build(spec, self._places, between), inside)

    def _retry(self) -> Retry:
        return Retry(self._settings.retry_timeout_ms, self._settings.retry_delay_max_ms, self._stopping)

    def _new_loop(self) -> SourceLoop | SinkLoop:
        sink, source = self._spec.sink, self._spec.source
        self._reporters = self._new_reporters()
        tolerance = Tolerance(self._settings.is_tolerant, self._reporters)
        if sink is not None:
            identity = GroupIdentity(sink.group, self._spec.task, sink.members)
            self._consumer = Consumer(self._spec.named("consumer", sink.consumer), identity)
            subscription = Subscription(sink)
            around = self._link, self._consumer, subscription
            return SinkLoop(self._spec, tolerance, *around, sink.max_poll_records, self._is_paused)
        assert source is not None, "a task is of a source or of a sink"
        self._producer = Producer(self._spec.named("producer", source.producer))
        topics = self._topic_creation(source)
        return SourceLoop(self._spec, tolerance, self._link, self._producer, topics, self._is_paused)

    def _topic_creation(self, source: SourcePlan) -> TopicCreation | None:
        """Return what creates a topic before its first record, where worker and connector want that (KIP-158)."""
        if source.admin is None:
            return None
        from hearth.kafka.admin import TopicAdmin  # with confluent-kafka's own clients: 6 MB
        from hearth.runtime.topic import TopicCreation

        return TopicCreation(source.topic_groups, TopicAdmin(self._spec.named("adminclient", source.admin)))

    def _new_reporters(self) -> list[Reporter]:
        reporters = log_reporters(self._spec.name, self._settings)
        if self._spec.sink is not None and (letters := self._spec.sink.dead_letters) is not None:
            from hearth.runtime.dead_letter import DeadLetterReporter  # with confluent-kafka's own clients: 6 MB

            producer = self._spec.named("dlq-producer", letters.producer)
            admin = self._spec.named("adminclient", letters.admin)
            reporters.append(DeadLetterReporter(self._spec, letters, producer, admin))
        return reporters

    def _start_stage(self, environment: str, loop: SourceLoop | SinkLoop) -> StagePlace:
        stage: Stage

        def answer(request: Request) -> None:
            loop.answer(request)

        def on_death() -> None:
            if not self._is_closing:
                loop.inbox.put(stage.died())

        stage = Stage(
            self._spec.environments[environment], self._spec.name, answer, on_death, self._settings.call_timeout
        )
        place = self._places[environment] = StagePlace(stage)  # from here on it is closed, however it goes on
        self._keep(stage)
        stage.await_hello()
        retry = self._retry()
        stage.call(Configure(self._spec.type, retry.timeout_ms, retry.delay_max_ms))
        return place

    def _keep(self, stage: Stage) -> None:
        with self._lock:
            self._stages.append(stage)
            if self._lost is not None:
                stage.let_go(self._lost)

    def _load(self) -> None:
        for environment, place in self._places.items():
            place.do(loading(self._spec, environment))

    _is_closing = False

    def _close(self) -> None:
        self._is_closing = True
        if self._consumer is not None:
            self._consumer.close(self._settings.graceful_timeout)
        for place in self._places.values():
            place.close()
        if self._producer is not None:
            self._producer.close()
        for reporter in self._reporters:
            reporter.close()

    # From the host --------------------------------------------------------------------------------------------

    def _on_command(self, command: str) -> None:
        self._post(command)
        if command in ENDS and not self._stopping.is_set():
            self._stopping.set()
            threading.Thread(target=self._see_to_end, name="stop", daemon=True).start()

    def _on_lost(self) -> None:
        """End this run: by its own doing if that takes a moment, else by force, whatever it is held up by.

        Whoever waits for a plugin, or to try a record again, hears at once. The process is one that Spark forked for
        this run, with nobody else in it; its stages die with it.
        """
        self._stopping.set()
        if not self._is_closing:
            self._let_go(HostLost("the link to the host is gone"))
        if not self._over.wait(LAST_RESORT_SECONDS):
            log.error("%s: ended by force, it did not end within %g s after its host was lost",
                      self._spec.name, LAST_RESORT_SECONDS)  # fmt: skip
            os._exit(1)

    def _let_go(self, lost: HostLost) -> None:
        self._post(lost)
        with self._lock:
            self._lost = lost
            for stage in self._stages:
                stage.let_go(lost)

    def _see_to_end(self) -> None:
        """End waits before the next attempt at a record, and in the end what hangs; the link's thread goes on."""
        for stage in self._kept():
            with contextlib.suppress(ConnectError):
                stage.notify(Stopping())
        if not self._over.wait(self._settings.graceful_timeout + HANGING_SECONDS):
            for stage in self._kept():
                log.warning("%s: its stage process is ended by force: the task did not stop in time", self._spec.name)
                stage.kill()

    def _kept(self) -> list[Stage]:
        with self._lock:
            return list(self._stages)

    def _post(self, item: Any) -> None:
        """Hand something to the loop, also when it comes before the loop is there."""
        with self._lock:
            if self._loop is None:
                self._early.append(item)
                return
            self._loop.inbox.put(item)

    def _set_loop(self, loop: SourceLoop | SinkLoop) -> None:
        with self._lock:
            self._loop = loop
            for item in self._early:
                loop.inbox.put(item)


def leave_signals_to_spark() -> None:
    """Let what ends a host, by terminal or service manager, reach the host only; it tells the tasks to stop."""
    with contextlib.suppress(ValueError):  # not on the main thread, where signals are not ours to set
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # it was blocked until now

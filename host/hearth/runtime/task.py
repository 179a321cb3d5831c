"""One run of a task: its stages, its loop, its end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.config.topic_key import topic_groups
from hearth.isolation.stage import Stage
from hearth.kafka.client import Translation, admin_config, consumer_config, group_name, producer_config
from hearth.kafka.consumer import Consumer
from hearth.kafka.membership import GroupIdentity
from hearth.kafka.producer import Producer
from hearth.link.heartbeat import LAST_RESORT_SECONDS
from hearth.runtime.link import ENDS, HostLost, HostUnreachable, TaskLink
from hearth.runtime.pipeline import Pipeline, split
from hearth.runtime.place import LocalPlace, Place, StagePlace
from hearth.runtime.setting import TaskSettings
from hearth.runtime.sink import SinkLoop
from hearth.runtime.source import SourceLoop
from hearth.runtime.spec import TaskSpec
from hearth.runtime.subscription import Subscription
from hearth.runtime.tolerance import Reporter, log_reporters, trace_of
from hearth_api import ConnectError
from hearth_execution.retry import Retry
from hearth_stage.channel import Request

if TYPE_CHECKING:
    from hearth.runtime.topic import TopicCreation

log = logging.getLogger(__name__)

HANGING_SECONDS = 5.0
"""How much longer than it may take to drain a task that was told to stop may hang."""


def run_task(spec: TaskSpec) -> str | None:
    """Run a task until it is told to stop, fails, or loses its host.

    A failure of the task is reported to the host and ends the run quietly, so that Spark does not try it again:
    whether a task restarts is the herder's to say. What cannot be reported, that the host was not found, is returned:
    Spark carries it to the host.
    """
    run = TaskRun(spec)
    try:
        run.connect()
    except ConnectError as error:
        log.warning("%s: not started: %s", spec.name, error)
        return str(error) if isinstance(error, HostUnreachable) else None
    run.execute()
    return None


class TaskRun:
    """A task with everything it needs, from the first call of ``connect`` to the end of ``execute``."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec
        self._settings = TaskSettings.of(spec)
        self._reporters: list[Reporter] = []
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._link = TaskLink(self._on_command, self._on_lost)
        self._early: list[Any] = []
        self._loop: SourceLoop | SinkLoop | None = None
        self._lock = threading.Lock()
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None
        self._places: dict[str | None, Place] = {}
        self._stages: list[Stage] = []
        self._lost: HostLost | None = None

    def connect(self) -> None:
        """Join the host."""
        try:
            self._link.connect(self._spec.link, self._spec.connector, self._spec.task)
        except ConnectError:
            self._over.set()
            raise

    def execute(self) -> None:
        """Run the task and tell the host how it ended; the link is closed last, for that is how the end is seen."""
        try:
            self._execute()
        finally:
            self._over.set()
            self._link.close()

    def _execute(self) -> None:
        state, trace = "UNASSIGNED", None
        try:
            self._start()
            self._link.status("PAUSED" if self._spec.paused else "RUNNING")
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
        self._places[None] = LocalPlace(spec.type, Retry.of(spec.config, self._stopping))
        for environment in dict.fromkeys([home, *(plugin.environment for plugin in spec.plugins)]):
            if environment is not None:
                self._start_stage(environment, self._loop)
        self._load()
        task_place = self._places[home]
        assert isinstance(task_place, StagePlace)
        self._loop.start(task_place.stage, Pipeline.build(spec, self._places, between), inside)

    def _new_loop(self) -> SourceLoop | SinkLoop:
        spec = self._spec
        self._reporters = self._new_reporters()
        settings = replace(self._settings, reporters=self._reporters)
        if spec.type == "sink":
            consumer = self._checked(consumer_config(spec.worker, spec.config, spec.connector, spec.task))
            subscription = Subscription(spec.config, consumer.config)
            most = consumer.runtime.get("max.poll.records")
            identity = GroupIdentity(group_name(spec.host, spec.connector), spec.task, spec.tasks)
            self._consumer = Consumer(consumer.config, identity)
            return SinkLoop(spec, settings, self._link, self._consumer, subscription, most)
        producer = self._checked(producer_config(spec.worker, spec.config, spec.connector, spec.task))
        self._producer = Producer(producer.config)
        return SourceLoop(spec, settings, self._link, self._producer, self._topic_creation())

    def _topic_creation(self) -> TopicCreation | None:
        """Return what creates a topic before its first record, where worker and connector want that (KIP-158)."""
        spec = self._spec
        is_enabled = spec.worker.get("topic.creation.enable", "true").strip().lower() == "true"
        groups = topic_groups(spec.config) if is_enabled else []
        if not groups:
            return None
        from hearth.kafka.admin import TopicAdmin  # with confluent-kafka's own clients: 6 MB
        from hearth.runtime.topic import TopicCreation

        admin = admin_config(spec.worker, spec.config, spec.connector, spec.task)
        return TopicCreation(groups, TopicAdmin(self._checked(admin).config))

    def _new_reporters(self) -> list[Reporter]:
        spec = self._spec
        reporters = log_reporters(spec.name, spec.config)
        if spec.type == "sink" and spec.config.get(DEAD_LETTER_TOPIC, "").strip():
            from hearth.runtime.dead_letter import DeadLetterReporter  # with confluent-kafka's own clients: 6 MB

            producer = producer_config(spec.worker, spec.config, spec.connector, spec.task, dead_letters=True)
            admin = admin_config(spec.worker, spec.config, spec.connector, spec.task)
            reporters.append(DeadLetterReporter(spec, self._checked(producer).config, self._checked(admin).config))
        return reporters

    def _checked(self, translation: Translation) -> Translation:
        for warning in translation.warnings:
            log.warning("%s: %s", self._spec.name, warning)
        return translation

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
        errors = {key: value for key, value in self._spec.config.items() if key.startswith("errors.")}
        stage.call("configure", {"type": self._spec.type, "errors": errors})
        return place

    def _keep(self, stage: Stage) -> None:
        with self._lock:
            self._stages.append(stage)
            if self._lost is not None:
                stage.let_go(self._lost)

    def _load(self) -> None:
        for environment, place in self._places.items():
            wanted = [each for each in self._spec.plugins if each.environment == environment and each.role != "task"]
            place.load(wanted)

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
                stage.notify("stopping")
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

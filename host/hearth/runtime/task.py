"""One run of a task: its stages, its loop, its end."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hearth.foundation.log_context import about, label_of
from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage
from hearth.isolation.stage_tenant import StageLost
from hearth.kafka.consumer import Consumer
from hearth.kafka.membership import GroupIdentity
from hearth.kafka.producer import Producer
from hearth.kafka.token import desk
from hearth.kafka.transactional_producer import TransactionalProducer
from hearth.runtime.context_request import answer_sink
from hearth.runtime.conversion import Conversion
from hearth.runtime.delivery import Delivery
from hearth.runtime.end import RunEnd
from hearth.runtime.event_queue import EventQueue, StageEnded
from hearth.runtime.launcher import RunLoss, TaskLaunch
from hearth.runtime.link import HostUnreachable, TaskLink, Welcome
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Pipeline, Prepared
from hearth.runtime.plan import SinkPlan, SourcePlan
from hearth.runtime.plugin_meter import PluginMeter, stages_usage
from hearth.runtime.put_format import put_format_of
from hearth.runtime.sink import SinkLoop
from hearth.runtime.source import SourceLoop
from hearth.runtime.subscription import Subscription
from hearth.runtime.task_services import TaskServices
from hearth.staging.chain import split
from hearth.staging.place import OWN_STAGES, OpenStage, Place, PlaceOpener, StagePlace
from hearth.staging.sink_stage import start_sink
from hearth.staging.source_stage import answer_source, source_start, start_source
from hearth.staging.tolerance import DeadLetters, Tolerance
from hearth_api import ConnectError
from hearth_execution.failure import RemoteError
from hearth_execution.garbage import collect_seldom
from hearth_execution.load import load_lock
from hearth_execution.retry import Retry
from hearth_stage.channel import CallTimeout, Request

if TYPE_CHECKING:
    from hearth.runtime.task_log import TaskLog
    from hearth.runtime.topic import TopicCreation

log = logging.getLogger(__name__)


def run_task(
    launch: TaskLaunch,
    found: Callable[[Environment], Environment],
    task_log: TaskLog | None = None,
    end: RunEnd | None = None,
    open_stage: OpenStage = OWN_STAGES,
) -> RunLoss | None:
    """Join the host, and run its task until it has to stop, fails, or loses its host.

    ``found`` maps an environment of the host to this machine; ``task_log`` is the log of this process. A caller that
    passes ``end`` may end the run with it.

    A failure of the task is reported to the host and ends the run normally, so that Spark does not retry it: the
    herder decides on restarts. What cannot be reported over the link, that the host is unreachable or a shared process
    ended, is returned, and Spark carries it to the host.
    """
    with ExitStack() as opened:
        opened.enter_context(about(label_of(launch.connector, launch.task)))
        end = end or RunEnd(launch.name, EventQueue())
        opened.callback(end.complete)
        try:
            link = TaskLink(launch.link, launch.connector, launch.task, end.on_command, end.on_lost)
        except ConnectError as error:
            log.warning("the task was not started: %s", error)
            return RunLoss(str(error)) if isinstance(error, HostUnreachable) else None
        opened.callback(link.close)  # last: this tells the host that the run ended
        opened.callback(end.complete)  # before that: a link closed on purpose is no lost host
        opened.callback(desk.offer(link.token))
        if task_log is not None:
            opened.enter_context(task_log.through(link))
        environments = {key: found(each) for key, each in link.welcome.plan.environments.items()}
        plan = replace(link.welcome.plan, environments=environments)
        return TaskRun(replace(link.welcome, plan=plan), end, link, open_stage).execute()


class TaskRun:
    """A run of an admitted task: opens what the task needs, runs its loop, and closes everything."""

    def __init__(self, welcome: Welcome, end: RunEnd, link: TaskLink, open_stage: OpenStage) -> None:
        self._plan, self._is_paused = welcome.plan, welcome.is_paused
        self._event_queue, self._end, self._link = end.event_queue, end, link
        self._open_stage = open_stage
        self._settings = self._plan.settings
        self._observer = TaskObserver(self._plan.name, link, self._settings)
        link.reporter = self._observer

    def execute(self) -> RunLoss | None:
        """Run the task and report its end to the host; return the reason if it must restart."""
        collect_seldom()
        self._end.guard(self._settings.graceful_timeout)
        error = None
        try:
            with ExitStack() as opened:
                loop = self._open(opened)
                self._observer.runs(is_paused=self._is_paused)
                loop.execute()
        except Exception as raised:
            error = raised
        lost = _stage_lost(error)
        self._observer.ended(lost or error)
        return None if lost is None else RunLoss(str(lost), was_shared=True, is_suspect=lost.is_suspect)

    def _open(self, opened: ExitStack) -> SourceLoop | SinkLoop:
        plan = self._plan
        if plan.sink is not None:
            return self._open_sink(opened, plan.sink)
        assert plan.source is not None, "a plan is for a source or for a sink"
        return self._open_source(opened, plan.source)

    def _open_source(self, opened: ExitStack, source: SourcePlan) -> SourceLoop:
        plan = self._plan
        producer = self._open_producer(opened, source)
        self._observer.watch(producer.statistics)
        topics = self._topic_creation(source)
        inside, between = split(plan)
        is_bound = source.transaction is not None and source.transaction.is_bound_by_task
        stage, places = self._open_places(
            opened, partial(answer_source, self._event_queue.put, self._link.read_offsets)
        )
        pipeline = Pipeline(plan, places, between)
        conversion: Conversion[Prepared] = Conversion(
            pipeline, self._event_queue.wake, on_done=self._observer.converted
        )
        opened.enter_context(closing(conversion))
        services = TaskServices(
            self._event_queue, self._observer, Tolerance(self._settings, self._observer), stage, pipeline, conversion
        )
        start = replace(
            source_start(plan, inside), ends_transactions=is_bound,
            joins_polls=True, packs=pipeline.takes_packed, drops_positions=not between,
        )  # fmt: skip
        started = start_source(stage, start, is_paused=self._is_paused)
        return SourceLoop(plan, services, self._link, producer, topics, started, is_paused=self._is_paused)

    def _open_sink(self, opened: ExitStack, sink: SinkPlan) -> SinkLoop:
        plan = self._plan
        tolerance = Tolerance(self._settings, self._observer, self._open_dead_letters(opened, sink))
        consumer = Consumer(plan.named("consumer", sink.consumer), GroupIdentity(sink.group, plan.task, sink.members))
        opened.callback(consumer.close, self._settings.graceful_timeout)
        self._observer.watch(consumer.statistics)
        inside, between = split(plan)
        stage, places = self._open_places(opened, partial(answer_sink, self._event_queue, tolerance))
        pipeline = Pipeline(plan, places, between)
        conversion: Conversion[Delivery] = Conversion(
            pipeline, self._event_queue.wake, on_done=self._observer.converted
        )
        opened.enter_context(closing(conversion))
        started = start_sink(stage, plan, inside, has_reporter=tolerance.is_reporting, is_tolerant=tolerance.is_all)
        services = TaskServices(self._event_queue, self._observer, tolerance, stage, pipeline, conversion)
        put_format = put_format_of(started, sink.max_poll_records)
        pause_detector = self._link.pause_detector
        subscription = Subscription(sink)
        return SinkLoop(plan, services, consumer, subscription, put_format, pause_detector, is_paused=self._is_paused)

    # What a loop needs ----------------------------------------------------------------------------------------

    def _open_places(
        self, opened: ExitStack, answer: Callable[[Request], None]
    ) -> tuple[Stage, dict[str | None, Place]]:
        """Start the stages of all environments and load the plugins; return the task's stage and the places."""
        settings, end = self._settings, self._end
        retry = Retry(
            settings.retry_timeout_ms, settings.retry_delay_max_ms, end.begun,
            is_strict=not settings.is_tolerant, on_retry=self._observer.step_retried,
        )  # fmt: skip

        def on_death(stage: Stage) -> None:
            self._event_queue.put(StageEnded(stage))

        stage, places = PlaceOpener(self._plan, answer, on_death, retry, end.watch, self._open_stage).open(opened)
        stages = [place.stage for place in places.values() if isinstance(place, StagePlace)]
        meter = PluginMeter(stages, self._link.tell_plugins)

        def on_watched() -> None:
            self._observer.stages_used(*stages_usage(each.pid for each in stages))
            meter.ask()

        self._link.on_watched = on_watched
        return stage, places

    def _open_producer(self, opened: ExitStack, source: SourcePlan) -> Producer:
        """Open the producer; a transactional one fences earlier runs, before offsets are read."""
        config = self._plan.named("producer", source.producer)
        if source.transaction is None:
            return opened.enter_context(closing(Producer(config)))
        own = {"transactional.id": f"{source.transaction.id}-{self._plan.task}"}
        producer = opened.enter_context(closing(TransactionalProducer({**config, **own})))
        producer.claim(self._end.begun.is_set)
        self._await_offsets()
        return producer

    def _await_offsets(self) -> None:
        """Wait until the host has read all committed offsets, including those of transactions that were open.

        Raises ``HostLost`` if another run of the task has started, which may also have claimed the transactional id.
        """
        while True:
            try:
                self._link.read_offsets([])
            except (RemoteError, CallTimeout) as error:
                is_passing = not isinstance(error, RemoteError) or error.info.kind == "retriable"
                if not is_passing or self._end.begun.is_set():
                    raise
                log.warning("the task waits until its offsets topic is read to the end: %s", error)
            else:
                return

    def _open_dead_letters(self, opened: ExitStack, sink: SinkPlan) -> DeadLetters | None:
        if (letters := sink.dead_letters) is None:
            return None
        with load_lock:
            from hearth.runtime.dead_letter import DeadLetterReporter  # with confluent-kafka's own clients: 6 MB

        producer = self._plan.named("dlq-producer", letters.producer)
        admin = self._plan.named("adminclient", letters.admin)
        return opened.enter_context(closing(DeadLetterReporter(self._plan, letters, producer, admin)))

    def _topic_creation(self, source: SourcePlan) -> TopicCreation | None:
        """Return the topic creation of the task, if worker and connector enable it (KIP-158)."""
        if source.admin is None:
            return None
        with load_lock:
            from hearth.kafka.admin import TopicAdmin  # with confluent-kafka's own clients: 6 MB
            from hearth.runtime.topic import TopicCreation

        return TopicCreation(source.topic_groups, TopicAdmin(self._plan.named("adminclient", source.admin)))


def _stage_lost(error: BaseException | None) -> StageLost | None:
    """Return the loss of a shared process among the causes of an error, for example of a failed put."""
    while error is not None and not isinstance(error, StageLost):
        error = error.__cause__
    return error


def leave_signals_to_spark() -> None:
    """Ignore SIGINT and SIGTERM, from a terminal or service manager; the host tells the tasks to stop."""
    with contextlib.suppress(ValueError):  # only the main thread may set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # it was blocked until now

"""The loop of a sink task."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence

from hearth.isolation.stage import Stage
from hearth.kafka.consumer import Consumer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth.link.link_call import ENDS, Command, ForgetTopics, Pause, Replace, Resume
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.consumption import Commits, ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.conversion import Conversion
from hearth.runtime.delivery import MOST_PUTS, Delivery, Offsets, bounds, delivered, deserializing
from hearth.runtime.errant_record import report_errant
from hearth.runtime.event_queue import Errant, EventQueue, Item, MadeRecord, StageEnded
from hearth.runtime.observer import TaskObserver
from hearth.runtime.partition_flow import PartitionFlow
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.pipeline import Pipeline
from hearth.runtime.plan import TaskPlan
from hearth.runtime.put_format import PutFormat
from hearth.runtime.put_loop import PutLoop
from hearth.runtime.served_call import ServedCalls
from hearth.runtime.subscription import Subscription
from hearth.staging.tolerance import Tolerance
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import RemoteError
from hearth_stage.task_call import ClosePartitions, ContextRequest, OpenPartitions, PreCommit, StopSink

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.1
"""How often answers are looked for that come in no queue a loop waits at: to commits, dead letters, questions."""
LOOK_UP_MS = 1_000
LOOK_UP_SECONDS = 60.0
"""How long committed offsets are looked for after an assignment, as ``default.api.timeout.ms`` of Java's consumer."""
POLL_SECONDS = 0.5
"""How long the group is not looked after while records are put that were read before: it may be in a rebalance."""


class SinkLoop:
    """Runs one sink task, started in its stage, between that and the consumer, whose group the loop joins.

    One put is on its way, and others wait behind it in the stage, while the next records are read and converted. What
    was read, what is being put, what is put and what is committed stands in ``ConsumedPositions`` and nowhere else.
    Rebalances are served inside the consumer's poll, on the same thread; requests of other threads arrive in the event
    queue.
    """

    def __init__(
        self,
        plan: TaskPlan,
        *,
        is_paused: bool,
        event_queue: EventQueue,
        observer: TaskObserver,
        tolerance: Tolerance,
        stage: Stage,
        pipeline: Pipeline,
        conversion: Conversion[Delivery],
        consumer: Consumer,
        subscription: Subscription,
        put_format: PutFormat,
        pause_detector: PauseDetector,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._clock = plan.settings, clock
        self._event_queue, self._observer, self._tolerance = event_queue, observer, tolerance
        self._stage, self._pipeline, self._conversion = stage, pipeline, conversion
        self._consumer, self._subscription, self._put_format = consumer, subscription, put_format
        self._positions = ConsumedPositions()
        self._commits = Commits(self._positions, consumer, observer, clock)
        self._requests = ContextRequests()
        self._pause_detector = pause_detector
        self._flow = PartitionFlow(consumer, self._positions, self._requests, is_paused=is_paused)
        self._calls = ServedCalls(stage, event_queue, self._take, plan.settings, clock)
        self._put_loop = PutLoop(
            plan, put_format, positions=self._positions, requests=self._requests, flow=self._flow, tolerance=tolerance,
            observer=observer, stage=stage, calls=self._calls, conversion=conversion, pause_detector=pause_detector,
            clock=clock,
        )  # fmt: skip
        self._next_commit = clock() + plan.settings.flush_interval
        self._next_poll = 0.0
        self._is_replaced = False
        # Transformations may look at any column, so only a task right behind the converters does without some.
        consumer.wants_timestamps = bool(pipeline.hops) or tolerance.is_reporting or put_format.wants("timestamp")
        pipeline.wants_headers = bool(pipeline.hops) or put_format.wants("headers")
        consumer.listen(self)

    def execute(self) -> None:
        """Read, put and commit until told to stop.

        An offset is committed only after the put of its record was accepted, ``pre_commit`` agreed and every dead
        letter before it was confirmed, so a crash on any line repeats records and never loses one (invariants 1 to 3).
        """
        try:
            while not self._calls.is_ending:
                self.turn()
        except Exception:
            self._close_after_failure()
            raise
        self._close()
        self._calls.call(StopSink())

    def turn(self) -> None:
        """Go once through everything a sink does."""
        self._calls.serve()
        self._subscription.renew(self._consumer)
        self._read()
        self._make_sure()
        self._put_loop.put()
        self._commit_when_due()

    # Reading --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Fetch what there is, or wait for it a moment; what comes is kept until it is handed over.

        What some puts take is fetched and converted at once, beside this loop where it is much. As long as some of
        that is to be put, the consumer is called for the group's sake only, and what it brings then is no more than a
        put takes.
        """
        self._take_converted()
        patience, is_waiting = self._patience(), self._put_loop.is_waiting and not self._flow.is_holding
        is_ahead = is_waiting or (self._positions.is_ahead and not self._flow.is_holding)
        if (is_ahead or self._conversion.is_full) and (left := self._next_poll - self._clock()) > 0:
            if is_waiting or not is_ahead:
                self._calls.serve(min(patience, left))
                self._take_converted()
            return
        with self._event_queue.fetched(self._consumer.wake):
            most = self._put_format.most * (1 if is_ahead else MOST_PUTS)
            incoming = self._consumer.poll(0 if is_ahead else math.ceil(patience * 1000), most)
        self._next_poll = self._clock() + POLL_SECONDS
        if incoming:
            self._observer.polled(sum(len(part.offset) for part in incoming))
            self._positions.fetch(bounds(incoming)[0])
            self._convert(incoming)
        self._take_converted()

    def _make_sure(self) -> None:
        """Ask the group after a standstill whether this is its member still, or another run has its partitions.

        Until it says so nothing is put, and nothing is read, behind which its answer would wait. A task that another
        follows hears of that a moment later.
        """
        if self._pause_detector.look():
            self._flow.hold(True)
            if self._consumer.is_member():
                self._pause_detector.end()

    def _convert(self, incoming: Sequence[Incoming]) -> None:
        pipeline, skip = self._pipeline, self._tolerance.skip if self._tolerance.is_silent else None
        self._conversion.begin(
            sum(len(part.offset) for part in incoming),
            lambda: deserializing(incoming, pipeline),
            lambda outcomes: delivered(incoming, outcomes, pipeline, skip=skip),
        )

    def _take_converted(self) -> None:
        while self._conversion.is_next_done:
            self._positions.read(self._conversion.take())

    def _patience(self) -> float:
        """Return how long nothing needs to be done unless records come, or something is told."""
        now = self._clock()
        due = [self._subscription.next_look]
        if self._pause_detector.is_open:
            return max(0.0, min(*due, now + ANSWER_SECONDS) - now)
        if (put_at := self._put_loop.due(now)) is not None:
            due.append(put_at)
        if self._positions.is_committing or self._tolerance.is_waiting:
            due.append(now + ANSWER_SECONDS)
        if not self._positions.is_committing:
            due.append(self._next_commit)
        return max(0.0, min(due) - now)

    # Committing -----------------------------------------------------------------------------------------------

    def _commit_when_due(self) -> None:
        if self._commits.are_under_way() or self._pause_detector.is_open:
            return
        if not self._requests.commit and self._clock() < self._next_commit:
            return
        self._requests.commit = False
        self._next_commit = self._clock() + self._settings.flush_interval
        self._put_loop.settle_all()
        try:
            offsets = self._flush(self._positions.assigned)
        except RemoteError as error:
            self._observer.commit_failed(f"they are read again from the last commit on: {error}")
            self._flow.seek(self._positions.go_back())
        else:
            self._commits.send(offsets)

    def _flush(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Have the task flush; returns which offsets may be committed: none while a dead letter is not confirmed.

        One that failed may have lost what was put, and so may one whose end nobody waits for, because something else
        ends the task meanwhile: no later flush answers for that.
        """
        done = self._positions.done(partitions)
        if not done or not self._settled():
            return {}
        try:
            agreed = self._calls.call(PreCommit(done)).offsets
        except Exception:
            self._positions.go_back()
            raise
        agreed = {partition: offset for partition, offset in agreed.items() if partition in done}
        self._calls.serve()
        return self._positions.committable(agreed) if self._settled() else {}

    def _settled(self) -> bool:
        """Return whether all bad records are where they belong, after waiting for that (Invariant 3)."""
        if late := self._tolerance.settle(self._settings.flush_timeout):
            self._observer.commit_failed(f"they wait for {late} dead letters that are not confirmed yet")
        return not late

    # Partitions come and go -----------------------------------------------------------------------------------

    def on_assign(self, partitions: list[TopicPartition]) -> Offsets:
        """Open partitions, and say where to read on: where the group was, or where the task wants.

        What it wants of others has to be sought, which is done when nothing is being put.
        """
        self._put_loop.settle_all()
        committed = self._look_up(partitions)
        self._positions.assign(partitions, committed)
        self._observer.assigned(partitions)
        self._calls.call(OpenPartitions(partitions))
        self._calls.serve()
        return committed | self._positions.rewind(self._requests.take_rewind(partitions))

    def on_assigned(self) -> None:
        """Let the new partitions rest or flow; librdkafka remembers pauses of partitions that come back."""
        self._flow.apply()

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Finish, flush, close and commit, in this order; what is lost is closed without a commit.

        A put that the task refuses now is left to whoever reads these partitions next. A flush that fails may have
        been that of others, too: those that stay are read again from their last commit.
        """
        is_flushed = True
        self._observer.revoked(partitions, are_lost=lost)
        try:
            self._put_loop.settle_all()
            if partitions and self._stage.is_alive:
                is_flushed = self._give_back(partitions, lost)
        finally:
            self._positions.revoke(partitions)
            self._requests.paused -= set(partitions)
        if not is_flushed:
            self._flow.seek(self._positions.go_back())

    def _give_back(self, partitions: list[TopicPartition], lost: bool) -> bool:
        """Flush, close and commit; returns whether the flush, where there was one, came to its end.

        A record that the task finds bad only as it closes is not passed by the commit either (Invariant 3).
        """
        offsets: Offsets = {}
        is_flushed = True
        try:
            offsets = {} if lost else self._flush(partitions)
        except RemoteError as error:
            is_flushed = False
            self._observer.commit_failed(f"their partitions go: {error}")
        finally:
            if self._stage.is_alive:
                self._calls.call(ClosePartitions(partitions))
        self._calls.serve()  # what the task reported as it closed them came before its answer
        if offsets and self._settled():
            self._commits.send(offsets)
        self._commits.await_answer(self._settings.flush_timeout)
        return is_flushed

    def _look_up(self, partitions: list[TopicPartition]) -> Offsets:
        """Return the group's offsets; asked again while its coordinator moves or is away."""
        give_up_at = self._clock() + LOOK_UP_SECONDS
        while True:
            try:
                return self._consumer.committed(partitions, LOOK_UP_MS)
            except KafkaError as error:
                if not error.is_passing or self._clock() >= give_up_at:
                    raise
                log.warning("committed offsets are looked for again: %s", error)
            self._calls.serve()
            if self._calls.is_ending:
                return {}

    # The end --------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Give everything back: what is put is committed; what was refused or only read is the next run's."""
        try:
            if self._stage.is_alive:
                self._put_loop.settle_all()
        finally:
            seconds = self._calls.seconds_left() or self._settings.graceful_timeout
            self._consumer.close(seconds, hands_over=self._is_replaced)

    def _close_after_failure(self) -> None:
        """Give the partitions back after a failure; what else fails then must not hide what failed first."""
        self._calls.begin_end()
        try:
            self._close()
        except Exception as later:
            log.warning("while it was closed after a failure: %s", later)

    # What others want -----------------------------------------------------------------------------------------

    def _take(self, item: Item) -> None:
        if isinstance(item, Command):
            self._command(item)
        elif isinstance(item, ContextRequest):
            self._requests.add(item)
            if item.pause or item.resume:
                self._flow.apply()
        elif isinstance(item, MadeRecord):
            self._report_made(item)
        else:
            if isinstance(item, StageEnded) and item.stage is self._stage:
                self._put_loop.settle_all()  # one of them ended with it, and says of which records it was
            self._put_loop.abandon()
            self._fail(item)

    def _report_made(self, made: MadeRecord) -> None:
        """Report a record that the task made, as it would have been read."""
        try:
            record = Consumed(self._pipeline.unread(made.report.record), 0)
        except ConnectError as error:
            made.request.fail(error)
        else:
            report_errant(self._tolerance, self._event_queue, made.request, made.report.error, record)

    def _fail(self, item: Item) -> None:
        """Raise what ends the task; a record it reported as bad is committed by no run."""
        if isinstance(item, Errant):
            self._positions.hold_back(item.partition, item.offset)
            raise item.error
        if isinstance(item, StageEnded):
            raise item.stage.died()
        assert isinstance(item, ConnectError), f"a sink is not told {item!r}"
        raise item

    def _command(self, command: Command) -> None:
        if isinstance(command, ENDS):
            self._is_replaced = isinstance(command, Replace)
            self._calls.begin_end()
            self._put_loop.skip_puts()
        elif isinstance(command, Pause) and not self._flow.is_paused:
            self._flow.pause(True)
            self._put_loop.skip_puts()
            self._requests.commit = True
            self._observer.runs(is_paused=True)
        elif isinstance(command, Resume) and self._flow.is_paused:
            self._flow.pause(False)
            self._observer.runs(is_paused=False)
        elif isinstance(command, ForgetTopics):
            self._observer.forget_topics()

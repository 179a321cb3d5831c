"""The loop of a sink task."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Sequence

from hearth.kafka.consumer import Consumer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth.link.link_call import ENDS, Command, ForgetTopics, Pause, Replace, Resume
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.consumption import Commits, ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.delivery import MOST_PUTS, Delivery, Offsets, bounds, delivered, deserializing
from hearth.runtime.errant_record import report_errant
from hearth.runtime.event_queue import Errant, Item, MadeRecord, StageEnded
from hearth.runtime.partition_flow import PartitionFlow
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.plan import TaskPlan
from hearth.runtime.put_format import PutFormat
from hearth.runtime.put_loop import PutLoop, SinkState
from hearth.runtime.served_call import ServedCalls
from hearth.runtime.subscription import Subscription
from hearth.runtime.task_services import TaskServices
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import RemoteError
from hearth_stage.task_call import ClosePartitions, ContextRequest, OpenPartitions, PreCommit, StopSink

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.1
"""Interval in seconds for checking answers that wake no queue: commits, dead letters, group queries."""
LOOK_UP_MS = 1_000
LOOK_UP_SECONDS = 60.0
"""How long to retry the lookup of committed offsets after an assignment (Java's ``default.api.timeout.ms``)."""
POLL_SECONDS = 0.5
"""Longest pause in seconds between polls while earlier records are put: the group may be rebalancing."""


class SinkLoop:
    """Runs one sink task between its started stage and the consumer, with which the loop joins the group.

    One put is in progress and others wait in the stage, while the next records are read and converted.
    ``ConsumedPositions`` alone holds what was read, is being put, was put and was committed. Rebalances run inside the
    consumer's poll, on the same thread; requests of other threads arrive in the event queue.
    """

    def __init__(
        self,
        plan: TaskPlan,
        services: TaskServices[Delivery],
        consumer: Consumer,
        subscription: Subscription,
        put_format: PutFormat,
        pause_detector: PauseDetector,
        *,
        is_paused: bool,
    ) -> None:
        self._settings, self._clock = plan.settings, services.clock
        self._event_queue, self._observer = services.event_queue, services.observer
        self._tolerance, self._stage = services.tolerance, services.stage
        self._pipeline, self._conversion = services.pipeline, services.conversion
        self._consumer, self._subscription, self._put_format = consumer, subscription, put_format
        self._pause_detector = pause_detector
        self._positions = ConsumedPositions()
        self._commits = Commits(self._positions, consumer, services.observer, services.clock)
        self._requests = ContextRequests()
        self._flow = PartitionFlow(consumer, self._positions, self._requests, is_paused=is_paused)
        self._calls = ServedCalls(services, self._take, plan.settings)
        state = SinkState(self._positions, self._requests, self._flow)
        self._put_loop = PutLoop(plan, services, put_format, state, self._calls, pause_detector)
        self._next_commit = self._clock() + plan.settings.flush_interval
        self._next_poll = 0.0
        self._is_replaced = False
        # Transformations may read any column: columns are left out only if the task follows the converters directly.
        pipeline, is_reporting = services.pipeline, services.tolerance.is_reporting
        consumer.wants_timestamps = bool(pipeline.hops) or is_reporting or put_format.wants("timestamp")
        pipeline.wants_headers = bool(pipeline.hops) or put_format.wants("headers")
        consumer.listen(self)

    def execute(self) -> None:
        """Read, put and commit until stopped.

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
        """Do one round of everything a sink does."""
        self._calls.serve()
        self._subscription.renew(self._consumer)
        self._read()
        self._make_sure()
        self._put_loop.put()
        self._commit_when_due()

    # Reading --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Fetch records, waiting if there is nothing else to do, and start to convert them.

        Several puts' worth is fetched and converted at once, on another thread if it is much. While such records
        remain to be put, the consumer is polled only to stay in the group, and reads at most one put's worth.
        """
        self._take_converted()
        wait, is_waiting = self._wait_seconds(), self._put_loop.is_waiting and not self._flow.is_holding
        is_ahead = is_waiting or (self._positions.is_ahead and not self._flow.is_holding)
        if (is_ahead or self._conversion.is_full) and (left := self._next_poll - self._clock()) > 0:
            if is_waiting or not is_ahead:
                self._calls.serve(min(wait, left))
                self._take_converted()
            return
        with self._event_queue.fetched(self._consumer.wake):
            most = self._put_format.most * (1 if is_ahead else MOST_PUTS)
            incoming = self._consumer.poll(0 if is_ahead else math.ceil(wait * 1000), most)
        self._next_poll = self._clock() + POLL_SECONDS
        if incoming:
            starts, ends = bounds(incoming)
            self._observer.read(starts, ends, sum(len(part.offset) for part in incoming))
            self._positions.fetch(starts)
            self._convert(incoming)
        self._take_converted()

    def _make_sure(self) -> None:
        """After a suspension, ask the group whether this member still owns its partitions.

        Until the group confirms, nothing is put, and nothing is read that would delay its answer. A task that was
        replaced is fenced a moment later.
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

    def _wait_seconds(self) -> float:
        """Return how many seconds the loop may wait for records or events."""
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
            self._observer.commit_failed(f"records since the last commit are read again: {error}")
            self._flow.seek(self._positions.go_back())
        else:
            self._commits.send(offsets)

    def _flush(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Have the task flush; return the offsets that may be committed, none while a dead letter is unconfirmed.

        A failed flush may have lost what was put. So may one whose end is not awaited because something else ends the
        task meanwhile: no later flush covers it.
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
        """Wait for the dead letters of failed records; return whether all are written (Invariant 3)."""
        if late := self._tolerance.settle(self._settings.flush_timeout):
            self._observer.commit_failed(f"{late} dead letters are not confirmed yet")
        return not late

    # Rebalances -----------------------------------------------------------------------------------------------

    def on_assign(self, partitions: list[TopicPartition]) -> Offsets:
        """Open partitions, and return where to start: the group's offsets, or those the task requested.

        Offsets it requested for other partitions are sought later, when no put is in progress.
        """
        self._put_loop.settle_all()
        committed = self._look_up(partitions)
        self._positions.assign(partitions, committed)
        self._observer.assigned(partitions, committed)
        self._calls.call(OpenPartitions(partitions))
        self._calls.serve()
        return committed | self._positions.rewind(self._requests.take_rewind(partitions))

    def on_assigned(self) -> None:
        """Pause or resume the new partitions; librdkafka remembers pauses of returning partitions."""
        self._flow.apply()

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Finish puts, flush, close and commit, in this order; lost partitions are closed without a commit.

        A put that the task refuses now is left to the next owner of the partitions. A flush that fails may have
        included other partitions: those that stay are read again from their last commit.
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
        """Flush, close and commit; return whether the flush, if any, succeeded.

        A record that the task reports as bad only during the close is not committed either (Invariant 3).
        """
        offsets: Offsets = {}
        is_flushed = True
        try:
            offsets = {} if lost else self._flush(partitions)
        except RemoteError as error:
            is_flushed = False
            self._observer.commit_failed(f"the flush before the revocation failed: {error}")
        finally:
            if self._stage.is_alive:
                self._calls.call(ClosePartitions(partitions))
        self._calls.serve()  # reports made during the close arrive before its answer
        if offsets and self._settled():
            self._commits.send(offsets)
        self._commits.await_answer(self._settings.flush_timeout)
        return is_flushed

    def _look_up(self, partitions: list[TopicPartition]) -> Offsets:
        """Return the group's offsets; retry while its coordinator moves or is unavailable."""
        give_up_at = self._clock() + LOOK_UP_SECONDS
        while True:
            try:
                return self._consumer.committed(partitions, LOOK_UP_MS)
            except KafkaError as error:
                if not error.is_passing or self._clock() >= give_up_at:
                    raise
                log.warning("the lookup of committed offsets is retried: %s", error)
            self._calls.serve()
            if self._calls.is_ending:
                return {}

    # Stopping -------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Leave the group: what is put is committed; what was refused or only read is left to the next run."""
        try:
            if self._stage.is_alive:
                self._put_loop.settle_all()
        finally:
            seconds = self._calls.seconds_left() or self._settings.graceful_timeout
            self._consumer.close(seconds, hands_over=self._is_replaced)

    def _close_after_failure(self) -> None:
        """Leave the group after a failure; log further errors, so that they do not hide the first."""
        self._calls.begin_end()
        try:
            self._close()
        except Exception as later:
            log.warning("closing the task after a failure: %s", later)

    # Events ---------------------------------------------------------------------------------------------------

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
                self._put_loop.settle_all()  # the put in progress fails, and names its records
            self._put_loop.abandon()
            self._fail(item)

    def _report_made(self, made: MadeRecord) -> None:
        """Report a record that the task created, in its consumed form."""
        try:
            record = Consumed(self._pipeline.unread(made.report.record), 0)
        except ConnectError as error:
            made.request.fail(error)
        else:
            report_errant(self._tolerance, self._event_queue, made.request, made.report.error, record)

    def _fail(self, item: Item) -> None:
        """Raise what ends the task; the offset of a record it reported as bad is not committed."""
        if isinstance(item, Errant):
            self._positions.hold_back(item.partition, item.offset)
            raise item.error
        if isinstance(item, StageEnded):
            raise item.stage.died()
        assert isinstance(item, ConnectError), f"a sink receives no {item!r}"
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

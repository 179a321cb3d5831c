"""The loop of a sink task."""

from __future__ import annotations

import logging
import math
import queue
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from hearth.isolation.stage import Stage
from hearth.kafka.consumer import MOST_MESSAGES, Consumer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth.runtime.consumption import ConsumedPositions
from hearth.runtime.delivery import Consumed, ContextRequests, Delivery, Offsets, as_consumed, bounds
from hearth.runtime.link import ENDS, TaskLink
from hearth.runtime.pipeline import Pipeline, step_of
from hearth.runtime.plan import PluginSpec, TaskPlan
from hearth.runtime.subscription import Subscription
from hearth.runtime.tolerance import Tolerance, ToleranceExceeded, when_all
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import Failure, RemoteError, is_retriable
from hearth_stage.call import Call
from hearth_stage.channel import Request
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    OpenPartitions,
    PreCommit,
    Put,
    PutDone,
    ReportRecord,
    StartSink,
    StopSink,
)

R = TypeVar("R")

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.1
FIRST_RETRY_SECONDS = 0.1
MOST_RETRY_SECONDS = 5.0
LEAST_SECONDS = 1.0
"""What each step of an end has at least, however long the steps before it took."""
LOOK_UP_MS = 1_000
LOOK_UP_SECONDS = 60.0
"""How long committed offsets are looked for after an assignment, as ``default.api.timeout.ms`` of Java's consumer."""
COMMIT_SECONDS = 120.0
"""How long the answer to a commit is waited for before another is sent.

librdkafka keeps a commit while its coordinator is away and answers it when the session is over. A second one beside it
would be sent after that, by a static member that does not know itself any more: the broker fences it, and all that it
read and put since its last commit comes again.
"""
JAVA_MAX_POLL_RECORDS = 500


@dataclass(frozen=True)
class _Errant:
    """A record the task reported although nothing is tolerated: what it belongs to must not count as done."""

    partition: TopicPartition
    offset: int
    error: ConnectError


class SinkLoop:
    """Runs one sink task between the consumer and its stage process.

    One put is on its way while the next records are read and converted. What was read, what is being put, what is put
    and what is committed stands in ``ConsumedPositions`` and nowhere else. Rebalances are served inside the consumer's
    poll, on the same thread; commands, the task's context requests and its reports arrive on other threads, through
    ``inbox``.
    """

    def __init__(
        self,
        spec: TaskPlan,
        tolerance: Tolerance,
        link: TaskLink,
        consumer: Consumer,
        subscription: Subscription,
        most: int | None = None,
        is_paused: bool = False,
        inbox: queue.SimpleQueue[Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue() if inbox is None else inbox
        self._spec, self._settings, self._link, self._clock = spec, spec.settings, link, clock
        self._asked_most = most
        self._consumer, self._subscription = consumer, subscription
        self._tolerance = tolerance
        self._positions = ConsumedPositions()
        self._columns: set[str] | None = None
        self._paused_by_task: set[TopicPartition] = set()
        self._putting: Future[PutDone] | None = None
        self._requests = ContextRequests()
        self._next_commit = clock() + spec.settings.flush_interval
        self._commit_at = 0.0
        self._retry_at = 0.0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._is_holding = False
        self._is_paused = is_paused
        self._is_stopping = self._is_replaced = False
        self._end_by: float | None = None

    def start(self, stage: Stage, pipeline: Pipeline, inside: list[PluginSpec]) -> None:
        """Start the task in its stage; the group is joined by the loop."""
        self._stage, self._pipeline = stage, pipeline
        reference, config = self._spec.plugin("task").reference, dict(self._spec.task_config)
        steps = [step_of(plugin) for plugin in inside]
        started = stage.call(
            StartSink(reference, config, steps, self._tolerance.has_reporters, self._tolerance.is_all)
        )
        self._columns = self._wanted_columns(started.columns)
        # Transformations may look at any column, so only a task right behind the converters does without some.
        self._consumer.wants_timestamps = (
            self._columns is None
            or "timestamp" in self._columns
            or bool(pipeline.hops)
            or self._tolerance.has_reporters
        )
        default = MOST_MESSAGES if started.is_batch else JAVA_MAX_POLL_RECORDS
        self._most = default if self._asked_most is None else self._asked_most
        self._consumer.listen(self)

    def answer(self, request: Request) -> None:
        """Take what the stage sends; runs on the stage's reader thread."""
        message = request.message
        if isinstance(message, ContextRequest):
            self.inbox.put(message)
        elif isinstance(message, ReportRecord):
            self._report_errant(request, message)
        else:
            request.fail(LookupError(f"a sink task has no request {request.op!r}"))

    def execute(self) -> None:
        """Read, put and commit until told to stop.

        An offset is committed only after the put of its record was accepted, ``pre_commit`` agreed and every dead
        letter before it was confirmed, so a crash on any line repeats records and never loses one (invariants 1 to 3).
        """
        try:
            while not self._is_stopping:
                self.turn()
        except Exception:
            self._close_after_failure()
            raise
        self._close()
        self._call(StopSink())

    def turn(self) -> None:
        """Go once through everything a sink does."""
        self._serve_inbox()
        self._rewind_when_asked()
        self._subscription.renew(self._consumer)
        self._read()
        self._put()
        self._commit_when_due()

    # Reading --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read what there is, or wait for it a moment; what comes is kept until it is handed over."""
        incoming = self._consumer.poll(math.ceil(self._patience() * 1000), self._most)
        if incoming:
            self._positions.read(self._convert(incoming))

    def _patience(self) -> float:
        waits = [IDLE_SECONDS, self._next_commit - self._clock()]
        if self._positions.is_refused:
            waits.append(self._retry_at - self._clock())
        elif self._requests.timeout is not None:
            waits.append(self._requests.timeout)
            self._requests.timeout = None
        return max(0.0, min(waits))

    def _convert(self, incoming: list[Incoming]) -> Delivery:
        """Deserialize and transform; a failed record is reported, and skipped where that is tolerated."""
        delivery = Delivery(sources=tuple(incoming))
        first = 0
        for part in incoming:
            outcome = self._pipeline.deserialize(part, first)
            first += len(part.offset)
            failures = outcome.failures
            for batch in outcome.batches:
                after = self._pipeline.transform(batch)
                delivery.batches += after.batches
                failures = failures + after.failures
            self._judge(failures, delivery)
            starts, ends = bounds(part)
            delivery.starts.update(starts)
            delivery.offsets.update(ends)
        return delivery

    def _judge(self, failures: list[Failure], delivery: Delivery) -> None:
        """Report failed records; where they are not tolerated, what was handed over before them still counts."""
        try:
            self._tolerance.judge(failures, delivery.record)
        except ToleranceExceeded:
            self._settle_put()
            raise

    # Putting --------------------------------------------------------------------------------------------------

    def _put(self) -> None:
        """Settle the put before, then hand over what comes next: the one place that gives records to the task.

        With nothing to hand over it is told that nothing came. While it wants records again, or while more dead
        letters are under way than may be, all partitions rest; the group and the operator are served all the same.
        """
        self._settle_put()
        self._hold_or_go_on()
        is_waiting = self._positions.is_refused and self._clock() < self._retry_at
        if is_waiting or self._tolerance.is_full or self._is_stopping:
            return
        delivery = self._positions.hand_over()
        self._putting = self._begin_put(delivery)
        if not delivery.batches:
            self._settle_put()

    def _begin_put(self, delivery: Delivery) -> Future[PutDone]:
        batches = delivery.batches
        if self._columns is not None:
            batches = [batch.select(self._columns) for batch in batches]
        if not batches or not self._tolerance.has_reporters:
            return self._begin(Put(batches))
        consumed = [as_consumed(source) for source in delivery.sources]
        return self._begin(Put([*batches, *consumed], len(consumed)))

    def _wanted_columns(self, columns: list[str] | None) -> set[str] | None:
        if columns is None:
            return None
        return {*columns, "row"} if self._tolerance.has_reporters else set(columns)

    def _settle_put(self) -> None:
        """Wait until what is being put was answered, and note it as done or as wanted again."""
        if self._putting is None:
            return
        try:
            failures = self._result(self._putting, Put.op).failures
            delivery = self._positions.putting
            assert delivery is not None
            self._tolerance.judge(failures, delivery.record)
            self._serve_inbox()  # what the task reported meanwhile came before its answer
        except Exception as error:
            self._abandon_put()
            if not is_retriable(error):
                raise
            self._retry_later(error)
            return
        self._putting = None
        self._positions.accept()
        self._retry_seconds = FIRST_RETRY_SECONDS

    def _abandon_put(self) -> None:
        """Count what is being put as not done, whatever becomes of it."""
        if self._putting is not None:
            self._putting = None
            self._positions.refuse()

    def _retry_later(self, error: Exception) -> None:
        self._serve_inbox()
        log.warning("%s: put is tried again: %s", self._spec.name, error)
        wait = self._retry_seconds if self._requests.timeout is None else self._requests.timeout
        self._requests.timeout = None
        self._retry_seconds = min(self._retry_seconds * 2, MOST_RETRY_SECONDS)
        self._retry_at = self._clock() + wait

    def _hold_or_go_on(self) -> None:
        self._tolerance.settle(0)  # raises when a dead letter was refused
        is_holding = self._positions.is_refused or self._tolerance.is_full
        if is_holding is not self._is_holding:
            self._is_holding = is_holding
            self._pause_and_resume()

    # Committing -----------------------------------------------------------------------------------------------

    def _commit_when_due(self) -> None:
        self._take_answers(0)
        if self._positions.is_committing:
            if self._clock() >= self._commit_at + COMMIT_SECONDS:
                log.warning("%s: a commit of offsets was not answered, they are committed again", self._spec.name)
                self._positions.give_up_commit()
            return
        if not self._requests.commit and self._clock() < self._next_commit:
            return
        self._requests.commit = False
        self._next_commit = self._clock() + self._settings.flush_interval
        self._settle_put()
        try:
            offsets = self._flush(self._positions.assigned)
        except RemoteError as error:
            log.error("%s: offsets are not committed, reading on from the last commit: %s", self._spec.name, error)
            self._seek(self._positions.go_back())
        else:
            self._commit(offsets)

    def _flush(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Have the task flush; returns which offsets may be committed: none while a dead letter is not confirmed."""
        done = self._positions.done(partitions)
        if not done or not self._settled():
            return {}
        reply = self._call(PreCommit(done))
        agreed = {partition: offset for partition, offset in reply.offsets.items() if partition in done}
        self._serve_inbox()
        return self._positions.committable(agreed) if self._settled() else {}

    def _settled(self) -> bool:
        """Return whether all bad records are where they belong, after waiting for that (Invariant 3)."""
        if late := self._tolerance.settle(self._settings.flush_timeout):
            log.error("%s: %d dead letters are not confirmed yet, offsets wait for them", self._spec.name, late)
        return not late

    def _commit(self, offsets: Offsets) -> None:
        """Send a commit: the one place that does. Its answer counts, when it comes."""
        if offsets:
            number = self._positions.send(offsets)
            self._commit_at = self._clock()
            self._consumer.commit(offsets, number)

    def _take_answers(self, wait: float) -> None:
        for answer in self._consumer.commit_answers(math.ceil(wait * 1000)):
            for partition, error in answer.refused.items():
                log.error("%s: the offset of %s was not committed: %s", self._spec.name, partition, error)
            self._positions.confirm(answer.number, answer.refused)

    def _rewind_when_asked(self) -> None:
        """Read where the task wants; what was read ahead of partitions it does not want now is read again later."""
        if self._requests.rewind:
            self._settle_put()
            wanted, self._requests.rewind = self._requests.rewind, {}
            self._seek(self._positions.rewind(wanted))
        self._seek(self._positions.withdraw(self._paused_by_task))

    def _seek(self, offsets: Offsets) -> None:
        if offsets:
            self._consumer.seek(offsets)

    # Partitions come and go -----------------------------------------------------------------------------------

    def on_assign(self, partitions: list[TopicPartition]) -> Offsets:
        """Open partitions, and say where to read on: where the group was, or where the task wants."""
        committed = self._look_up(partitions)
        self._positions.assign(partitions, committed)
        self._call(OpenPartitions(partitions))
        self._serve_inbox()
        wanted, self._requests.rewind = self._requests.rewind, {}
        return committed | self._positions.rewind(wanted)

    def on_assigned(self) -> None:
        """Let the new partitions rest or flow; librdkafka remembers pauses of partitions that come back."""
        self._pause_and_resume()

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Finish, flush, close and commit, in this order; what is lost is closed without a commit.

        A put that the task refuses now is left to whoever reads these partitions next. A flush that fails may have
        been that of others, too: those that stay are read again from their last commit.
        """
        is_flushed = True
        try:
            self._settle_put()
            if partitions and self._stage.is_alive:
                is_flushed = self._give_back(partitions, lost)
        finally:
            self._positions.revoke(partitions)
            self._paused_by_task -= set(partitions)
        if not is_flushed:
            self._seek(self._positions.go_back())

    def _give_back(self, partitions: list[TopicPartition], lost: bool) -> bool:
        """Flush, close and commit; returns whether the flush, where there was one, came to its end."""
        offsets: Offsets = {}
        is_flushed = True
        try:
            offsets = {} if lost else self._flush(partitions)
        except RemoteError as error:
            is_flushed = False
            log.warning("%s: offsets are not committed with the partitions that go: %s", self._spec.name, error)
        finally:
            if self._stage.is_alive:
                self._call(ClosePartitions(partitions))
        self._commit(offsets)
        give_up_at = self._commit_at + self._settings.flush_timeout
        while self._positions.is_committing and (left := give_up_at - self._clock()) > 0:
            self._take_answers(left)
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
                log.warning("%s: committed offsets are looked for again: %s", self._spec.name, error)
            self._serve_inbox()
            if self._is_stopping:
                return {}

    # The end --------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Give everything back: what is put is committed; what was refused or only read is the next run's."""
        try:
            if self._stage.is_alive:
                self._settle_put()
        finally:
            seconds = self._seconds_left() or self._settings.graceful_timeout
            self._consumer.close(seconds, hands_over=self._is_replaced)

    def _close_after_failure(self) -> None:
        """Give the partitions back after a failure; what else fails then must not hide what failed first."""
        self._begin_end()
        try:
            self._close()
        except Exception as later:
            log.warning("%s: while it was closed after a failure: %s", self._spec.name, later)

    def _begin_end(self) -> None:
        if self._end_by is None:
            self._end_by = self._clock() + self._settings.graceful_timeout

    def _seconds_left(self) -> float | None:
        """Return how long a call of the task may take now that the end has begun; ``None`` before it has."""
        return None if self._end_by is None else max(LEAST_SECONDS, self._end_by - self._clock())

    # The stage ------------------------------------------------------------------------------------------------

    def _call(self, call: Call[R]) -> R:
        return self._result(self._begin(call), call.op)

    def _begin(self, call: Call[R]) -> Future[R]:
        answer = self._stage.begin(call)
        answer.add_done_callback(lambda _: self.inbox.put(None))
        return answer

    def _result(self, answer: Future[R], op: str) -> R:
        """Wait for an answer of the stage, serving the inbox: a stop bounds even the wait for a task that hangs."""
        began = self._clock()
        while not answer.done():
            limit = self._settings.call_timeout
            if (left := self._seconds_left()) is not None:
                limit = min(limit, self._clock() - began + left)
            try:
                self._take(self.inbox.get(timeout=max(0.0, began + limit - self._clock())))
            except queue.Empty:
                error = self._stage.timed_out(op, limit)
                self._stage.kill()  # the task hangs, and would do so again
                raise error from None
        return self._stage.result(answer, op)

    # What others want -----------------------------------------------------------------------------------------

    def _serve_inbox(self) -> None:
        while True:
            try:
                item = self.inbox.get_nowait()
            except queue.Empty:
                return
            self._take(item)

    def _take(self, item: Any) -> None:
        if isinstance(item, str):
            self._command(item)
        elif isinstance(item, ContextRequest):
            self._grant(item)
        elif item is not None:
            self._abandon_put()
            if isinstance(item, _Errant):
                self._positions.hold_back(item.partition, item.offset)
                raise item.error
            raise item

    def _command(self, command: str) -> None:
        if command in ENDS:
            self._is_stopping, self._is_replaced = True, command == "replace"
            self._begin_end()
        elif command == "pause" and not self._is_paused:
            self._is_paused = True
            self._pause_and_resume()
            self._requests.commit = True
            self._link.status("PAUSED")
        elif command == "resume" and self._is_paused:
            self._is_paused = False
            self._pause_and_resume()
            self._link.status("RUNNING")

    def _grant(self, asked: ContextRequest) -> None:
        """Note what the task asked of its context."""
        self._requests.rewind.update(asked.rewind)
        if asked.timeout is not None:
            self._requests.timeout = asked.timeout / 1000
        self._requests.commit = self._requests.commit or asked.commit
        if asked.pause or asked.resume:
            self._paused_by_task |= set(asked.pause)
            self._paused_by_task -= set(asked.resume)
            self._pause_and_resume()

    def _pause_and_resume(self) -> None:
        """Let flow what the operator and the task want to flow, and nothing while records are to be put again."""
        assigned = self._positions.assigned
        rests = assigned if self._is_paused or self._is_holding else assigned & self._paused_by_task
        self._consumer.pause(rests)
        self._consumer.resume(assigned - rests)

    def _report_errant(self, request: Request, report: ReportRecord) -> None:
        """Report a record the task itself found bad (KIP-610), on the stage's thread: the loop may wait for that put.

        Where nothing is tolerated the task is told so, and fails even if it makes light of it.
        """
        record = Consumed.of(report.record)
        failure = Failure(0, "TASK_PUT", self._spec.connector_class, report.error)
        try:
            reports = self._tolerance.report(failure, record)
        except ConnectError as exceeded:
            self.inbox.put(_Errant(record.partition, record.offset, exceeded))
            request.fail(exceeded)
            return
        when_all(reports, request)

"""The loop of a sink task."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from hearth.isolation.stage import Stage
from hearth.kafka.consumer import MOST_MESSAGES, Consumer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth.link.link_call import ENDS, Command, ForgetTopics, Pause, Replace, Resume
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.consumption import Commits, ConsumedPositions
from hearth.runtime.conversion import Conversion
from hearth.runtime.delivery import (
    MOST_PUTS,
    ContextRequests,
    Delivery,
    Offsets,
    PutFailed,
    SentPut,
    SentPuts,
    bounds,
    delivered,
    deserializing,
)
from hearth.runtime.errant_record import report_errant, take_report
from hearth.runtime.inbox import Errant, Inbox, Item, MadeRecord, StageEnded
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Pipeline
from hearth.runtime.plan import TaskPlan
from hearth.runtime.subscription import Subscription
from hearth.staging.tolerance import Tolerance
from hearth_api import ConnectError, PluginError, TopicPartition
from hearth_execution.failure import RemoteError, is_retriable
from hearth_stage.call import Call
from hearth_stage.channel import Request
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    LeaveOut,
    OpenPartitions,
    PreCommit,
    PutDone,
    ReportRecord,
    SinkStarted,
    StopSink,
)

R = TypeVar("R")

log = logging.getLogger(__name__)

IDLE_SECONDS = 3.0
"""How long at most a task is not told that nothing came; Java's tells it once in ``offset.flush.interval.ms``."""
ANSWER_SECONDS = 0.1
"""How often answers are looked for that come in no queue a loop waits at: to commits, and to dead letters."""
FIRST_RETRY_SECONDS = 0.1
MOST_RETRY_SECONDS = 5.0
LEAST_SECONDS = 1.0
"""What each step of an end has at least, however long the steps before it took."""
LOOK_UP_MS = 1_000
LOOK_UP_SECONDS = 60.0
"""How long committed offsets are looked for after an assignment, as ``default.api.timeout.ms`` of Java's consumer."""
JAVA_MAX_POLL_RECORDS = 500
POLL_SECONDS = 0.5
"""How long the group is not looked after while records are put that were read before: it may be in a rebalance."""


@dataclass(frozen=True)
class Intake:
    """What a sink task takes with a put: these columns of a record (``None`` = all), and at most so many records.

    ``takes_next`` says that its stage may be sent further puts while it is at one.
    """

    columns: list[str] | None
    most: int
    takes_next: bool = False


def answer_sink(inbox: Inbox, tolerance: Tolerance, request: Request) -> None:
    """Take what the stage of a sink sends, on the stage's reader thread: the loop may wait for that very put."""
    message = request.message
    if isinstance(message, ContextRequest):
        inbox.put(message)
    elif isinstance(message, ReportRecord):
        take_report(tolerance, inbox, request, message)
    else:
        request.fail(LookupError(f"a sink task has no request {request.op!r}"))


def intake_of(started: SinkStarted, most: int | None) -> Intake:
    """Return what a started task takes; ``most`` is how many records the user wants it to be given at most."""
    default = MOST_MESSAGES if started.is_batch else JAVA_MAX_POLL_RECORDS
    return Intake(started.columns, default if most is None else most, started.takes_next)


class SinkLoop:
    """Runs one sink task, started in its stage, between that and the consumer, whose group the loop joins.

    One put is on its way, and others wait behind it in the stage, while the next records are read and converted. What
    was read, what is being put, what is put and what is committed stands in ``ConsumedPositions`` and nowhere else.
    Rebalances are served inside the consumer's poll, on the same thread; what others want arrives in the inbox from
    other threads.
    """

    def __init__(
        self,
        plan: TaskPlan,
        *,
        is_paused: bool,
        inbox: Inbox,
        observer: TaskObserver,
        tolerance: Tolerance,
        stage: Stage,
        pipeline: Pipeline,
        conversion: Conversion[list[Delivery]],
        consumer: Consumer,
        subscription: Subscription,
        intake: Intake,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan, self._settings, self._clock = plan, plan.settings, clock
        self._inbox, self._observer, self._tolerance = inbox, observer, tolerance
        self._stage, self._pipeline, self._conversion = stage, pipeline, conversion
        self._consumer, self._subscription, self._intake = consumer, subscription, intake
        self._positions = ConsumedPositions()
        self._commits = Commits(self._positions, consumer, observer, clock)
        self._requests = ContextRequests()
        self._putting = SentPuts(intake.takes_next)
        self._times_left_out = 0
        self._next_commit = clock() + plan.settings.flush_interval
        self._retry_at = 0.0
        self._next_put = clock() + IDLE_SECONDS
        self._next_poll = 0.0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._is_holding = False
        self._is_paused = is_paused
        self._is_stopping = self._is_replaced = False
        self._end_by: float | None = None
        # Transformations may look at any column, so only a task right behind the converters does without some.
        columns = intake.columns
        is_any_wanted = columns is None or bool(pipeline.hops) or tolerance.is_reporting
        consumer.wants_timestamps = is_any_wanted or "timestamp" in (columns or ())
        consumer.listen(self)

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
        self._subscription.renew(self._consumer)
        self._read()
        self._put()
        self._commit_when_due()

    # Reading --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Fetch what there is, or wait for it a moment; what comes is kept until it is handed over.

        What some puts take is fetched and converted at once, beside this loop where it is much. As long as some of
        that is to be put, the consumer is called for the group's sake only, and what it brings then is no more than a
        put takes.
        """
        self._take_converted()
        patience, is_ahead = self._patience(), self._positions.is_ahead and not self._is_holding
        if (is_ahead or self._conversion.is_full) and (left := self._next_poll - self._clock()) > 0:
            if not is_ahead:
                self._serve_inbox(min(patience, left))
                self._take_converted()
            return
        with self._inbox.fetched(self._consumer.wake):
            most = self._intake.most * (1 if is_ahead else MOST_PUTS)
            incoming = self._consumer.poll(0 if is_ahead else math.ceil(patience * 1000), most)
        self._next_poll = self._clock() + POLL_SECONDS
        if incoming:
            self._observer.polled(sum(len(part.offset) for part in incoming))
            self._positions.fetch(bounds(incoming)[0])
            self._convert(incoming)
        self._take_converted()

    def _convert(self, incoming: Sequence[Incoming]) -> None:
        pipeline, most = self._pipeline, self._intake.most
        self._conversion.begin(
            sum(len(part.offset) for part in incoming),
            lambda: deserializing(incoming, pipeline),
            lambda outcomes: delivered(incoming, outcomes, pipeline, most),
        )

    def _take_converted(self) -> None:
        while self._conversion.is_next_done:
            self._positions.read(self._conversion.take())

    def _patience(self) -> float:
        """Return how long nothing needs to be done unless records come, or something is told."""
        now = self._clock()
        if not self._positions.is_refused and (timeout := self._requests.take_timeout()) is not None:
            self._next_put = min(self._next_put, now + timeout)
        due = [self._subscription.next_look]
        if self._positions.is_committing or self._tolerance.is_waiting:
            due.append(now + ANSWER_SECONDS)
        if not self._positions.is_committing:
            due.append(self._next_commit)
        if not self._tolerance.is_full:
            due.append(self._retry_at if self._positions.is_refused else self._next_put)
        return max(0.0, min(due) - now)

    # Putting --------------------------------------------------------------------------------------------------

    def _put(self) -> None:
        """Settle the put before, then hand over what comes next: the one place that gives records to the task.

        With nothing to hand over it is told that nothing came, from time to time. While it wants records again, or
        while more dead letters are under way than may be, all partitions rest; group and operator are served all the
        same.
        What the task asked of its context in one put counts before the next: what was read ahead of a partition that
        it wants elsewhere, or not now, is not given to it. A record that could not be converted is reported when its
        turn has come, and skipped where that is tolerated; where it is not, what was put before it still counts.
        """
        if self._follow():
            return
        if self._is_held_up:
            self._settle_puts()
        elif self._is_more_coming:
            return
        self._settle_put()
        if self._putting:
            self._follow()
            return
        self._rewind_when_asked()
        self._hold_or_go_on()
        is_waiting = self._positions.is_refused and self._clock() < self._retry_at
        if is_waiting or self._tolerance.is_full or self._is_stopping:
            return
        if not self._positions.is_any_due and self._clock() < self._next_put:
            return
        delivery = self._positions.hand_over()
        failures, delivery.failures = delivery.failures, []
        self._tolerance.judge(failures, delivery.record)
        self._observer.put(delivery.count, delivery.topics)
        self._send(delivery)
        if not delivery.batches:
            self._settle_put()

    def _follow(self) -> bool:
        """Send what comes next behind the puts that are under way, so that the stage need not wait for it.

        It is not given to the task if that refuses what it has, or says anything that was not heard by now. Whatever
        has to be done between two puts, or needs a look at their records, is done when none is under way.
        """
        heard = self._tolerance.heard + self._times_left_out
        self._serve_inbox()
        self._hold_or_go_on()
        delivery = self._positions.next
        is_plain = delivery is not None and delivery.batches and not delivery.failures
        if not is_plain or not self._putting.may_be_followed or self._is_held_up:
            return False
        self._send(self._positions.hand_over(), heard + self._requests.heard)
        return True

    @property
    def _is_more_coming(self) -> bool:
        """Return whether the end of a put can be waited for later: something to hand over is being converted."""
        return bool(self._putting) and not self._positions.is_ahead and self._conversion.is_busy

    @property
    def _is_held_up(self) -> bool:
        """Return whether something has to be done before the task is given more."""
        is_asked = bool(self._requests.rewind or self._resting) or self._requests.commit
        return is_asked or self._is_holding or self._tolerance.is_full or self._is_stopping

    def _send(self, delivery: Delivery, heard: int | None = None) -> None:
        self._next_put = self._clock() + IDLE_SECONDS
        put = delivery.to_put(self._intake.columns, are_consumed_wanted=self._tolerance.is_reporting, heard=heard)
        self._putting.add(SentPut(delivery, self._begin(put), heard is not None))

    def _leave_out(self) -> None:
        """Have the task not be given what waits in the stage behind the put that it is at.

        Both sides count that as something it said, so what was sent before and has not begun does not count.
        """
        if len(self._putting) > 1:
            self._times_left_out += 1
            with suppress(PluginError):  # that the stage is gone is told by the puts
                self._stage.notify(LeaveOut())

    def _settle_puts(self) -> None:
        """Wait until nothing is being put: for one that the task has been given, not for those that wait behind it."""
        self._leave_out()
        while self._putting:
            self._settle_put()

    def _settle_put(self) -> None:
        """Wait until what is being put first was answered, and note it as done, as wanted again or as not given."""
        if not self._putting:
            return
        put, delivery = self._putting.first, self._positions.putting
        assert delivery is not None
        try:
            done = self._put_done(put)
            self._tolerance.judge(done.failures, delivery.record)
            self._serve_inbox()  # what the task reported meanwhile came before its answer
        except Exception as error:
            self._abandon_put()
            if is_retriable(error):
                self._retry_later(delivery, error)
            elif isinstance(error, PluginError):
                raise PutFailed(error, self._plan.connector_class, delivery) from error
            else:
                raise
            return
        if done.left_out:
            self._putting.forget()  # what was to follow it is left out as well
            self._positions.take_back()
        else:
            self._putting.settle()
            self._positions.accept()
            self._retry_seconds = FIRST_RETRY_SECONDS

    def _put_done(self, put: SentPut) -> PutDone:
        """Wait for the answer to a put; one that was to follow another is counted when it is known to have begun."""
        done = PutDone()
        try:
            done = self._result(put.answer, "sink.put")
        finally:
            if put.follows and not done.left_out:
                self._observer.put(put.delivery.count, put.delivery.topics)
        return done

    def _abandon_put(self) -> None:
        """Count what is being put as not done, whatever becomes of it; what was to follow is not given to the task."""
        if self._putting:
            self._putting.forget()
            self._positions.refuse()

    def _retry_later(self, delivery: Delivery, error: Exception) -> None:
        self._serve_inbox()
        self._observer.put_again(delivery.count, error)
        timeout = self._requests.take_timeout()
        wait = self._retry_seconds if timeout is None else timeout
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
        if self._commits.are_under_way():
            return
        if not self._requests.commit and self._clock() < self._next_commit:
            return
        self._requests.commit = False
        self._next_commit = self._clock() + self._settings.flush_interval
        self._settle_puts()
        try:
            offsets = self._flush(self._positions.assigned)
        except RemoteError as error:
            self._observer.commit_failed(f"they are read again from the last commit on: {error}")
            self._seek(self._positions.go_back())
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
            agreed = self._call(PreCommit(done)).offsets
        except Exception:
            self._positions.go_back()
            raise
        agreed = {partition: offset for partition, offset in agreed.items() if partition in done}
        self._serve_inbox()
        return self._positions.committable(agreed) if self._settled() else {}

    def _settled(self) -> bool:
        """Return whether all bad records are where they belong, after waiting for that (Invariant 3)."""
        if late := self._tolerance.settle(self._settings.flush_timeout):
            self._observer.commit_failed(f"they wait for {late} dead letters that are not confirmed yet")
        return not late

    def _rewind_when_asked(self) -> None:
        """Read where the task wants; what was read ahead of partitions that are to rest is read again later."""
        if self._requests.rewind:
            self._seek(self._positions.rewind(self._requests.take_rewind()))
        self._seek(self._positions.withdraw(self._resting))

    def _seek(self, offsets: Offsets) -> None:
        if offsets:
            self._consumer.seek(offsets)

    # Partitions come and go -----------------------------------------------------------------------------------

    def on_assign(self, partitions: list[TopicPartition]) -> Offsets:
        """Open partitions, and say where to read on: where the group was, or where the task wants.

        What it wants of others has to be sought, which is done when nothing is being put.
        """
        self._settle_puts()
        committed = self._look_up(partitions)
        self._positions.assign(partitions, committed)
        self._observer.assigned(partitions)
        self._call(OpenPartitions(partitions))
        self._serve_inbox()
        return committed | self._positions.rewind(self._requests.take_rewind(partitions))

    def on_assigned(self) -> None:
        """Let the new partitions rest or flow; librdkafka remembers pauses of partitions that come back."""
        self._pause_and_resume()

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Finish, flush, close and commit, in this order; what is lost is closed without a commit.

        A put that the task refuses now is left to whoever reads these partitions next. A flush that fails may have
        been that of others, too: those that stay are read again from their last commit.
        """
        is_flushed = True
        self._observer.revoked(partitions, are_lost=lost)
        try:
            self._settle_puts()
            if partitions and self._stage.is_alive:
                is_flushed = self._give_back(partitions, lost)
        finally:
            self._positions.revoke(partitions)
            self._requests.paused -= set(partitions)
        if not is_flushed:
            self._seek(self._positions.go_back())

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
                self._call(ClosePartitions(partitions))
        self._serve_inbox()  # what the task reported as it closed them came before its answer
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
            self._serve_inbox()
            if self._is_stopping:
                return {}

    # The end --------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Give everything back: what is put is committed; what was refused or only read is the next run's."""
        try:
            if self._stage.is_alive:
                self._settle_puts()
        finally:
            seconds = self._seconds_left() or self._settings.graceful_timeout
            self._consumer.close(seconds, hands_over=self._is_replaced)

    def _close_after_failure(self) -> None:
        """Give the partitions back after a failure; what else fails then must not hide what failed first."""
        self._begin_end()
        try:
            self._close()
        except Exception as later:
            log.warning("while it was closed after a failure: %s", later)

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
        answer.add_done_callback(lambda _: self._inbox.wake())
        return answer

    def _result(self, answer: Future[R], op: str) -> R:
        """Wait for an answer of the stage, serving the inbox: a stop bounds even the wait for a task that hangs."""
        began = self._clock()
        give_up_at = began + self._settings.call_timeout
        while not answer.done():
            if (left := self._seconds_left()) is not None:
                give_up_at = min(give_up_at, self._clock() + left)
            if self._clock() >= give_up_at:
                error = self._stage.timed_out(op, give_up_at - began)
                self._stage.kill()  # the task hangs, and would do so again
                raise error
            for item in self._inbox.take(give_up_at - self._clock()):
                self._take(item)
        return self._stage.result(answer, op)

    # What others want -----------------------------------------------------------------------------------------

    def _serve_inbox(self, seconds: float = 0.0) -> None:
        for item in self._inbox.take(seconds):
            self._take(item)

    def _take(self, item: Item) -> None:
        if isinstance(item, Command):
            self._command(item)
        elif isinstance(item, ContextRequest):
            self._requests.add(item)
            if item.pause or item.resume:
                self._pause_and_resume()
        elif isinstance(item, MadeRecord):
            self._report_made(item)
        else:
            if isinstance(item, StageEnded) and item.stage is self._stage:
                self._settle_puts()  # one of them ended with it, and says of which records it was
            self._abandon_put()
            self._fail(item)

    def _report_made(self, made: MadeRecord) -> None:
        """Report a record that the task made, as it would have been read."""
        try:
            record = Consumed(self._pipeline.unread(made.report.record), 0)
        except ConnectError as error:
            made.request.fail(error)
        else:
            report_errant(self._tolerance, self._inbox, made.request, made.report.error, record)

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
            self._is_stopping, self._is_replaced = True, isinstance(command, Replace)
            self._begin_end()
            self._leave_out()
        elif isinstance(command, Pause) and not self._is_paused:
            self._is_paused = True
            self._pause_and_resume()
            self._leave_out()
            self._requests.commit = True
            self._observer.runs(is_paused=True)
        elif isinstance(command, Resume) and self._is_paused:
            self._is_paused = False
            self._pause_and_resume()
            self._observer.runs(is_paused=False)
        elif isinstance(command, ForgetTopics):
            self._observer.forget_topics()

    def _pause_and_resume(self) -> None:
        """Let flow what the operator and the task want to flow, and nothing while records are to be put again."""
        assigned = self._positions.assigned
        rests = assigned if self._is_holding else self._resting
        self._consumer.pause(rests)
        self._consumer.resume(assigned - rests)

    @property
    def _resting(self) -> set[TopicPartition]:
        """Return the partitions of which the operator or the task wants nothing for now."""
        assigned = self._positions.assigned
        return assigned if self._is_paused else assigned & self._requests.paused

"""The loop of a source task."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hearth.isolation.stage import Stage
from hearth.kafka.producer import Producer
from hearth.link.link_call import ENDS, Command, ForgetTopics, Pause, Resume
from hearth.runtime.conversion import Conversion
from hearth.runtime.event_queue import EventQueue, Item, StageEnded
from hearth.runtime.guarantee import AtLeastOnce, Guarantee
from hearth.runtime.link import HostLost, TaskLink
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Pipeline, Prepared
from hearth.runtime.plan import TaskPlan
from hearth.runtime.polled_record import PolledRecord
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.served_call import ServedCalls
from hearth.staging.poll_watch import PollWatch
from hearth.staging.source_stage import HandedOver
from hearth.staging.tolerance import Tolerance, ToleranceExceeded
from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.order import rows_before
from hearth_stage.task_call import (
    AddCredit,
    CommitRecords,
    CommitSource,
    EndTransaction,
    HoldPolling,
    Polled,
    ResumePolling,
    SourceStarted,
    StopSource,
)

if TYPE_CHECKING:
    from hearth.kafka.transactional_producer import TransactionalProducer
    from hearth.runtime.topic import TopicCreation  # with confluent-kafka's own clients: 6 MB

log = logging.getLogger(__name__)

JOINED_ROWS = 4000
"""Rows that are processed together if they wait: the overhead of a batch equals a few hundred rows."""
LARGER = 3
"""Factor for quick rows: a batch costs 1 ms, in stages 2 ms, however few rows it has."""

IDLE_SECONDS = 60.0
"""Longest wait in seconds without events: all events end the wait."""
FULL_WAIT_SECONDS = 0.05

EARLY_BYTES = 4 << 20
"""While the batches being converted hold no more than this, the stage need not wait for them."""


@dataclass
class _End:
    """Marks the end of one hand-over, and whether the stage got its credit."""

    has_credit: bool = False


@dataclass(frozen=True)
class _Converted:
    """A poll that is being or was converted; the first one matches the next result of the conversion."""

    polled: Polled
    memory: int


class SourceLoop:
    """Runs one source task between its started stage and the producer, which it closes.

    Requests of other threads arrive in the event queue; everything else happens on the thread that calls ``execute``.
    """

    def __init__(
        self,
        plan: TaskPlan,
        *,
        is_paused: bool,
        event_queue: EventQueue,
        observer: TaskObserver,
        link: TaskLink,
        tolerance: Tolerance,
        stage: Stage,
        pipeline: Pipeline,
        conversion: Conversion[Prepared],
        producer: Producer,
        topics: TopicCreation | None,
        started: SourceStarted,
        joined_rows: int = JOINED_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._joined_rows = joined_rows
        self._plan, self._settings, self._clock = plan, plan.settings, clock
        self._event_queue, self._observer, self._link, self._tolerance = event_queue, observer, link, tolerance
        self._stage, self._pipeline, self._conversion, self._producer = stage, pipeline, conversion, producer
        self._wants_commits = started.wants_commits
        self._waiting: deque[Any] = deque()
        """Messages of the stage in order."""
        self._begun: deque[Any] = deque()
        """Earlier messages, whose records are being converted."""
        tell = (lambda records: self._guarantee.tell(records)) if started.wants_records else None
        self._transaction = None if plan.source is None else plan.source.transaction
        is_atomic = self._transaction is not None
        self._send_buffer = SendBuffer(producer, topics, observer, tolerance, tell, is_atomic=is_atomic)
        self._guarantee: Guarantee = self._guaranteed()
        self._watch = PollWatch(stage, plan.settings.call_timeout, clock)
        self._calls = ServedCalls(stage, event_queue, self._take, plan.settings, clock)
        self._hold: Future[None] | None = None
        self._is_paused = is_paused

    def _guaranteed(self) -> Guarantee:
        if self._transaction is None:
            return AtLeastOnce(
                self._link, self._send_buffer, self._producer,
                event_queue=self._event_queue, observer=self._observer, settings=self._settings,
                tell=self._tell_done, tell_commit=self._tell_commit if self._wants_commits else None,
                clock=self._clock,
            )  # fmt: skip
        from hearth.runtime.exactly_once import ExactlyOnce  # loads modules that only transactions need

        return ExactlyOnce(
            self._plan, self._transaction, self._send_buffer, cast("TransactionalProducer", self._producer),
            observer=self._observer, tell=self._tell_done, tell_commit=self._tell_commit,
            is_calm=lambda: self._has_heard_all and self._event_queue.is_empty, wake=self._event_queue.wake,
            clock=self._clock,
        )  # fmt: skip

    def execute(self) -> None:
        """Take, transform, send and commit until told to stop, then drain.

        The order of the calls is the guarantee: a position is committed only when every record up to it was
        acknowledged, so a crash on any line repeats records and never loses one (invariants 1, 2 and 8). However the
        loop ends, its producer is closed before the task's end is reported: what was not acknowledged by then is not
        sent later, when another run may have started (invariant 4).
        """
        try:
            while self.turn():
                pass
        finally:
            self._producer.close()
        self._stop_task()

    def turn(self) -> bool:
        """Do one round; return whether there will be more, raise what ends the task.

        Nothing in here waits longer than one call of a plugin or of the store may take.
        """
        try:
            if self._is_drained():
                self._guarantee.finish()
                return False
            self._work()
            return True
        except HostLost:
            self._producer.close()  # another run may have started, so this one stores nothing more
            raise
        except Exception as error:
            self._guarantee.save()
            if (reason := self._guarantee.reason(error)) is not error:
                raise reason from error
            raise

    def _work(self) -> None:
        self._calls.serve()
        self._send()
        self._advance()
        self._await_answers()
        self._guarantee.step()
        self._watch.step()

    # Events ---------------------------------------------------------------------------------------------------

    def _take(self, item: Item) -> None:
        """Process an event.

        A command and the loss of the host apply at once, even while records wait to be sent; messages of the stage
        keep their order.
        """
        if isinstance(item, HandedOver):
            self._waiting += [*item.polled, _End()]
        elif isinstance(item, HostLost):
            raise item
        elif isinstance(item, Command):
            self._command(item)
        else:
            self._waiting.append(item)

    def _await_answers(self) -> None:
        """Process delivery reports; if there is nothing else to do, wait for one or for an event."""
        with self._event_queue.fetched(self._producer.wake):
            self._send_buffer.collect(math.ceil(self._wait_seconds() * 1000))

    def _wait_seconds(self) -> float:
        """Return how many seconds the loop may wait for an event."""
        if self._send_buffer.is_blocked:
            return FULL_WAIT_SECONDS
        if (self._is_next_due and self._guarantee.may_take) or self._is_drained():
            return 0.0
        now = self._clock()
        return max(0.0, min(now + IDLE_SECONDS, self._guarantee.due, self._watch.due, self._calls.end_by) - now)

    def _command(self, command: Command) -> None:
        if isinstance(command, ENDS) and self._hold is None:
            self._calls.begin_end()
            self._guarantee.rest(is_resting=True)
            self._hold = self._calls.begin(HoldPolling())
        elif isinstance(command, Pause) and not self._is_paused:
            self._is_paused = True
            self._guarantee.rest(is_resting=True)
            self._stage.notify(HoldPolling())
            self._observer.runs(is_paused=True)
        elif isinstance(command, Resume) and self._is_paused:
            self._is_paused = False
            if self._hold is None:
                self._guarantee.rest(is_resting=False)
                self._stage.notify(ResumePolling())
            self._observer.runs(is_paused=False)
        elif isinstance(command, ForgetTopics):
            self._observer.forget_topics()
            self._send_buffer.forget_topics()

    # Sending --------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        if self._guarantee.may_send:
            self._send_buffer.send()

    def _advance(self) -> None:
        """Process the stage's next message once everything before it is sent, and give credit.

        Records after it are converted meanwhile, if stages do that.
        """
        if self._send_buffer.is_blocked or not self._guarantee.may_take:
            return
        self._convert_ahead()
        if self._is_next_due:
            self._deal_with(self._begun.popleft())
        if not self._send_buffer.is_blocked:
            self._give_credit()

    def _deal_with(self, item: Any) -> None:
        if isinstance(item, _Converted):
            self._hand_over(item.polled, self._conversion.take())
            self._guarantee.taken(is_whole=bool(self._begun) and isinstance(self._begun[0], _End))
            self._send()
        elif isinstance(item, EndTransaction):
            self._guarantee.end_transaction(aborts=item.aborts)
        elif isinstance(item, StageEnded):
            raise item.stage.died()
        elif isinstance(item, Exception):
            raise item
        else:
            self._begun.appendleft(item)

    def _convert_ahead(self) -> None:
        """Start to convert waiting polls, as far as there is capacity; a full batch only, if another is in progress.

        The stage gets credit first, because the conversion may block this thread.
        """
        while self._waiting and (not self._begun or self._pipeline.has_stages):
            if not isinstance(self._waiting[0], Polled):
                self._begun.append(self._waiting.popleft())
                self._take_ends()
            elif self._conversion.is_full or (self._conversion.is_busy and not self._is_much_waiting):
                return
            else:
                polled = self._joined(self._waiting.popleft())
                self._begun.append(_Converted(polled, polled.memory))
                self._take_ends()
                self._give_credit()
                self._convert(polled)

    def _take_ends(self) -> None:
        while self._waiting and isinstance(self._waiting[0], _End):
            self._begun.append(self._waiting.popleft())

    def _convert(self, polled: Polled) -> None:
        self._conversion.begin(
            polled.num_rows, lambda: self._pipeline.preparing(polled.results), lambda prepared: prepared()
        )

    @property
    def _is_much_waiting(self) -> bool:
        return sum(item.num_rows for item in self._waiting if isinstance(item, Polled)) >= self._joined_rows

    @property
    def _most_rows(self) -> int:
        """Return how many rows to process together: more while they are quick."""
        return max(self._joined_rows, min(LARGER * self._joined_rows, self._conversion.quick_rows))

    @property
    def _has_heard_all(self) -> bool:
        """Return whether all messages of the stage are processed."""
        return not self._waiting and not self._begun

    @property
    def _is_next_due(self) -> bool:
        """Return whether a message of the stage can be processed now."""
        if not self._begun:
            return bool(self._waiting)
        return not isinstance(self._begun[0], _Converted) or self._conversion.is_next_done

    def _give_credit(self) -> None:
        """Give the stage credit for finished hand-overs, in one message, because each wakes it."""
        due = [end for end in self._ends_not_waited_for() if not end.has_credit]
        for end in due:
            end.has_credit = True
        if due and self._stage.is_alive:
            self._stage.notify(AddCredit(len(due)))
        while self._begun and isinstance(self._begun[0], _End):
            self._begun.popleft()

    def _ends_not_waited_for(self) -> Iterator[_End]:
        """Yield the ends of hand-overs that are processed, or being converted while these are small.

        A stage that waited for the conversion would poll only when the converters have little left to do.
        """
        held = 0
        for item in self._begun:
            held += item.memory if isinstance(item, _Converted) else 0
            if held > EARLY_BYTES:
                return
            if isinstance(item, _End):
                yield item

    def _joined(self, polled: Polled) -> Polled:
        """Join a poll with those that wait, as if a single poll had returned all.

        A hand-over is joined whole or not at all, except the first: a transaction ends between two.
        """
        groups, end, count, rows, is_own = [polled.origins], 0, 1, polled.num_rows, True
        most = self._most_rows
        for place, item in enumerate(self._waiting, 1):
            if isinstance(item, _End):
                end, count, is_own = place, len(groups), False
                continue
            rows += item.num_rows if _may_join(polled, item) else most
            if rows > most:
                break
            groups.append(item.origins)
            if is_own:
                end, count = place, len(groups)
        if count == 1:
            return polled
        over = [self._waiting.popleft() for _ in range(end)]
        self._waiting.extendleft(item for item in over if isinstance(item, _End))
        return Polled.join(groups[:count])

    def _hand_over(self, polled: Polled, prepared: Prepared) -> None:
        """Submit a converted poll; a record that is dropped or skipped counts as done.

        If a record fails the task, those before it are sent first.
        """
        self._observer.polled(polled.num_rows)
        prepared.failures = [*polled.failures, *prepared.failures]
        prepared, end = self._judged(prepared, polled.origins)
        self._guarantee.admit(prepared)
        if end is None:
            self._send_buffer.submit(polled.origins, prepared)
            return
        self._send_buffer.submit(rows_before(polled.origins, end.failure.row), prepared)
        self._begun.appendleft(end)

    def _judged(self, prepared: Prepared, origins: Sequence[Batch]) -> tuple[Prepared, ToleranceExceeded | None]:
        """Return what may be sent, and the failure of the first row that fails the task."""
        record = partial(PolledRecord, origins)
        end = None
        if (last := prepared.end) is not None:
            end = self._tolerance.exceeded(last, record(last.row), last.error.message)
            prepared = prepared.before(last.row)
        if not prepared.failures:
            return prepared, end
        try:
            self._tolerance.judge(prepared.failures, record)
        except ToleranceExceeded as exceeded:
            end = exceeded
            prepared = prepared.before(end.failure.row)
        return prepared, end

    def _tell_done(self, records: list[list[Any]]) -> None:
        if self._stage.is_alive:
            self._stage.notify(CommitRecords(records))

    def _tell_commit(self) -> None:
        if self._wants_commits and self._stage.is_alive:
            self._stage.notify(CommitSource())

    # Stopping -------------------------------------------------------------------------------------------------

    def _is_drained(self) -> bool:
        """Return whether the stop is complete: everything polled is acknowledged, or its time is over."""
        if self._hold is None:
            return False
        if self._clock() >= self._calls.end_by:
            return True
        is_all_here = self._hold.done() and self._event_queue.is_empty and self._has_heard_all
        return is_all_here and self._send_buffer.is_empty and self._guarantee.is_settled

    def _stop_task(self) -> None:
        """Stop the task, unless its poll did not return in time: those records were never taken."""
        assert self._hold is not None
        if not self._hold.done():
            log.warning("the task is killed: its poll did not return in time")
            return
        try:
            self._stage.call(StopSource(), self._calls.seconds_left())
        except ConnectError as error:
            log.warning("the task stopped with an error: %s", error)


def _may_join(polled: Polled, item: Any) -> bool:
    """Return whether a message is a poll that may be joined with an earlier one."""
    return isinstance(item, Polled) and item.form == polled.form is not None

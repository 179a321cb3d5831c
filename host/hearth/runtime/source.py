"""The loop of a source task."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hearth.kafka.producer import Producer
from hearth.link.link_call import ENDS, Command, ForgetTopics, Pause, Resume
from hearth.runtime.event_queue import Item, StageEnded
from hearth.runtime.guarantee import AtLeastOnce, CommitCallbacks, Guarantee
from hearth.runtime.link import HostLost, TaskLink
from hearth.runtime.pipeline import Prepared
from hearth.runtime.plan import TaskPlan
from hearth.runtime.poll_queue import JOINED_ROWS, ConvertedPoll, PollQueue
from hearth.runtime.polled_record import PolledRecord
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.served_call import ServedCalls
from hearth.runtime.task_services import TaskServices
from hearth.staging.poll_watch import PollWatch
from hearth.staging.source_stage import HandedOver
from hearth.staging.tolerance import ToleranceExceeded
from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.order import rows_before
from hearth_stage.task_call import (
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

IDLE_SECONDS = 60.0
"""Longest wait in seconds without events: all events end the wait."""
FULL_WAIT_SECONDS = 0.05


class SourceLoop:
    """Runs one source task between its started stage and the producer, which it closes.

    Requests of other threads arrive in the event queue; everything else happens on the thread that calls ``execute``.
    """

    def __init__(
        self,
        plan: TaskPlan,
        services: TaskServices[Prepared],
        link: TaskLink,
        producer: Producer,
        topics: TopicCreation | None,
        started: SourceStarted,
        *,
        is_paused: bool,
        joined_rows: int = JOINED_ROWS,
    ) -> None:
        self._services, self._link, self._producer = services, link, producer
        self._event_queue, self._observer = services.event_queue, services.observer
        self._tolerance, self._stage, self._clock = services.tolerance, services.stage, services.clock
        self._polls = PollQueue(services, joined_rows)
        self._callbacks = CommitCallbacks(services.stage, started.wants_commits)
        confirm = (lambda records: self._guarantee.confirm(records)) if started.wants_records else None
        is_atomic = plan.source is not None and plan.source.transaction is not None
        self._send_buffer = SendBuffer(producer, topics, self._observer, self._tolerance, confirm, is_atomic=is_atomic)
        self._guarantee: Guarantee = self._guaranteed(plan)
        self._watch = PollWatch(services.stage, plan.settings.call_timeout, services.clock)
        self._calls = ServedCalls(services, self._take, plan.settings)
        self._hold: Future[None] | None = None
        self._is_paused = is_paused

    def _guaranteed(self, plan: TaskPlan) -> Guarantee:
        if plan.source is None or plan.source.transaction is None:
            return AtLeastOnce(plan, self._services, self._send_buffer, self._producer, self._callbacks, self._link)
        from hearth.runtime.exactly_once import ExactlyOnce  # loads modules that only transactions need

        producer = cast("TransactionalProducer", self._producer)
        return ExactlyOnce(
            plan, plan.source.transaction, self._services, self._send_buffer, producer, self._callbacks,
            is_calm=lambda: self._polls.is_empty and self._event_queue.is_empty,
        )  # fmt: skip

    def execute(self) -> None:
        """Take, transform, send and commit until stopped, then drain.

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
        if isinstance(item, HostLost):
            raise item
        if isinstance(item, Command):
            self._command(item)
        else:
            if isinstance(item, HandedOver):
                self._observer.poll_returned(item.times)
            self._polls.add(item)

    def _await_answers(self) -> None:
        """Process delivery reports; if there is nothing else to do, wait for one or for an event."""
        with self._event_queue.fetched(self._producer.wake):
            self._send_buffer.collect(math.ceil(self._wait_seconds() * 1000))

    def _wait_seconds(self) -> float:
        """Return how many seconds the loop may wait for an event."""
        if self._send_buffer.is_blocked:
            return FULL_WAIT_SECONDS
        if (self._polls.is_next_due and self._guarantee.may_take) or self._is_drained():
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
        self._polls.convert_ahead()
        if self._polls.is_next_due:
            self._process(self._polls.take())
        if not self._send_buffer.is_blocked:
            self._polls.give_credit()

    def _process(self, message: Any) -> None:
        if isinstance(message, ConvertedPoll):
            self._hand_over(message.polled, message.prepared)
            self._guarantee.taken(is_whole=self._polls.is_at_end)
            self._send()
        elif isinstance(message, EndTransaction):
            self._guarantee.end_transaction(aborts=message.aborts)
        elif isinstance(message, StageEnded):
            raise message.stage.died()
        elif isinstance(message, Exception):
            raise message

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
        self._polls.put_first(end)

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

    # Stopping -------------------------------------------------------------------------------------------------

    def _is_drained(self) -> bool:
        """Return whether the stop is complete: everything polled is acknowledged, or its time is over."""
        if self._hold is None:
            return False
        if self._clock() >= self._calls.end_by:
            return True
        is_all_here = self._hold.done() and self._event_queue.is_empty and self._polls.is_empty
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

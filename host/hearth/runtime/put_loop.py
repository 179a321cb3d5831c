"""Giving a sink task its records: one put is on its way, others follow it, and what was refused comes again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hearth.isolation.stage import Stage
from hearth.runtime.consumption import ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.conversion import Conversion
from hearth.runtime.delivery import Delivery, PutFailed, SentPut, SentPuts
from hearth.runtime.observer import TaskObserver
from hearth.runtime.partition_flow import PartitionFlow
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.plan import TaskPlan
from hearth.runtime.put_format import PutFormat
from hearth.runtime.served_call import ServedCalls
from hearth.staging.tolerance import Tolerance
from hearth_api import PluginError
from hearth_execution.failure import RemoteError, is_retriable
from hearth_stage.task_call import Put, PutDone, SkipPuts

IDLE_SECONDS = 3.0
"""How long at most a task is not told that nothing came; Java's tells it once in ``offset.flush.interval.ms``."""
HOLD_SECONDS = 1.0
"""What keeps records from being put for longer has all partitions rest; to let them flow again takes a fetch."""
FIRST_RETRY_SECONDS = 0.1
MOST_RETRY_SECONDS = 5.0


class PutLoop:
    """Hands over what was read to the task, and settles what it answers: the one place that gives records to it.

    Each put is accepted, refused or left out in ``ConsumedPositions``, which says what comes next.
    """

    def __init__(
        self,
        plan: TaskPlan,
        put_format: PutFormat,
        *,
        positions: ConsumedPositions,
        requests: ContextRequests,
        flow: PartitionFlow,
        tolerance: Tolerance,
        observer: TaskObserver,
        stage: Stage,
        calls: ServedCalls,
        conversion: Conversion[Delivery],
        pause_detector: PauseDetector,
        clock: Callable[[], float],
    ) -> None:
        self._plan, self._put_format, self._clock = plan, put_format, clock
        self._positions, self._requests, self._flow = positions, requests, flow
        self._tolerance, self._observer = tolerance, observer
        self._stage, self._calls, self._conversion = stage, calls, conversion
        self._pause_detector = pause_detector
        self._sent = SentPuts(put_format.takes_next)
        self._times_left_out = 0
        self._retry_at = 0.0
        self._stuck_since: float | None = None
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._next_put = clock() + IDLE_SECONDS

    def put(self) -> None:
        """Settle the put before, then hand over what comes next.

        With nothing to hand over the task is told that nothing came, from time to time. While it wants records again,
        or while more dead letters are under way than may be, or after a standstill, all partitions rest; group and
        operator are served all the same.
        What the task asked of its context in one put counts before the next: what was read ahead of a partition that
        it wants elsewhere, or not now, is not given to it. A record that could not be converted is reported when its
        turn has come, and skipped where that is tolerated; where it is not, what was put before it still counts.
        """
        if self._follow():
            return
        if self._is_held_up:
            self.settle_all()
        elif self._is_more_coming:
            return
        self._settle()
        if self._sent:
            self._follow()
            return
        self._flow.rewind_when_asked()
        self._hold_or_go_on()
        if self.is_waiting or self._calls.is_ending or self._pause_detector.look():
            return
        if not self._positions.is_any_due and self._clock() < self._next_put:
            return
        delivery = self._positions.hand_over(self._put_format.most)
        failures, delivery.failures = delivery.failures, []
        self._tolerance.judge(failures, delivery.record)
        self._observer.put(delivery.count, delivery.topics)
        self._send(delivery)
        if not delivery.batches:
            self._settle()

    def due(self, now: float) -> float | None:
        """Return when the task is to be given something, or told that nothing came, whatever is read until then."""
        if not self._sent and not self._positions.is_refused:
            self._note_timeout(now)
        if self._tolerance.is_full:
            return None
        return self._retry_at if self._positions.is_refused else self._next_put

    def _follow(self) -> bool:
        """Send what comes next behind the puts that are under way, so that the stage need not wait for it.

        It is not given to the task if that refuses what it has, or says anything that was not heard by now. Whatever
        has to be done between two puts, or needs a look at their records, is done when none is under way.
        """
        heard = self._tolerance.heard + self._times_left_out
        self._calls.serve()
        self._hold_or_go_on()
        delivery = self._positions.next
        if delivery is None or not delivery.read or not self._sent.may_be_followed or self._is_held_up:
            return False
        count = self._sent.most_to_follow(delivery, self._put_format.most, is_tolerant=self._tolerance.is_all)
        if count == 0:
            return False
        self._send(self._positions.hand_over(count), heard + self._requests.heard)
        return True

    @property
    def is_waiting(self) -> bool:
        """Return whether nothing may be put for now, though there may be something to put."""
        return self._tolerance.is_full or (self._positions.is_refused and self._clock() < self._retry_at)

    @property
    def _is_more_coming(self) -> bool:
        """Return whether the end of a put can be waited for later: something to hand over is being converted."""
        return bool(self._sent) and not self._positions.is_ahead and self._conversion.is_busy

    @property
    def _is_held_up(self) -> bool:
        """Return whether something has to be done before the task is given more."""
        is_asked = bool(self._requests.rewind or self._flow.resting) or self._requests.commit
        is_stuck = self._pause_detector.look() or self._is_stuck or self._flow.is_holding
        return is_stuck or is_asked or self._calls.is_ending

    @property
    def _is_stuck(self) -> bool:
        return self._positions.is_refused or self._tolerance.is_full

    def _hold_or_go_on(self) -> None:
        """Have all partitions rest where nothing is put for long."""
        self._tolerance.settle(0)  # raises when a dead letter was refused
        now = self._clock()
        if not self._is_stuck:
            self._stuck_since = None
        elif self._stuck_since is None:
            self._stuck_since = now
        is_long = self._stuck_since is not None and max(now, self._retry_at) - self._stuck_since > HOLD_SECONDS
        self._flow.hold(is_long or self._pause_detector.is_open)

    def _send(self, delivery: Delivery, heard: int | None = None) -> None:
        self._next_put = self._clock() + IDLE_SECONDS
        wanted, is_reporting = self._put_format, self._tolerance.is_reporting
        put = delivery.to_put(wanted.columns, wanted.most, are_consumed_wanted=is_reporting, heard=heard)
        self._sent.add(SentPut(delivery, self._calls.begin(put), heard is not None))

    # What became of puts --------------------------------------------------------------------------------------

    def skip_puts(self) -> None:
        """Have the task not be given what waits in the stage behind the put that it is at.

        Both sides count that as something it said, so what was sent before and has not begun does not count.
        """
        if self._sent.is_more_than_one:
            self._times_left_out += 1
            with suppress(PluginError):  # that the stage is gone is told by the puts
                self._stage.notify(SkipPuts())

    def settle_all(self) -> None:
        """Wait until nothing is being put: for one that the task has been given, not for those that wait behind it."""
        self.skip_puts()
        while self._sent:
            self._settle()

    def abandon(self) -> None:
        """Count what is being put as not done, whatever becomes of it; what was to follow is not given to the task."""
        if self._sent:
            self._sent.forget()
            self._positions.refuse()

    def _settle(self) -> None:
        """Wait until what was sent first was answered, and note it as done, as wanted again or as not given.

        Of several puts some may be done, and the one behind them wanted again; the rest was not given.
        """
        if not self._sent:
            return
        sent, most = self._sent.first, self._put_format.most
        try:
            done = self._done(sent)
            failures = done.failures
            if done.taken:
                failures = [*self._positions.accept(done.taken * most).failures, *failures]
            self._tolerance.judge(failures, sent.delivery.record)
            if done.error is not None:
                raise done.error.to_error()
        except Exception as error:
            refused = self._refused(sent, most if isinstance(error, RemoteError) else sent.delivery.read)
            if is_retriable(error):
                self._retry_later(refused, error)
            elif isinstance(error, PluginError):
                raise PutFailed(error, self._plan.connector_class, refused) from error
            else:
                raise
            return
        if done.begun * most >= sent.delivery.read:
            self._sent.settle(done.seconds / done.begun)
        else:
            self._sent.forget()  # what was to follow it is left out as well
            self._positions.take_back()
        if done.begun:
            self._retry_seconds = FIRST_RETRY_SECONDS
            self._note_timeout(self._clock())

    def _note_timeout(self, now: float) -> None:
        """Note when the task wants to be given something; in a put that it refuses it means that one."""
        if (timeout := self._requests.take_timeout()) is not None:
            self._next_put = min(self._next_put, now + timeout)

    def _done(self, sent: SentPut) -> PutDone:
        """Wait for the answer to puts, and hear first what the task said before it.

        Those that were to follow another are counted when it is known that they have begun.
        """
        begun = sent.delivery
        try:
            self._calls.wait(sent.answer, Put.op)
            self._calls.serve()
            try:
                done = self._calls.result(sent.answer, Put.op)
            except RemoteError as error:
                done = PutDone(0, error=error.info)
            begun = sent.delivery.split(done.begun * self._put_format.most)[0] if done.begun else Delivery()
            return done
        finally:
            if sent.follows:
                self._observer.put(begun.count, begun.topics)

    def _refused(self, sent: SentPut, count: int) -> Delivery:
        """Have the task be given again what so many read records became, unless all was abandoned meanwhile."""
        if not self._sent:
            return sent.delivery
        self._sent.forget()
        return self._positions.refuse(count)

    def _retry_later(self, delivery: Delivery, error: Exception) -> None:
        self._observer.put_again(delivery.count, error)
        timeout = self._requests.take_timeout()
        wait = self._retry_seconds if timeout is None else timeout
        self._retry_seconds = min(self._retry_seconds * 2, MOST_RETRY_SECONDS)
        self._retry_at = self._clock() + wait

"""Delivers records to a sink task: pipelines puts and retries refused ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from hearth.runtime.consumption import ConsumedPositions
from hearth.runtime.context_request import ContextRequests
from hearth.runtime.delivery import Delivery, PutFailed, SentPut, SentPuts
from hearth.runtime.partition_flow import PartitionFlow
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.plan import TaskPlan
from hearth.runtime.put_format import PutFormat
from hearth.runtime.served_call import ServedCalls
from hearth.runtime.task_services import TaskServices
from hearth_api import PluginError
from hearth_execution.failure import RemoteError, is_retriable
from hearth_stage.task_call import Put, PutDone, SkipPuts

IDLE_SECONDS = 3.0
"""Most seconds between puts; without records the put is empty. Java sends one per ``offset.flush.interval.ms``."""
HOLD_SECONDS = 1.0
"""All partitions are paused when puts are blocked for longer than this: resuming them costs a fetch."""
FIRST_RETRY_SECONDS = 0.1
MOST_RETRY_SECONDS = 5.0


@dataclass(frozen=True)
class SinkState:
    """State of a sink task that its loop and its put loop share."""

    positions: ConsumedPositions
    requests: ContextRequests
    flow: PartitionFlow


class PutLoop:
    """Puts read records to the task and settles its answers. Nothing else gives it records.

    Each put is accepted, refused or skipped in ``ConsumedPositions``, which decides what comes next.
    """

    def __init__(
        self,
        plan: TaskPlan,
        services: TaskServices[Delivery],
        put_format: PutFormat,
        state: SinkState,
        calls: ServedCalls,
        pause_detector: PauseDetector,
    ) -> None:
        self._plan, self._put_format, self._calls, self._pause_detector = plan, put_format, calls, pause_detector
        self._positions, self._requests, self._flow = state.positions, state.requests, state.flow
        self._tolerance, self._observer = services.tolerance, services.observer
        self._conversion, self._clock = services.conversion, services.clock
        self._sent = SentPuts(put_format.takes_next)
        self._times_skipped = 0
        self._retry_at = 0.0
        self._stuck_since: float | None = None
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._next_put = self._clock() + IDLE_SECONDS

    def put(self) -> None:
        """Settle the previous put, then send the next.

        Without records the task gets an empty put from time to time. While a refused put waits for its retry, too many
        dead letters are in flight, or the run must be confirmed after a suspension, all partitions are paused; the
        group and the operator are still served. What the task requested of its context in one put applies before the
        next: records read ahead of a partition that it seeks or pauses are not put. A record that could not be
        converted is reported in its turn, and skipped where that is tolerated; otherwise the task fails, and the puts
        before it still count.
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
        """Return when the next put is due, with or without records; ``None`` while dead letters block."""
        if not self._sent and not self._positions.is_refused:
            self._note_timeout(now)
        if self._tolerance.is_full:
            return None
        return self._retry_at if self._positions.is_refused else self._next_put

    def _follow(self) -> bool:
        """Send the next put while others are in progress, so that the stage need not wait for it.

        The stage skips it if the task refuses an earlier put, or makes a request that was not known when it was sent.
        Anything that has to happen between two puts, or depends on their records, is done when none is in progress.
        """
        heard = self._tolerance.heard + self._times_skipped
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
        """Return whether no put is allowed now, even if records are ready."""
        return self._tolerance.is_full or (self._positions.is_refused and self._clock() < self._retry_at)

    @property
    def _is_more_coming(self) -> bool:
        """Return whether to settle later, because records are still being converted."""
        return bool(self._sent) and not self._positions.is_ahead and self._conversion.is_busy

    @property
    def _is_held_up(self) -> bool:
        """Return whether something has to happen before the next put."""
        is_asked = bool(self._requests.rewind or self._flow.resting) or self._requests.commit
        is_stuck = self._pause_detector.look() or self._is_stuck or self._flow.is_holding
        return is_stuck or is_asked or self._calls.is_ending

    @property
    def _is_stuck(self) -> bool:
        return self._positions.is_refused or self._tolerance.is_full

    def _hold_or_go_on(self) -> None:
        """Pause all partitions if puts are blocked for long, and resume them after that."""
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

    # Results of puts ------------------------------------------------------------------------------------------

    def skip_puts(self) -> None:
        """Make the stage skip the puts that wait for the current one.

        Both sides count this as a request of the task, so puts sent before it and not started are skipped.
        """
        if self._sent.is_more_than_one:
            self._times_skipped += 1
            with suppress(PluginError):  # the puts report that the stage is gone
                self._calls.notify(SkipPuts())

    def settle_all(self) -> None:
        """Wait until no put is in progress; skip those that wait for the current one."""
        self.skip_puts()
        while self._sent:
            self._settle()

    def abandon(self) -> None:
        """Count puts in progress as not done, whatever their result."""
        if self._sent:
            self._sent.forget()
            self._positions.refuse()

    def _settle(self) -> None:
        """Wait for the answer to the first call, and mark its puts as accepted, refused or skipped.

        Of several puts the first ones may be accepted and the next refused; the rest were skipped.
        """
        if not self._sent:
            return
        sent, most = self._sent.first, self._put_format.most
        try:
            done = self._done(sent)
            failures = done.failures
            if done.taken:
                accepted = self._positions.accept(done.taken * most)
                share = done.taken / done.begun
                self._observer.put_returned(done.taken, accepted.count, done.seconds * share, done.longest)
                failures = [*accepted.failures, *failures]
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
            self._sent.forget()  # those that follow it are skipped as well
            self._positions.take_back()
        if done.begun:
            self._retry_seconds = FIRST_RETRY_SECONDS
            self._note_timeout(self._clock())

    def _note_timeout(self, now: float) -> None:
        """Apply the delay that the task requested; in a refused put it applies to the retry."""
        if (timeout := self._requests.take_timeout()) is not None:
            self._next_put = min(self._next_put, now + timeout)

    def _done(self, sent: SentPut) -> PutDone:
        """Wait for the answer to puts, after handling the requests that the task made before it.

        Puts that followed others are counted once it is known that they started.
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
        """Mark the part made from ``count`` read records for a retry, unless the puts were abandoned meanwhile."""
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

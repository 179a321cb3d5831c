"""Exactly-once sources: records and their source offsets in one transaction (KIP-618)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pyarrow as pa

from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import ERR_FENCED, ERR_INVALID_PRODUCER_EPOCH, ERR_PRODUCER_FENCED
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.transactional_producer import TransactionalProducer
from hearth.runtime.guarantee import WAIT_MS, CommitCallbacks, Guarantee
from hearth.runtime.pipeline import Prepared
from hearth.runtime.plan import TaskPlan, TransactionPlan
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.task_services import TaskServices
from hearth.storage.offset_record import offset_key, offset_value
from hearth_api import ConnectError, TransactionBoundary

log = logging.getLogger(__name__)

COMMIT_SHARE = 8
"""A transaction lasts this many times as long as the previous commit, while more records wait."""
LONGEST_SECONDS = 1.0
"""Consumers that read committed records see those of a poll within this time, whatever waits."""

_COMMIT, _ABORT = "commit", "abort"
_FENCED = (ERR_FENCED, ERR_INVALID_PRODUCER_EPOCH, ERR_PRODUCER_FENCED)


class TransactionExpired(ConnectError):
    """The task's producer may not write any more: its transaction expired, or another run of the task started."""

    code = "task.transaction"

    def __init__(self, task: str) -> None:
        super().__init__(
            f"the transaction of task {task} expired before it was committed, or another run of the task has started",
            hint="set producer.override.transaction.timeout.ms to more than a transaction takes, or make transactions "
            "shorter: transaction.boundary=poll, or a shorter transaction.boundary.interval.ms",
        )


class ExactlyOnce(Guarantee):
    """Commits a transaction at each boundary, with the offsets of everything polled in it (invariants 1, 2).

    A boundary lies between polls, or where the task requests it. With ``poll`` a transaction ends after each poll. If
    other polls already wait, they join it for a while, because a commit takes longer than a poll. Nothing is sent
    during a commit; what was polled meanwhile is prepared.
    """

    def __init__(
        self,
        plan: TaskPlan,
        transaction: TransactionPlan,
        services: TaskServices[Prepared],
        send_buffer: SendBuffer,
        producer: TransactionalProducer,
        callbacks: CommitCallbacks,
        *,
        is_calm: Callable[[], bool],
    ) -> None:
        """``is_calm``: no polled records wait."""
        self._plan, self._transaction = plan, transaction
        self._send_buffer, self._producer, self._callbacks = send_buffer, producer, callbacks
        self._observer, self._clock, self._wake = services.observer, services.clock, services.event_queue.wake
        self._is_calm = is_calm
        self._has_taken = self._is_whole = self._is_resting = False
        self._ending: str | None = None
        self._commit: Future[None] | None = None
        self._done: list[list[Any]] = []
        self._begin = self._commit_begin = self._clock()
        self._commit_seconds = 0.0
        self._next = self._clock() + transaction.interval

    @property
    def may_take(self) -> bool:  # type: ignore[override]
        """Return whether the next poll belongs to this transaction, or may be prepared for the next."""
        return self._ending is None

    @property
    def may_send(self) -> bool:  # type: ignore[override]
        """Return whether no commit is in progress."""
        return self._commit is None

    @property
    def is_settled(self) -> bool:  # type: ignore[override]
        """Return whether no transaction has to end. One without a boundary is aborted when the producer closes."""
        is_due = self._has_taken and not self._transaction.is_bound_by_task
        return self._commit is None and self._ending is None and not is_due

    @property
    def due(self) -> float:  # type: ignore[override]
        """Return when to end the transaction or check its commit; infinite while that waits for the broker."""
        if self._commit is not None:
            return -math.inf if self._commit.done() else math.inf
        if self._ending is not None or self._is_due():
            return -math.inf if self._send_buffer.is_empty else math.inf
        return self._next if self._has_taken and self._is_timed else math.inf

    def admit(self, prepared: Prepared) -> None:
        """Refuse records for the task's own offsets topic: its readers would wait for their transaction."""
        topics = [topic for outgoing, _ in prepared.outgoing for topic, _, _ in outgoing.by_topic]
        if not set(topics).isdisjoint(self._transaction.topics):
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled",
                hint="write to another topic, or set offsets.storage.topic to another one",
            )

    def taken(self, *, is_whole: bool) -> None:
        """Add records to the transaction."""
        if not self._has_taken:
            self._has_taken, self._begin = True, self._clock()
        self._is_whole = is_whole

    def rest(self, *, is_resting: bool) -> None:
        """Keep no transaction open while the task is not polled: it would expire."""
        self._is_resting = is_resting

    def end_transaction(self, *, aborts: bool) -> None:
        """End the transaction after the records taken so far."""
        self._ending = _ABORT if aborts else _COMMIT

    def confirm(self, records: list[list[Any]]) -> None:
        """Keep the records until the transaction is committed."""
        self._done += records

    def step(self) -> None:
        """End the transaction when that is due and all its records are acknowledged; check a running commit."""
        if self._commit is not None:
            if not self._commit.done():
                return
            self._conclude(self._commit)
        if self._ending is None and self._is_due():
            self._ending = _COMMIT
        if self._ending is not None and self._send_buffer.is_empty:
            self._end()

    def finish(self) -> None:
        """Abort a transaction that has not reached its boundary: its records are read again."""
        self._producer.close()

    def save(self) -> None:
        """Wait for a commit in progress, and abort everything else."""
        commit, deadline = self._commit, self._clock() + self._plan.settings.flush_timeout
        with suppress(Exception):
            while commit is not None and not commit.done() and self._clock() < deadline:
                self._producer.poll(WAIT_MS)
            if commit is not None and commit.done():
                self._conclude(commit)
        self._producer.close()

    def reason(self, error: Exception) -> Exception:
        """Return ``TransactionExpired`` if the producer was fenced, else the error."""
        is_fenced = isinstance(error, KafkaError) and error.number in _FENCED
        return TransactionExpired(self._plan.name) if is_fenced else error

    @property
    def _is_timed(self) -> bool:
        return self._transaction.boundary == TransactionBoundary.INTERVAL

    def _is_due(self) -> bool:
        """Return whether the transaction should end here, between two polls."""
        if not (self._has_taken and self._is_whole) or self._transaction.is_bound_by_task:
            return False
        if self._is_timed:
            return self._clock() >= self._next or (self._is_resting and self._is_calm())
        together = min(COMMIT_SHARE * self._commit_seconds, LONGEST_SECONDS)
        return self._is_calm() or self._clock() - self._begin >= together

    def _end(self) -> None:
        """Commit what was taken, or only its offsets if the task aborts the transaction."""
        ending, self._ending, self._has_taken = self._ending, None, False
        self._next = self._clock() + self._transaction.interval
        if ending == _ABORT and not self._producer.is_open:
            log.warning("the task requested the abort of a transaction that has no records")
        elif ending == _ABORT:
            log.info("the transaction is aborted, as the task requested")
            self._producer.abort()
            self._observer.transaction_ended(is_committed=False)
        if offsets := self._send_buffer.positions.committable():
            self._producer.send_offsets(self._rows(offsets))
        self._commit_begin = self._clock()
        if self._producer.is_open:
            self._observer.commit_begun()
            self._commit = self._producer.commit(self._wake)
        else:
            self._confirm_all()

    def _conclude(self, commit: Future[None]) -> None:
        self._commit = None
        commit.result()
        self._commit_seconds = self._clock() - self._commit_begin
        self._observer.committed(self._commit_seconds)
        self._observer.transaction_ended(is_committed=True)
        self._confirm_all()

    def _confirm_all(self) -> None:
        if self._done:
            self._callbacks.records(self._done)
            self._done = []
        self._callbacks.commit()

    def _rows(self, offsets: Sequence[tuple[Any, Any]]) -> list[Outgoing]:
        keys = pa.array([offset_key(self._plan.connector, partition) for partition, _ in offsets], pa.binary())
        values = pa.array([offset_value(offset) for _, offset in offsets], pa.binary())
        return [Outgoing(topic, values, keys) for topic in self._transaction.topics]

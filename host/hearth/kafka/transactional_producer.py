"""A transactional producer: rows and their source offsets become visible together, or not at all.

See KIP-98 and KIP-618.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from hearth.kafka.interceptor import can_write_zero
from hearth.kafka.kafka_error import KafkaError, fatal_error
from hearth.kafka.library import ERR_FATAL, ERR_STATE, ERR_TIMED_OUT
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import DeliveryReport, Producer

SLICE_MS = 500
"""Milliseconds of one transaction request, after which it is abandoned or repeated."""
ABORT_SECONDS = 2.0
"""Timeout of an abort in seconds; brokers abort the transaction of a vanished producer after its timeout."""

_PAUSE_SECONDS = 0.05
_SERVED_MS = 20
_NO_NUMBER = -1


class TransactionFailed(KafkaError):
    """A transaction request failed; ``is_retriable`` says whether it may be repeated."""

    def __init__(self, number: int, reason: str | None, *, is_retriable: bool = False) -> None:
        super().__init__(number, reason)
        self.is_retriable = is_retriable


class TransactionalProducer(Producer):
    """A producer with a ``transactional.id``, which sends nothing outside a transaction.

    A transaction starts with the first row sent after the end of the previous one. During a commit, which runs on
    another thread, nothing may be sent, and ``poll`` must be called. All methods but ``wake`` are called by one
    thread.
    """

    def __init__(self, config: dict[str, str]) -> None:
        self.is_open = False
        """Whether a transaction is neither committed nor aborted."""
        self._is_claimed = False
        self._is_given_up = False
        self._ends = ThreadPoolExecutor(1, thread_name_prefix="transaction")
        self._offsets: Sequence[Outgoing] = ()
        super().__init__(config)

    def claim(self, is_over: Callable[[], bool]) -> None:
        """Initialize the transactional id: abort an earlier producer's open transaction, and fence it.

        Retries without limit, unless ``is_over``; raises ``TransactionFailed``.
        """
        self._repeat("init_transactions", is_over)
        self._is_claimed = True

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Send all rows in the current or a new transaction; raises if that cannot be committed."""
        if not self.is_open:
            self._begin(outgoing)
        refused = super().send(outgoing, sequence)
        if refused is not None and np.isin(refused.error, (ERR_STATE, ERR_FATAL)).any():
            self._ask("commit_transaction", 0)  # raises the reason
        return refused

    def send_offsets(self, offsets: Sequence[Outgoing]) -> None:
        """Send rows without delivery reports: the commit fails if one of them does."""
        if not self.is_open:
            self._begin(offsets[0])
        self._offsets = offsets
        for outgoing in offsets:
            self.send(outgoing, np.full(len(outgoing.value), _NO_NUMBER))

    def poll(self, wait_ms: int) -> list[DeliveryReport]:
        """Return the delivery reports of numbered rows."""
        found = super().poll(wait_ms)
        if found and self.in_flight == 0 and not any(each.error.any() for each in found):
            self._met.update(self._topics)
        return found if not self._offsets else [each for each in map(_numbered, found) if len(each.sequence)]

    def commit(self, on_end: Callable[[], None]) -> Future[None]:
        """Commit what was sent; ``on_end`` is called, on another thread, when the result is known.

        The future may raise ``TransactionFailed``. ``poll`` must be called meanwhile.
        """
        commit = self._ends.submit(self._end, "commit_transaction", lambda: self._is_given_up, SLICE_MS)
        commit.add_done_callback(lambda _: on_end())
        return commit

    def abort(self) -> None:
        """Abort the transaction; raises ``TransactionFailed``."""
        deadline = time.monotonic() + ABORT_SECONDS

        def is_over() -> bool:
            with contextlib.suppress(KafkaError):
                super(TransactionalProducer, self).poll(0)  # the abort waits for reports of dropped rows
            return time.monotonic() >= deadline

        self._end("abort_transaction", is_over, _SERVED_MS)

    def close(self) -> None:
        """Abort an open transaction, and free the client; a commit in progress is abandoned."""
        self._is_given_up = True
        self._ends.shutdown()
        if self._client is not None and self.is_open:
            with contextlib.suppress(KafkaError):
                self.abort()
        super().close()

    def _begin(self, outgoing: Outgoing) -> None:
        self._adapt(outgoing)
        if not self._is_claimed:
            self.claim(lambda: self._is_given_up)
        self._ask("begin_transaction")
        self.is_open, self._offsets = True, ()

    def _open(self) -> None:
        self._is_claimed = False
        self._met: set[str] = set()  # topics whose partitions the client knows, because it has written to them
        super()._open()

    def _send_batch(self, outgoing: Outgoing, sequence: Any) -> Any:
        """Send rows one by one if they have partitions of a topic that the client may not know yet.

        Rows of a batch would wait in a partition without a number, which librdkafka also adds to its transaction: the
        broker refuses that, and the transaction fails.
        """
        if outgoing.partition is None or outgoing.topic in self._met:
            return super()._send_batch(outgoing, sequence)
        return self._send_rows(outgoing, sequence)

    def _adapt(self, outgoing: Outgoing) -> None:
        if not self.is_open:
            super()._adapt(outgoing)

    def _must_write_zero(self, outgoing: Outgoing) -> bool:
        """Return whether another client is needed; that is impossible in a transaction, so any timestamps count."""
        return not (self._writes_zero or self.is_open or outgoing.timestamp is None) and can_write_zero()

    def _end(self, request: str, is_over: Callable[[], bool], slice_ms: int) -> None:
        self._repeat(request, is_over, slice_ms)
        self.is_open = False

    def _repeat(self, request: str, is_over: Callable[[], bool], slice_ms: int = SLICE_MS) -> None:
        """Repeat a request until it succeeds, fails permanently, or ``is_over``."""
        while True:
            try:
                return self._ask(request, slice_ms)
            except TransactionFailed as failed:
                if not failed.is_retriable or is_over():
                    raise
                if failed.number != ERR_TIMED_OUT:
                    time.sleep(_PAUSE_SECONDS)

    def _ask(self, request: str, *arguments: int) -> None:
        error = getattr(self._library, request)(self._client, *arguments)
        if not error:
            return
        number, text = self._library.error_code(error), self._library.error_string(error).decode(errors="replace")
        is_fatal, is_retriable = self._library.error_is_fatal(error), self._library.error_is_retriable(error)
        self._library.error_destroy(error)
        if is_fatal:
            cause = fatal_error(self._client, number, text)
            raise TransactionFailed(cause.number, str(cause))
        raise TransactionFailed(number, text, is_retriable=bool(is_retriable))


def _numbered(report: DeliveryReport) -> DeliveryReport:
    """Return the report of numbered rows only."""
    kept = report.sequence != _NO_NUMBER
    if kept.all():
        return report
    columns = ("sequence", "error", "partition", "offset", "timestamp")
    found = {name: getattr(report, name) for name in columns}
    return replace(report, **{name: column[kept] for name, column in found.items() if column is not None})

"""A producer whose rows are read together with the offsets they were read up to, or not at all (KIP-98, KIP-618)."""

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
"""So long a thread is inside a request for a transaction, which then may be given up or is asked for again."""
ABORT_SECONDS = 2.0
"""How long an abort may take; brokers end the transaction of a producer that is gone when its time is over."""

_PAUSE_SECONDS = 0.05
_SERVED_MS = 20
_NO_NUMBER = -1


class TransactionFailed(KafkaError):
    """A request for a transaction failed; ``is_retriable`` says that the same may be asked again."""

    def __init__(self, number: int, reason: str | None, *, is_retriable: bool = False) -> None:
        super().__init__(number, reason)
        self.is_retriable = is_retriable


class TransactionalProducer(Producer):
    """A producer with a ``transactional.id``, which sends nothing outside a transaction.

    One begins with the first row that is sent after the end of the one before. While it is committed, on a thread of
    its own, nothing may be sent; ``poll`` has to go on. Everything but ``wake`` is called by one thread.
    """

    def __init__(self, config: dict[str, str]) -> None:
        self.is_open = False
        """Whether a transaction has begun and is neither committed nor aborted."""
        self._is_claimed = False
        self._is_given_up = False
        self._ends = ThreadPoolExecutor(1, thread_name_prefix="transaction")
        self._offsets: Sequence[Outgoing] = ()
        super().__init__(config)

    def claim(self, is_over: Callable[[], bool]) -> None:
        """Become the one producer of this id: what another one has left open is aborted, and it may send no more.

        Waits for that as long as it takes, unless ``is_over``; raises ``TransactionFailed``.
        """
        self._repeat("init_transactions", is_over)
        self._is_claimed = True

    def send(self, outgoing: Outgoing, sequence: Any) -> DeliveryReport | None:
        """Hand all rows over, in the transaction that is open or begins; raises where that cannot be committed."""
        if not self.is_open:
            self._begin(outgoing)
        refused = super().send(outgoing, sequence)
        if refused is not None and np.isin(refused.error, (ERR_STATE, ERR_FATAL)).any():
            self._ask("commit_transaction", 0)  # which says why there is none
        return refused

    def send_offsets(self, offsets: Sequence[Outgoing]) -> None:
        """Send rows about which nobody is told: the commit fails where one of them does."""
        if not self.is_open:
            self._begin(offsets[0])
        self._offsets = offsets
        for outgoing in offsets:
            self.send(outgoing, np.full(len(outgoing.value), _NO_NUMBER))

    def poll(self, wait_ms: int) -> list[DeliveryReport]:
        """Collect what was delivered of the rows that have numbers."""
        found = super().poll(wait_ms)
        if found and self.in_flight == 0 and not any(each.error.any() for each in found):
            self._met.update(self._topics)
        return found if not self._offsets else [each for each in map(_numbered, found) if len(each.sequence)]

    def commit(self, on_end: Callable[[], None]) -> Future[None]:
        """Commit what was sent; ``on_end`` is called, on another thread, when that is decided.

        The answer raises ``TransactionFailed``. ``poll`` has to be called meanwhile.
        """
        commit = self._ends.submit(self._end, "commit_transaction", lambda: self._is_given_up, SLICE_MS)
        commit.add_done_callback(lambda _: on_end())
        return commit

    def abort(self) -> None:
        """Drop what was sent since the transaction began; raises ``TransactionFailed``."""
        deadline = time.monotonic() + ABORT_SECONDS

        def is_over() -> bool:
            with contextlib.suppress(KafkaError):
                super(TransactionalProducer, self).poll(0)  # what is dropped is reported, and waited for
            return time.monotonic() >= deadline

        self._end("abort_transaction", is_over, _SERVED_MS)

    def close(self) -> None:
        """Abort what is not committed, and free the client; a commit that is under way is given up."""
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
        self._met: set[str] = set()  # topics whose partitions the client knows for certain: it has written there
        super()._open()

    def _send_batch(self, outgoing: Outgoing, sequence: Any) -> Any:
        """Hand rows over one by one where they have partitions of a topic that the client may not know yet.

        A batch of such rows waits in a partition without a number, which librdkafka has its transaction register as
        well: the broker refuses that, and the transaction fails.
        """
        if outgoing.partition is None or outgoing.topic in self._met:
            return super()._send_batch(outgoing, sequence)
        return self._send_rows(outgoing, sequence)

    def _adapt(self, outgoing: Outgoing) -> None:
        if not self.is_open:
            super()._adapt(outgoing)

    def _must_write_zero(self, outgoing: Outgoing) -> bool:
        """Return whether another client is needed: there is none within a transaction, so timestamps are enough."""
        return not (self._writes_zero or self.is_open or outgoing.timestamp is None) and can_write_zero()

    def _end(self, request: str, is_over: Callable[[], bool], slice_ms: int) -> None:
        self._repeat(request, is_over, slice_ms)
        self.is_open = False

    def _repeat(self, request: str, is_over: Callable[[], bool], slice_ms: int = SLICE_MS) -> None:
        """Ask for something until it is done, is refused for good, or ``is_over``."""
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
    """Return a report of the rows that have numbers."""
    kept = report.sequence != _NO_NUMBER
    if kept.all():
        return report
    columns = ("sequence", "error", "partition", "offset", "timestamp")
    found = {name: getattr(report, name) for name in columns}
    return replace(report, **{name: column[kept] for name, column in found.items() if column is not None})

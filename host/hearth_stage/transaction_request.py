"""Collects where a source task ends its transactions (KIP-618)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from hearth_api import ConnectError, SourceRecord, TransactionContext

Cut = tuple[Sequence[SourceRecord], "bool | None"]
"""Records, and whether the transaction after them aborts; ``None`` if it continues."""


class TransactionRequests(TransactionContext):
    """Keeps a task's requests until the records they refer to are handed over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_batch: set[bool] = set()
        self._of_records: dict[int, tuple[SourceRecord, set[bool]]] = {}

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Ask to commit after the record, or after the next batch."""
        self._ask(record, aborts=False)

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Ask to abort after the record, or after the next batch."""
        self._ask(record, aborts=True)

    def cut(self, records: Sequence[SourceRecord]) -> Iterator[Cut]:
        """Yield the records of a poll, split where a transaction ends; a request for the whole batch comes last.

        Raises ``ConnectError`` if both commit and abort were requested.
        """
        begin = 0
        for end, record in enumerate(records, 1) if self._of_records else ():
            if (aborts := self._taken(record)) is not None:
                yield records[begin:end], aborts
                begin = end
        yield records[begin:], self.of_batch()

    def of_batch(self) -> bool | None:
        """Return and forget the request for the whole batch; raises likewise."""
        with self._lock:
            asked, self._of_batch = self._of_batch, set()
        if len(asked) > 1:
            raise ConnectError("Connector requested both commit and abort of same transaction")
        return next(iter(asked), None)

    def _ask(self, record: SourceRecord | None, *, aborts: bool) -> None:
        with self._lock:
            if record is None:
                self._of_batch.add(aborts)
            else:
                self._of_records.setdefault(id(record), (record, set()))[1].add(aborts)

    def _taken(self, record: SourceRecord) -> bool | None:
        with self._lock:
            _, asked = self._of_records.pop(id(record), (record, set()))
        if len(asked) > 1:
            raise ConnectError(
                "Connector requested both commit and abort of same record against topic/partition "
                f"{record.topic}/{record.kafka_partition}"
            )
        return next(iter(asked), None)

"""The horizon: up to where rows are final, because no open transaction can commit one that belongs before it.

Numbers and timestamps are drawn when a row is inserted, and the row becomes visible when its transaction commits. A
source that reads row 6 while the transaction of row 5 is open never reads row 5. So the horizon takes two steps: it
notes a bound and the transactions that are open at that time, and hands the bound out once all of them have ended.
A transaction that begins later draws later numbers and times.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.table_query import Bound, TableQuery

_log = logging.getLogger(__name__)

ARRIVAL = 20_000
"""Microseconds after which a transaction that has its time is also listed among the open ones."""
MOMENTS = 1.0
"""Seconds within which a running statement that has drawn a number has opened its transaction."""
LONG = 10.0
"""Seconds after which a wait is logged, and again after as many."""


class Horizon:
    """Finds bounds for the queries of one table."""

    def __init__(self, dialect: SourceDialect, query: TableQuery, delay_micros: int, *, waits: bool) -> None:
        """Store the table, how old a timestamp must be, and whether to wait for transactions."""
        self._dialect = dialect
        self._query = query
        self._delay = delay_micros
        self._waits = waits and dialect.IS_CONCURRENT
        self._bound: Bound | None = None
        self._running: set[str] = set()
        self._open: set[str] | None = None
        self._since = 0.0
        self._listed = 0.0
        self._next_log = 0.0

    @property
    def is_waiting(self) -> bool:
        """Return whether a bound was taken that waits for transactions."""
        return self._bound is not None

    @property
    def seconds(self) -> float:
        """Return for how long the bound has waited, 0 without one; from any thread."""
        return time.monotonic() - self._since if self.is_waiting else 0.0

    def advance(self, connection: Any, last: int | None) -> Bound | None:
        """Return the next bound, None while a transaction is open that was open when the bound was taken.

        A bound that is not above `last`, the number of the last row, needs no transaction to end.
        """
        if not self._waits:
            return Bound(self._now(connection))
        if self._bound is None:
            bound = self._take(connection)
            if bound.is_behind(last):
                return bound
            # Statements and transactions come after the bound: rows of those that end in between are in the query.
            self._bound, self._open = bound, None
            self._running = set(self._dialect.running_statements(connection))
            self._since = self._listed = time.monotonic()
            self._next_log = self._since + LONG
        elif self._running:
            self._await_statements(connection)
        if not self._running:
            self._await_transactions(connection)
        if self._running or self._open is None or self._open:
            return None
        bound, self._bound = self._bound, None
        return bound

    def _take(self, connection: Any) -> Bound:
        query = self._query
        if query.times:
            return Bound(self._now(connection))
        number = self._dialect.maximum(connection, query.source, query.number)
        return Bound(number=number, is_empty=number is None)

    def _now(self, connection: Any) -> int | None:
        if not self._query.times:
            return None
        return self._dialect.now(connection) - self._delay - (ARRIVAL if self._waits else 0)

    def _transactions(self, connection: Any) -> Mapping[str, str] | None:
        # A time is that of the beginning of a transaction; a number is drawn within it, which makes it a writer.
        return self._dialect.open_transactions(connection, writers_only=not self._query.times, since=self._listed)

    def _await_statements(self, connection: Any) -> None:
        """Forget the statements that have ended; one that drew a number has its transaction within moments."""
        running = self._dialect.running_statements(connection)
        self._running &= running.keys()
        if not self._query.times and time.monotonic() - self._since > MOMENTS:
            self._running.clear()
        self._log_long(running, self._running, "statements")

    def _await_transactions(self, connection: Any) -> None:
        """List the open transactions, later forget those that have ended."""
        if self._open is not None and not self._open:
            return
        transactions = self._transactions(connection)
        if transactions is None:
            return
        self._listed = time.monotonic()
        if self._open is None:
            self._open = set(transactions)
        else:
            # A transaction without session may be one of those that were open, prepared since.
            self._open = transactions.keys() & {self._dialect.PREPARED, *self._open}
        self._log_long(transactions, self._open, "transactions")

    def _log_long(self, known: Mapping[str, str], awaited: set[str], what: str) -> None:
        now = time.monotonic()
        if awaited and now >= self._next_log:
            self._next_log = now + LONG
            _log.warning(
                "rows of %s wait for %d open %s since %.0f s, one is %s",
                self._query.table or "the query", len(awaited), what, now - self._since, known[min(awaited)],
            )  # fmt: skip

"""One snapshot of PostgreSQL for tasks that read the parts of a table.

The task of the first part exports the snapshot of its transaction; the name of the snapshot stands in its
`application_name`, which other sessions of the user see. The tasks of the other parts import it into transactions of
their own and show its name as well, until they have another. The first begins to read when all have it. Who waits too
long reads without the others and says so: each row is still read, by the task of its part, but perhaps as it is at a
later time.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from psycopg import errors
from psycopg.pq import TransactionStatus

from hearth_jdbc.table_part import TablePart

LONGEST_MEETING = 30.0
"""Seconds that a task waits for those of the other parts."""
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_OF_THE_FIRST = """
    SELECT split_part(application_name, ' ', 4) FROM pg_stat_activity
    WHERE application_name LIKE %s AND datname = current_database() ORDER BY xact_start DESC LIMIT 1"""
_OTHERS = """
    SELECT count(DISTINCT application_name) FROM pg_stat_activity
    WHERE application_name LIKE %s AND datname = current_database()"""

_log = logging.getLogger(__name__)


class SharedSnapshot:
    """The snapshot of one part's task, a new one each time the table is read."""

    def __init__(self, part: TablePart, mark: str) -> None:
        """Store the part, and a statement that marks transactions that only read."""
        self._part = part
        self._mark = mark
        self._name = ""
        self._read = ""
        self._until: float | None = None

    def is_open(self, connection: Any) -> bool:
        """Open a transaction, and return whether its task may begin to read; it asks again until it may."""
        if self._until is None:
            self._until = time.monotonic() + LONGEST_MEETING
        is_ready = self._exported(connection) if self._part.place == 0 else self._imported(connection)
        if not is_ready and time.monotonic() > self._until:
            _log.warning(
                "part %d of %d of a table is read without the others, perhaps at another time: their tasks did not"
                " come within %.0f s", self._part.place + 1, self._part.count, LONGEST_MEETING,
            )  # fmt: skip
            if connection.info.transaction_status == TransactionStatus.IDLE:
                self._begin(connection, "")
            is_ready = True
        if is_ready:
            self._until = None
        return is_ready

    def end(self) -> None:
        """Take note that the part was read to its end, so the next time has another snapshot."""
        self._read = self._name

    def _exported(self, connection: Any) -> bool:
        """Return whether all others have the snapshot."""
        if connection.info.transaction_status == TransactionStatus.IDLE:
            connection.execute(_BEGIN)
            (name,) = connection.execute("SELECT pg_export_snapshot()").fetchone()
            self._show(connection, name)
        connection.execute("SELECT pg_stat_clear_snapshot()")
        (count,) = connection.execute(_OTHERS, (self._label("%", self._name),)).fetchone()
        return int(count) == self._part.count

    def _imported(self, connection: Any) -> bool:
        """Return whether the first has a snapshot that was not read yet, which this transaction has then as well."""
        found = connection.execute(_OF_THE_FIRST, (self._label("0", "%"),)).fetchone()
        if found is None or found[0] == self._read:
            return False
        try:
            self._begin(connection, found[0])
        except (errors.InvalidParameterValue, errors.UndefinedObject):  # it ended in between
            connection.execute("ROLLBACK")
            return False
        return True

    def _begin(self, connection: Any, name: str) -> None:
        connection.execute(f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{name}'" if name else _BEGIN)
        self._show(connection, name)

    def _show(self, connection: Any, name: str) -> None:
        self._name = name
        connection.execute(self._mark)
        if name:
            label, is_first = self._label(str(self._part.place), name), self._part.place == 0
            connection.execute("SELECT set_config('application_name', %s, %s)", (label, is_first))

    def _label(self, place: str, name: str) -> str:
        return f"hearth {self._part.read} {place} {name}"

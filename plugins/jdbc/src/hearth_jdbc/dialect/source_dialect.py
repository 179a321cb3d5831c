"""What differs between databases for the source: queries, clocks, open transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import ConnectError
from hearth_api.batch import arrow as pa
from hearth_jdbc.dialect.interface import Column, Dialect, SqlType, TableId

if TYPE_CHECKING:
    from hearth_jdbc.table_part import TablePart

WHOLE = (SqlType.TINYINT, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT)
"""Types of whole numbers."""


class Rows(ABC):
    """The rows of a running query."""

    columns: Sequence[Column]

    @abstractmethod
    def fetch(self, count: int) -> list[Any] | None:
        """Return up to `count` rows as one Arrow array per column, None at the end.

        Arrays of whole numbers are int64, of fractions float64, of NUMERIC and DECIMAL string or decimal128, of dates
        int32 days, of times int64 microseconds, of timestamps int64 microseconds since 1970 in UTC. Those of ARRAY,
        MAP and STRUCT contain such arrays.
        """

    @abstractmethod
    def close(self) -> None:
        """End the query and its transaction."""


class CursorRows(Rows):
    """The rows of a cursor with cells of Python."""

    def __init__(self, cursor: Any, columns: Sequence[Column], zone: str) -> None:
        """Store where the rows come from, and the zone of local times."""
        self._cursor = cursor
        self.columns = columns
        self._zone = zone

    def fetch(self, count: int) -> list[Any] | None:
        """Fetch rows and turn each column into an array."""
        rows = self._cursor.fetchmany(count)
        return self._arrays(list(zip(*rows))) if rows else None

    def close(self) -> None:
        """Close the cursor."""
        self._cursor.close()

    @abstractmethod
    def _arrays(self, cells: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the cells of each column as an array; a value that cannot be read raises a DataError."""


def utc_micros(local: Any, zone: str) -> Any:
    """Return local timestamps, in Arrow's microseconds, as microseconds since 1970 in UTC."""
    if zone != "UTC":
        local = pa.compute.assume_timezone(local, zone, ambiguous="latest", nonexistent="latest")
    return local.cast(pa.int64())


class SourceDialect(Dialect):
    """The half of a dialect that reads."""

    IS_SOURCE = True
    IS_CONCURRENT: ClassVar[bool] = True
    """Whether a transaction may commit after another that drew a later number or time."""
    PREPARED: ClassVar[str] = "prepared"
    NAMESPACE_KEY: ClassVar[str] = "schema.pattern"
    """The key with the pattern of what tables are in: schemas, or catalogs."""
    nests: bool = False
    """Whether arrays, maps and structs are columns of these types, and not of type OTHER."""

    @abstractmethod
    def tables(self, connection: Any, types: Collection[str], namespace: str | None) -> list[TableId]:
        """Return the tables of the given types (TABLE, VIEW, ...), in order; `namespace` is a LIKE pattern."""

    @abstractmethod
    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Run a query of a table, or another query if `table` is None."""

    def query_part(self, connection: Any, sql: str, table: TableId, part: TablePart) -> Rows | None:
        """Run the query of a part of a table; None while the task has to wait for those of the other parts.

        Here each part is read when its task comes to it.
        """
        return self.query(connection, sql, table)

    def split_points(self, connection: Any, table: TableId, column: Column, count: int) -> list[str]:
        """Return up to `count` - 1 ascending SQL literals that divide the values of a key into even ranges.

        Here they divide whole numbers between the least and the greatest; other keys have none.
        """
        if column.type not in WHOLE:
            return []
        name = self.quote(column.name)
        ((first, last),) = self.rows(connection, f"SELECT MIN({name}), MAX({name}) FROM {self.quote_table(table)}")  # noqa: S608
        if first is None:
            return []
        points = {int(first) + (int(last) - int(first) + 1) * place // count for place in range(1, count)}
        return [str(point) for point in sorted(points) if point > first]

    @abstractmethod
    def now(self, connection: Any) -> int:
        """Return the time of the database's clock in microseconds since 1970."""

    @abstractmethod
    def timestamp_form(self, connection: Any, source: str, name: str) -> str:
        """Return how a source (a table or query, as SQL) stores a timestamp column; "" for the usual form."""

    @abstractmethod
    def timestamp_sql(self, name: str, form: str) -> str:
        """Return an expression of a timestamp column that compares with `timestamp_literal`."""

    @abstractmethod
    def timestamp_literal(self, micros: int, form: str) -> str:
        """Return microseconds since 1970 as an SQL literal."""

    def maximum(self, connection: Any, source: str, name: str) -> int | None:
        """Return the greatest value of an incrementing column, None if there is none."""
        ((found,),) = self.rows(connection, f"SELECT MAX({self.quote(name)}) FROM {source}")  # noqa: S608 - quoted
        return None if found is None else int(found)

    def open_transactions(self, connection: Any, *, writers_only: bool, since: float) -> Mapping[str, str] | None:
        """Return other open transactions of the database, each with words for the log; None to ask again later.

        They are those of a time after `since`, in seconds of the monotonic clock.

        `writers_only` leaves out those that have neither written nor drawn a number. Those without a session, which
        two-phase commit has, are together under `PREPARED`.
        """
        return {}

    def running_statements(self, connection: Any) -> Mapping[str, str]:
        """Return statements of other sessions that may have drawn a number or a time and belong to no transaction yet.

        None where a transaction is among the open ones before it can draw.
        """
        return {}

    def warn_of_gaps(self, connection: Any, table: TableId, name: str) -> None:
        """Log a warning if numbers of an incrementing column may be drawn long before their transactions begin."""
        return

    def signal(self) -> Any:
        """Return what waits for changes of tables, for databases that notify."""
        raise ConnectError(f"table.notifications=trigger is for PostgreSQL, not for {self.url.product}")

    @abstractmethod
    def isolate(self, connection: Any, mode: str) -> None:
        """Set the isolation of the transactions that read, in JDBC's words."""

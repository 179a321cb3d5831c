"""What differs between databases: the interface of a dialect, and how it describes tables and rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import ConnectError, Schema, SchemaBuilder

if TYPE_CHECKING:
    from hearth_jdbc.jdbc_url import JdbcUrl


MICROS = SchemaBuilder.int64().name("hearth.jdbc.Micros").build()
"""The schema of timestamps that a dialect writes: microseconds since 1970."""


class SqlType(Enum):
    """The type of a column, in JDBC's words; several of JDBC's types that are read alike are one."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    REAL = "REAL"
    DOUBLE = "DOUBLE"
    NUMERIC = "NUMERIC"
    DECIMAL = "DECIMAL"
    VARCHAR = "VARCHAR"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    NULL = "NULL"
    """A column without declared type, whose values decide."""
    OTHER = "OTHER"
    """A type that Kafka Connect's JDBC source leaves out."""


@dataclass(frozen=True)
class Column:
    """A column of a table or of a query's result."""

    name: str
    type: SqlType
    type_name: str = ""
    precision: int = 0
    scale: int = 0
    is_optional: bool = True
    is_auto_increment: bool = False
    is_key: bool = False
    has_default: bool = False
    is_zoned: bool = False
    """Whether a timestamp is an instant, not a local time."""


@dataclass(frozen=True)
class NewColumn:
    """A column to create."""

    name: str
    type: str
    is_optional: bool
    default: str | None = None
    """The default as an SQL literal."""


@dataclass(frozen=True)
class TableId:
    """The name of a table; `schema` is None where the database has none or the default applies."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """Return the name as source partitions have it, without quotes."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


class Rows(ABC):
    """The rows of a running query."""

    columns: Sequence[Column]

    @abstractmethod
    def fetch(self, count: int) -> list[Any] | None:
        """Return up to `count` rows as one Arrow array per column, None at the end.

        Arrays of whole numbers are int64, of fractions float64, of NUMERIC and DECIMAL string, of dates int32 days,
        of times int64 microseconds, of timestamps int64 microseconds since 1970 in UTC.
        """

    @abstractmethod
    def close(self) -> None:
        """End the query and its transaction."""


@dataclass(frozen=True)
class Upload:
    """Rows for a statement of the sink: one Arrow array per column, in the physical form of its schema."""

    table: TableId
    names: Sequence[str]
    schemas: Sequence[Schema]
    arrays: Sequence[Any]
    keys: Sequence[str] = ()

    @property
    def others(self) -> list[str]:
        """Return the columns that are not keys."""
        return [name for name in self.names if name not in self.keys]


class Dialect(ABC):
    """A database product. One instance belongs to one connector or task; a connection is the driver's own object.

    Names of tables and columns are quoted by `quote`. Errors of the driver are instances of `Error`.
    """

    NAME: ClassVar[str]
    """The name in `dialect.name`."""
    QUOTE: ClassVar[str] = '"'
    IS_CONCURRENT: ClassVar[bool] = True
    """Whether a transaction may commit after another that drew a later number or time."""
    PREPARED: ClassVar[str] = "prepared"
    Error: type[Exception]

    def __init__(self, url: JdbcUrl, user: str | None, password: str | None, *, zone: str, quotes: bool) -> None:
        """Store the address and the credentials; connects to nothing."""
        self.url = url
        self.user = user or url.parameters.get("user")
        self.password = password or url.parameters.get("password")
        self.zone = zone
        self.quotes = quotes

    def quote(self, name: str) -> str:
        """Return a name as SQL has it."""
        mark = self.QUOTE
        return f"{mark}{name.replace(mark, mark + mark)}{mark}" if self.quotes else name

    def quote_table(self, table: TableId) -> str:
        """Return a table's name as SQL has it."""
        name = self.quote(table.name)
        return name if table.schema is None else f"{self.quote(table.schema)}.{name}"

    @abstractmethod
    def parse_table(self, text: str) -> TableId:
        """Return the table of a name in a configuration, with or without schema and quotes."""

    @abstractmethod
    def connect(self, timeout: float, *, is_source: bool) -> Any:
        """Return a new connection; give up after some seconds."""

    def close(self, connection: Any) -> None:
        """Close a connection, also a broken one."""
        try:
            connection.close()
        except self.Error:
            return

    @abstractmethod
    def interrupt(self, connection: Any) -> None:
        """End what runs on a connection; called from another thread."""

    @abstractmethod
    def is_row_fault(self, error: Exception) -> bool:
        """Return whether an error is about the values of a row, so that the same row fails again."""

    @abstractmethod
    def tables(self, connection: Any, types: Collection[str], schema: str | None) -> list[TableId]:
        """Return the tables of the given types (TABLE, VIEW, ...), in order; `schema` is a LIKE pattern."""

    @abstractmethod
    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of a table; none if there is no such table."""

    @abstractmethod
    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Run a query of a table, or another query if `table` is None."""

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
        cursor = connection.cursor()
        cursor.execute(f"SELECT MAX({self.quote(name)}) FROM {source}")  # noqa: S608 - quoted names
        found = cursor.fetchone()[0]
        return None if found is None else int(found)

    def open_transactions(self, connection: Any, *, writers_only: bool) -> Mapping[str, str]:
        """Return other open transactions of the database, each with words for the log.

        `writers_only` leaves out those that have neither written nor drawn a number. Those without a session, which
        two-phase commit has, are together under `PREPARED`.
        """
        return {}

    def warn_of_gaps(self, connection: Any, table: TableId, name: str) -> None:
        """Log a warning if numbers of an incrementing column may be drawn long before their transactions begin."""
        return

    @abstractmethod
    def isolate(self, connection: Any, mode: str) -> None:
        """Set the isolation of the transactions that read, in JDBC's words."""

    # Sink --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def column_type(self, schema: Schema) -> str:
        """Return the type of a new column for values of a schema; a schema without one raises a ConnectError."""

    @abstractmethod
    def literal(self, schema: Schema, physical: Any) -> str:
        """Return a value, in the physical form of its schema, as an SQL literal."""

    def create_sql(self, table: TableId, columns: Sequence[NewColumn], keys: Sequence[str]) -> str:
        """Return the statement that creates a table."""
        parts = [self._column_sql(column) for column in columns]
        if keys:
            parts.append(f"PRIMARY KEY({','.join(map(self.quote, keys))})")
        return f"CREATE TABLE {self.quote_table(table)} ({', '.join(parts)})"

    def add_columns_sql(self, table: TableId, columns: Sequence[NewColumn]) -> list[str]:
        """Return the statements that add columns to a table."""
        return [f"ALTER TABLE {self.quote_table(table)} ADD {self._column_sql(column)}" for column in columns]

    def _column_sql(self, column: NewColumn) -> str:
        if column.default is not None:
            rest = f"DEFAULT {column.default}"
        else:
            rest = "NULL" if column.is_optional else "NOT NULL"
        return f"{self.quote(column.name)} {column.type} {rest}"

    @contextmanager
    def transaction(self, connection: Any) -> Iterator[None]:
        """Commit what the block did, or roll it back if it raises."""
        connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._roll_back(connection, "ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def savepoint(self, connection: Any) -> Iterator[None]:
        """Keep what the block did within a transaction, or undo it if it raises."""
        connection.execute("SAVEPOINT hearth")
        try:
            yield
        except BaseException:
            self._roll_back(connection, "ROLLBACK TO SAVEPOINT hearth")
            raise
        connection.execute("RELEASE SAVEPOINT hearth")

    def _roll_back(self, connection: Any, sql: str) -> None:
        try:
            connection.execute(sql)
        except self.Error:  # the connection is lost, and what was not committed with it
            return

    @abstractmethod
    def insert(self, connection: Any, upload: Upload) -> None:
        """Insert rows."""

    @abstractmethod
    def upsert(self, connection: Any, upload: Upload) -> None:
        """Insert rows, or change those that have their key; the last row of a key counts."""

    @abstractmethod
    def update(self, connection: Any, upload: Upload) -> None:
        """Change the rows that have their key."""

    @abstractmethod
    def delete(self, connection: Any, upload: Upload) -> None:
        """Delete the rows of the keys."""


def no_type(schema: Schema) -> ConnectError:
    """Return the error for a schema that has no type in a database."""
    name = schema.name or schema.type
    return ConnectError(f"{name} ({schema.type}) has no type in this database", hint="flatten or cast the field")

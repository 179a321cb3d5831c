"""What differs between databases: connections, names and statements, for source and sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import DataError, SchemaBuilder

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
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"
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
    parts: tuple[Column, ...] = ()
    """The element of an ARRAY, the key and the value of a MAP, the fields of a STRUCT."""


@dataclass(frozen=True)
class TableId:
    """The name of a table; `schema` is None where the database has none or the default applies."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """Return the name as source partitions have it, without quotes."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


IDLE_TRANSACTION = 60
"""Seconds after which a server ends a transaction of the sink in which nothing happens: its task is frozen."""


class Dialect(ABC):
    """A database product. One instance belongs to one connector or task; a connection is the driver's own object.

    Names of tables and columns are quoted by `quote`. Errors of the driver are instances of `Error`.
    """

    QUOTE: ClassVar[str] = '"'
    IS_SOURCE: ClassVar[bool]
    """Whether connections only read."""
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
    def connect(self, timeout: float) -> Any:
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
    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of a table; none if there is no such table."""

    def execute(self, connection: Any, sql: str) -> int:
        """Run a statement and return how many rows it changed."""
        return int(connection.execute(sql).rowcount)

    def rows(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a small query."""
        return list(connection.execute(sql).fetchall())

    @contextmanager
    def transaction(self, connection: Any) -> Iterator[None]:
        """Commit what the block did, or roll it back if it raises."""
        self.execute(connection, "BEGIN")
        try:
            yield
        except BaseException:
            self.roll_back(connection)
            raise
        self.execute(connection, "COMMIT")

    def roll_back(self, connection: Any) -> None:
        """Undo a transaction, also where the connection is lost."""
        try:
            self.execute(connection, "ROLLBACK")
        except self.Error:  # the connection is lost, and what was not committed with it
            return


def mismatch(column: Column, error: Exception) -> DataError:
    """Return the error for a value that its column's type does not lead to expect."""
    kind = column.type_name or "none"
    return DataError(f"column {column.name!r} of type {kind} holds a value that does not fit: {error}")

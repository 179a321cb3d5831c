"""What differs between databases for the sink: types of columns, and statements with many rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hearth_api import ConnectError, Schema
from hearth_jdbc.dialect.interface import Dialect, TableId


@dataclass(frozen=True)
class NewColumn:
    """A column to create."""

    name: str
    type: str
    is_optional: bool
    default: str | None = None
    """The default as an SQL literal."""


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


class SinkDialect(Dialect):
    """The half of a dialect that writes."""

    IS_SOURCE = False
    KEY_TEXT: ClassVar[str] = "VARCHAR(255)"
    """The type of a text in a primary key, compared letter by letter."""

    def text_literal(self, text: str) -> str:
        """Return a text as an SQL literal."""
        return "'{}'".format(text.replace("'", "''"))

    @abstractmethod
    def column_type(self, schema: Schema) -> str:
        """Return the type of a new column for values of a schema; a schema without one raises a ConnectError."""

    def key_type(self, schema: Schema) -> str:
        """Return the type of a new column of a primary key."""
        return self.column_type(schema)

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

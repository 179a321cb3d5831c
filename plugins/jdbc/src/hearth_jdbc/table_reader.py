"""Reads one table, or one query: a query at a time, in batches."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import ConnectError, Schema, SchemaBuilder
from hearth_api.batch import Batch, arrow_type
from hearth_jdbc.column_field import ColumnField, field_of
from hearth_jdbc.decimal_column import whole_numbers
from hearth_jdbc.dialect.interface import Column, SqlType
from hearth_jdbc.dialect.source_dialect import WHOLE, Rows
from hearth_jdbc.horizon import Horizon
from hearth_jdbc.source_offset import Position, offset_column
from hearth_jdbc.source_setting import INCREMENTING, TIMESTAMP, FieldRules
from hearth_jdbc.table_query import TableQuery

SHORTEST_WAIT = 0.01
"""Seconds between two looks whether transactions have ended, at first; a wait grows with the time waited."""
LOOK_AGAIN = 0.05
"""Seconds between two looks whether the tasks of other parts have come."""

_LEADING = {TIMESTAMP: (SqlType.TIMESTAMP,), INCREMENTING: (*WHOLE, SqlType.NUMERIC, SqlType.DECIMAL)}

_log = logging.getLogger(__name__)


class TableReader(ABC):
    """Reads a table again and again, at intervals.

    `due` is the time of the next call of `read`. Each call returns a batch, or None at the end of the rows.
    """

    def __init__(
        self, query: TableQuery, topic: str, partition: Mapping[str, str], rules: FieldRules, interval: float
    ) -> None:
        """Store what to read, and the seconds between two queries."""
        self.query = query
        self.topic = topic
        self.partition = dict(partition)
        self.due = 0.0
        self._rules = rules
        self._interval = interval
        self._rows: Rows | None = None
        self._held: list[Any] | None = None
        self._left_out: set[str] = set()
        self._described: Sequence[Column] = []
        self._fields: list[ColumnField | None] = []
        self._value_schema = SchemaBuilder.struct().build()

    @property
    def is_reading(self) -> bool:
        """Return whether a query is open."""
        return self._rows is not None

    def read(self, connection: Any, limit: int) -> Batch | None:
        """Return the next rows, None if there are none at present."""
        if self._rows is None:
            sql = self._next_query(connection)
            if sql is None:
                return None
            self._rows = self._opened(connection, sql)
            if self._rows is None:
                self.due = time.monotonic() + LOOK_AGAIN
                return None
            self._held = self._rows.fetch(limit)
        arrays = self._held
        if arrays is None:
            self._end()
            return None
        columns = list(self._rows.columns)
        self._held = self._rows.fetch(limit)
        batch = self._batch(columns, arrays, self._held)
        if self._held is None:
            self._end()
        return batch

    def forget(self) -> None:
        """Drop an open query after an error; the next call begins after the last row that was returned."""
        rows, self._rows, self._held = self._rows, None, None
        if rows is not None:
            try:
                rows.close()
            except self.query.dialect.Error:
                _log.debug("the query was closed with its connection")

    @abstractmethod
    def _next_query(self, connection: Any) -> str | None:
        """Return the next query, None if it is not yet time; then `due` says when."""

    @abstractmethod
    def _offsets(self, columns: Sequence[Column], arrays: Sequence[Any], following: Sequence[Any] | None) -> Any:
        """Return the column of offsets."""

    def _opened(self, connection: Any, sql: str) -> Rows | None:
        query = self.query
        if query.table is not None and query.part is not None:
            return query.dialect.query_part(connection, sql, query.table, query.part)
        return query.dialect.query(connection, sql, query.table)

    def _end(self) -> None:
        self.forget()
        self._rest()

    def _rest(self) -> None:
        self.due = time.monotonic() + self._interval

    def _batch(self, columns: Sequence[Column], arrays: Sequence[Any], following: Sequence[Any] | None) -> Batch:
        if columns != self._described:
            self._described, self._fields = columns, list(map(self._field, columns))
            self._value_schema = self._schema([field for field in self._fields if field is not None])
        schema = self._value_schema
        parts = [field.convert(array) for field, array in zip(self._fields, arrays) if field is not None]
        count = len(arrays[0])
        value = (
            pa.StructArray.from_arrays(parts, fields=list(arrow_type(schema)))
            if parts
            else pa.array([{}] * count, arrow_type(schema))
        )
        offsets = self._offsets(columns, arrays, following)
        data = pa.RecordBatch.from_arrays([value, offsets], names=["value", "source_offset"])
        return Batch(self.topic, None, schema, data, self.partition)

    def _field(self, column: Column) -> ColumnField | None:
        field = field_of(column, self._rules)
        if field is None and column.name not in self._left_out:
            self._left_out.add(column.name)
            _log.warning(
                "records of %s leave out column %r: Kafka Connect has no type for %s (see other.types)",
                self.query.table or "the query", column.name, column.type_name,
            )  # fmt: skip
        return field

    def _schema(self, fields: Sequence[ColumnField]) -> Schema:
        builder = SchemaBuilder.struct()
        if self.query.table is not None:
            builder = builder.name(self.query.table.name)
        for field in fields:
            builder = builder.field(field.name, field.schema)
        return builder.build()


class BulkReader(TableReader):
    """Reads all rows each time; such rows have no offsets."""

    def _next_query(self, connection: Any) -> str:
        return self.query.bulk()

    def _offsets(self, columns: Sequence[Column], arrays: Sequence[Any], following: Sequence[Any] | None) -> Any:
        return pa.nulls(len(arrays[0]), pa.string())


class NewRowReader(TableReader):
    """Reads rows after the last one, by a timestamp, a number or both.

    Rows of one timestamp may lie on both sides of the end of a batch. So in timestamp mode a row has the offset of the
    timestamp before, until the last row of its timestamp: after a crash these rows come again, none is lost.
    """

    def __init__(self, *given: Any, position: Position, horizon: Horizon) -> None:
        """Begin after a place."""
        super().__init__(*given)
        self._position = position
        self._stored = position.micros or 0
        self._horizon = horizon
        self._waits = 0
        self._has_news = False
        self._is_changed = False

    @property
    def held_back(self) -> float:
        """Return for how many seconds rows have waited for open transactions; from any thread."""
        return self._horizon.seconds

    @property
    def may_ask(self) -> bool:
        """Return whether `question` tells something: nothing is open, and the answer is not known yet."""
        query = self.query
        is_open = self.is_reading or self._horizon.is_waiting or self._has_news or self._is_changed
        return not is_open and query.table is not None and query.knows_forms

    def question(self) -> str:
        """Return an expression that is true if the table has rows after the last one."""
        return self.query.question(self._position)

    def answer(self, has_news: bool) -> None:
        """Read next if there is something to read, and rest for the interval if not."""
        self._has_news = has_news
        if not has_news:
            self._rest()

    def notice(self) -> None:
        """Read next, since the table has changed, and again if that came about while a query ran."""
        self._is_changed = True
        self.due = 0.0

    def _rest(self) -> None:
        self.due = 0.0 if self._is_changed else time.monotonic() + self._interval

    def _next_query(self, connection: Any) -> str | None:
        self._has_news = False
        if not self._horizon.is_waiting:
            self._is_changed = False
        self.query.learn_forms(connection)
        bound = self._horizon.advance(connection, self._position.number)
        if bound is None:
            self._waits += 1
            pause = min(SHORTEST_WAIT * self._waits, max(self._interval, SHORTEST_WAIT), 1.0)
            self.due = time.monotonic() + pause
            return None
        self._waits = 0
        if bound.is_behind(self._position.number):
            self._rest()
            return None
        return self.query.news(self._position, bound)

    def forget(self) -> None:
        """Drop an open query; rows of the last timestamp come again, since some may not have been returned."""
        if self.is_reading and self.query.times and not self.query.number:
            self._position = Position(self._stored)
        super().forget()

    def _offsets(self, columns: Sequence[Column], arrays: Sequence[Any], following: Sequence[Any] | None) -> Any:
        names = [column.name.lower() for column in columns]
        micros, numbers = self._micros(names, columns, arrays), self._numbers(names, columns, arrays)
        if micros is not None and numbers is None:
            after = None if following is None else self._micros(names, columns, following)
            self._position = Position(micros[-1].as_py())
            micros = self._lagging(micros, after)
            self._stored = micros[-1].as_py()
        else:
            last = None if micros is None else micros[-1].as_py()
            self._position = Position(last, numbers[-1].as_py())
        return offset_column(micros, numbers)

    def _lagging(self, micros: Any, following: Any) -> Any:
        """Return the timestamp before for each row that is not the last of its timestamp."""
        values = micros.to_numpy(zero_copy_only=False)
        after = np.empty(len(values), np.int64)
        after[:-1] = values[1:]
        is_last = np.ones(len(values), bool)
        is_last[:-1] = values[:-1] != after[:-1]
        if following is not None:
            is_last[-1] = values[-1] != following[0].as_py()
        known = pc.fill_null_forward(pa.array(values, mask=~is_last))
        return known.fill_null(self._stored)

    def _micros(self, names: Sequence[str], columns: Sequence[Column], arrays: Sequence[Any]) -> Any:
        places = [self._place(names, name) for name in self.query.times]
        check_types(TIMESTAMP, [columns[place] for place in places])
        found = [arrays[place] for place in places]
        return None if not found else found[0] if len(found) == 1 else pc.coalesce(*found)

    def _numbers(self, names: Sequence[str], columns: Sequence[Column], arrays: Sequence[Any]) -> Any:
        if not self.query.number:
            return None
        place = self._place(names, self.query.number)
        column, array = columns[place], arrays[place]
        check_types(INCREMENTING, [column])
        if column.type in (SqlType.NUMERIC, SqlType.DECIMAL):
            array = whole_numbers(array)
        if array.null_count:
            raise ConnectError(f"incrementing column {column.name!r} holds null")
        return array

    def _place(self, names: Sequence[str], name: str) -> int:
        try:
            return names.index(name.lower())
        except ValueError as error:
            raise ConnectError(f"the rows of {self.query.table or 'the query'} have no column {name!r}") from error


def check_types(what: str, columns: Sequence[Column]) -> None:
    """Raise a ConnectError unless the incrementing or timestamp columns are whole numbers or timestamps."""
    for column in columns:
        if column.type not in _LEADING[what]:
            kind = "timestamp" if what == TIMESTAMP else "whole number"
            raise ConnectError(
                f"{what} column {column.name!r} is of type {column.type_name or 'none'}, which is no {kind}"
            )

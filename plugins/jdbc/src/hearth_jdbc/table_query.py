"""The queries that find new rows of a table or of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hearth_jdbc.dialect.interface import TableId
from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.source_offset import Position
from hearth_jdbc.table_part import TablePart


@dataclass(frozen=True)
class Bound:
    """Rows up to here are handed over: timestamps before `micros`, numbers up to `number`; None for no bound."""

    micros: int | None = None
    number: int | None = None
    is_empty: bool = False
    """Whether there is no row at all."""

    def is_behind(self, last: int | None) -> bool:
        """Return whether there is no row after the number of the last one."""
        return self.is_empty or (self.number is not None and last is not None and self.number <= last)


@dataclass
class TableQuery:
    """Writes the SQL for one table, or for a query if `table` is None."""

    dialect: SourceDialect
    table: TableId | None
    text: str = ""
    """The query."""
    suffix: str = ""
    times: Sequence[str] = ()
    """The timestamp columns."""
    number: str = ""
    """The incrementing column."""
    part: TablePart | None = None
    """The part to read in bulk mode, None for all rows."""
    _forms: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Return what stands behind FROM in a query about the table or the query."""
        return f"({self.text}) hearth_rows" if self.table is None else self.dialect.quote_table(self.table)

    @property
    def whole(self) -> str:
        """Return the query without criteria."""
        return self.text if self.table is None else f"SELECT * FROM {self.source}"  # noqa: S608 - quoted names

    def learn_forms(self, connection: Any) -> None:
        """Ask the database how it stores the timestamps, until it holds one."""
        for name in self.times:
            if not self._forms.get(name):
                self._forms[name] = self.dialect.timestamp_form(connection, self.source, name)

    def bulk(self) -> str:
        """Return the query for all rows, or for those of the part."""
        where = "" if self.part is None else f" WHERE {self.part.condition(self.dialect.quote(self.part.column))}"
        return self._with_suffix(f"{self.whole}{where}")

    @property
    def knows_forms(self) -> bool:
        """Return whether it is known how the database stores the timestamps."""
        return all(name in self._forms for name in self.times)

    def question(self, position: Position) -> str:
        """Return an expression that is true if there are rows after a place."""
        return f"EXISTS(SELECT 1 FROM {self.source} WHERE {self._criteria(position, Bound())})"  # noqa: S608

    def news(self, position: Position, bound: Bound) -> str:
        """Return the query for the rows after a place and up to a bound, in order."""
        criteria = self._criteria(position, bound)
        order = [each for each in (self._time_sql, self.dialect.quote(self.number) if self.number else "") if each]
        return self._with_suffix(f"{self.whole} WHERE {criteria} ORDER BY {', '.join(order)}")

    def _criteria(self, position: Position, bound: Bound) -> str:
        number = self.dialect.quote(self.number) if self.number else ""
        last = -1 if position.number is None else position.number
        parts = []
        if self.times:
            time, start = self._time_sql, self._literal(position.micros or 0)
            after = f"{time} > {start}"
            if bound.micros is not None:
                parts.append(f"{time} < {self._literal(bound.micros)}")
            parts.append(f"(({time} = {start} AND {number} > {last}) OR {after})" if number else after)
        else:
            parts.append(f"{number} > {last}")
            if bound.number is not None:
                parts.append(f"{number} <= {bound.number}")
        return " AND ".join(parts)

    @property
    def _time_sql(self) -> str:
        if not self.times:
            return ""
        columns = [self.dialect.timestamp_sql(name, self._forms.get(name, "")) for name in self.times]
        return columns[0] if len(columns) == 1 else f"COALESCE({','.join(columns)})"

    def _literal(self, micros: int) -> str:
        return self.dialect.timestamp_literal(micros, self._forms.get(self.times[0], ""))

    def _with_suffix(self, sql: str) -> str:
        return f"{sql} {self.suffix}" if self.suffix else sql

"""Columns under construction, whose values a function makes together for rows of one layout, or one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import ConnectError
from hearth_api.batch import LateErrors, UnlikeError, frameless
from hearth_api.layout import MapMembers, UniformRows, are_few, constant, in_rows, nulled, to_texts
from hearth_transforms.plain_text import to_column
from hearth_transforms.row_error import RowErrors

_NULL = constant("null")
_ABSENT = object()
Change = Callable[[Any, Any], "tuple[Any, ...]"]
"""Transforms a value, given its row's attributes."""
Rewrite = Callable[[Any], "tuple[Any, ...]"]
"""Rewrites texts of a column: returns those of some rows, and a mask of these rows."""


class AddedColumns:
    """Attributes that accompany the values of a column; none in this class."""

    def of_all(self, rows: Any) -> Any:
        """Return the attributes of the numbered rows together."""
        return None

    def of_each(self, rows: Any) -> Iterator[Any]:
        """Yield the attributes of each numbered row."""
        return itertools.repeat(None)


class PlacedColumns(AddedColumns):
    """The attributes of some rows of a batch."""

    def __init__(self, added: AddedColumns, rows: Any) -> None:
        """Store the attributes of all rows, and which rows these are."""
        self._added, self._rows = added, rows

    def of_all(self, rows: Any) -> Any:
        """Return the attributes of the numbered rows of these together."""
        return self._added.of_all(self._rows[rows])

    def of_each(self, rows: Any) -> Iterator[Any]:
        """Yield the attributes of each numbered row of these."""
        return self._added.of_each(self._rows[rows])


class Making:
    """Columns under construction, each as parts for some rows, and the function that computes them."""

    def __init__(
        self, change: Change, added: AddedColumns, errors: LateErrors | None, rows: int, columns: int
    ) -> None:
        """Store the function, attributes and errors of the rows, and how many rows and columns there are."""
        self._change, self.added, self._errors, self._rows = change, added, errors, rows
        self._parts: list[list[tuple[Any, Any]]] = [[] for _ in range(columns)]

    def columns(self) -> list[Any]:
        """Return the columns."""
        return [in_rows(self._rows, parts) for parts in self._parts]

    def take(self, group: UniformRows) -> Any:
        """Change a group and return the changed rows."""
        try:
            changed = self._change(group.value, self.added.of_all(group.rows))
            texts = [self._texts(value, len(group.rows)) for value in changed]
        except UnlikeError as error:
            parts = () if error.rows is None else (group.part(error.rows), group.part(~error.rows))
            taken = [self.take(part) for part in parts if not are_few(len(part.rows))]
            return np.concatenate([group.rows[:0], *taken])
        except RowErrors as failed:
            return group.rows[:0] if self._errors is None else self._take_others(group, failed.errors)
        except ConnectError:
            return group.rows[:0]  # the rows are changed one by one to find the error
        return self.put(group.rows, texts)

    def _take_others(self, group: UniformRows, errors: LateErrors) -> Any:
        """Record the errors of a group's rows, change the others, and return all of these rows."""
        assert self._errors is not None
        self._errors.add_part(errors, group.rows)
        are_left = np.ones(len(group.rows), bool)
        are_left[list(errors)] = False
        failed = group.rows[~are_left]
        self.put_nulls(failed)
        return np.concatenate([failed, self.take(group.part(are_left))]) if are_left.any() else failed

    def take_rewritten(self, column: Any, rewrite: Rewrite) -> Any:
        """Rewrite the texts of maps, and return the changed rows."""
        texts, written = rewrite(column)[:2]
        return self.put(np.flatnonzero(written), [texts])

    def of_part(self, count: int, leaves_first: bool) -> Making:
        """Return a new construction of ``count`` values with the same function, or with all but its first result."""
        change, start = self._change, int(leaves_first)
        return Making(
            lambda value, own: change(value, own)[start:], self.added, self._errors, count, len(self._parts) - start
        )

    def of_names(self, names: Sequence[str], count: int) -> Making:
        """Return a new construction of the named members of ``count`` maps that the same function returns."""
        return MemberMaking(self._change, names, self.added, self._errors, count)

    def put_copied(
        self, members: MapMembers, places: Any, over: Sequence[Any], others: Sequence[Any] = (), removes: bool = False
    ) -> Any:
        """Take copies of maps, and other columns of their rows; return the places of maps that could not be copied."""
        texts, written = members.copied(places, over, removes)
        if written.all():
            self.put(members.rows[places], [texts, *others])
            return places[:0]
        self.put(members.rows[places[written]], [texts, *(each.filter(pa.array(written)) for each in others)])
        return places[~written]

    def fail(self, rows: Any, errors: LateErrors) -> Any:
        """Record errors by their places in some rows; return a mask of the other rows."""
        kept = np.ones(len(rows), bool)
        if errors:
            if self._errors is None:
                raise errors[min(errors)]
            kept[list(errors)] = False
            self._errors.add_part(errors, rows)
            self.put_nulls(rows[~kept])
        return kept

    def have_failed(self, rows: Any) -> Any:
        """Return a mask of the rows with errors."""
        return np.isin(rows, list(self._errors)) if self._errors else np.zeros(len(rows), bool)

    def take_each(self, rows: Any, values: list[Any]) -> None:
        """Change values one by one."""
        found = []
        for row, value, own in zip(rows.tolist(), values, self.added.of_each(rows)):
            try:
                found.append(self._change(value, own))
            except ConnectError as error:
                if self._errors is None:
                    raise
                self._errors[row] = frameless(error)
                found.append((None,) * len(self._parts))
        self.put(rows, map(self._column, zip(*found)))

    def put(self, rows: Any, columns: Iterable[Any]) -> Any:
        """Take the columns of some rows; return these."""
        for parts, column in zip(self._parts, columns):
            parts.append((rows, column))
        return rows

    def put_nulls(self, rows: Any) -> None:
        """Take nulls for some rows."""
        self.put(rows, itertools.repeat(pa.nulls(len(rows), pa.string())))

    def _texts(self, value: Any, count: int) -> Any:
        return to_texts(value, count)

    def _column(self, values: Sequence[Any]) -> Any:
        return to_column(values)


class MemberMaking(Making):
    """Texts of members under construction, null for absent ones."""

    def __init__(
        self, change: Change, names: Sequence[str], added: AddedColumns, errors: LateErrors | None, rows: int
    ) -> None:
        """Store the names of the members, and the function that returns maps with them alone."""

        def members(value: Any, own: Any) -> tuple[Any, ...]:
            (changed,) = change(value, own)
            return tuple(changed.get(name, _ABSENT) for name in names)

        super().__init__(members, added, errors, rows, len(names))

    def _texts(self, value: Any, count: int) -> Any:
        return pa.nulls(count, pa.string()) if value is _ABSENT else to_texts(value, count).fill_null(_NULL)

    def _column(self, values: Sequence[Any]) -> Any:
        are_absent = np.array([value is _ABSENT for value in values])
        texts = to_column([None if value is _ABSENT else value for value in values]).fill_null(_NULL)
        return nulled(texts, are_absent) if are_absent.any() else texts


def rows_in(column: Any, rows: Any) -> Any:
    return column if len(rows) == len(column) else column.take(pa.array(rows))

"""Transforms columns without schema, which hold the JSON text of each value.

If members of maps are only moved, one loop rewrites the texts of all maps whatever their layout
(`hearth_api.layout.Rewriting`). If only a few members are read or replaced, one loop finds these in all maps, and
another writes the maps with the new ones (`MapMembers`).

A function that changes one value changes all values of one layout (`hearth_api.layout`) in one call, with a
`ScalarColumn` for each scalar. Other values are changed one by one. Most of them are plain JSON that orjson reads and
writes in a sixth of the time of the author API's encoding; that encoding handles values without a JSON form and
numbers that orjson prints differently from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch import (
    Batch,
    LateErrors,
    PartlyFailed,
    plain_to_json,
)
from hearth_api.layout import (
    Layouts,
    MapMembers,
    MemberGroup,
    Moves,
    Rewriting,
    UniformRows,
    are_few,
    as_string,
    constant,
    join,
)
from hearth_transforms.field_path import FieldPath
from hearth_transforms.plain_making import AddedColumns, Change, Making, PlacedColumns, Rewrite, rows_in
from hearth_transforms.plain_text import to_values
from hearth_transforms.side import Side
from hearth_transforms.struct_column import side_column


class Step(NamedTuple):
    """A function that changes a value, given its row's attributes, and what it does with maps."""

    change: Callable[[Any, Any], Any]
    use: MapUse


@dataclass(frozen=True)
class MapUse:
    """What a function does with maps, so that most of a map need not be read."""

    moves: Moves | None = None
    """The member moves, if it only moves members."""
    rewrite: Rewrite | None = None
    """What it does to the texts of maps."""
    touched: Collection[str] = ()
    """The members that it replaces in a copy of the map, if applying it to them alone and writing the result over the
    copy is equivalent."""
    read: Collection[str] = ()
    """The members on which its result depends, if it depends on no others."""
    removes: bool | None = None
    """Whether its first result is a copy of the map without the read members or, if false, with them; None if it has
    no such result."""
    within: tuple[str, Step] | None = None
    """The one member that it changes in a copy of the map, if it returns maps unchanged in which that is null."""
    steps: Sequence[Step] = ()
    """The functions it consists of, each given the map that the one before it returns."""

    @classmethod
    def reading(cls, paths: Iterable[FieldPath]) -> MapUse:
        """Return the use of a function that reads the fields at these paths."""
        steps = [path.steps for path in paths]
        return cls(read=tuple({each[0] for each in steps}) if all(steps) else ())


_NOTHING = AddedColumns()
_UNKNOWN = MapUse()
_FIRST = np.arange(1)
_WORTH_OF_PARTS = 64
"""Parts are short, so that their layouts are worth a search even if few rows have each."""
_MOST_REWRITINGS = 16


class PlainColumns:
    """Transforms the values of columns, together where they share a layout."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._layouts = Layouts()
        self._layouts_of_parts = Layouts(_WORTH_OF_PARTS)
        self._rewritings: list[tuple[Moves, Rewriting]] = []

    def changed(
        self,
        side: Side,
        batch: Batch,
        change: Callable[[Any, Any], Any],
        added: AddedColumns = _NOTHING,
        use: Callable[[Any], MapUse] = lambda _: _UNKNOWN,
    ) -> list[Batch] | PartlyFailed:
        """Return the batch with a function applied to each value of a side, including nulls.

        ``use`` returns how the function uses maps with the given attributes. A row for which the function raises is
        removed, and its error is returned with the batch.
        """
        errors = LateErrors()
        known = use(next(added.of_each(_FIRST))) if batch.num_rows else _UNKNOWN
        (made,) = self.made(side, batch, lambda value, own: (change(value, own),), 1, known, added, errors)
        changed = side.replaced_column(batch, None, made)
        if not errors:
            return [changed]
        is_kept = np.ones(batch.num_rows, bool)
        is_kept[list(errors)] = False
        return PartlyFailed([changed.filter(pa.array(is_kept))], errors)

    def made(
        self,
        side: Side,
        batch: Batch,
        change: Change,
        count: int,
        use: MapUse,
        added: AddedColumns = _NOTHING,
        errors: LateErrors | None = None,
    ) -> list[Any]:
        """Return one column for each value that a function returns for a value of a side.

        With ``errors``, a row for which it raises is null in all columns, and its error is added there.
        """
        return self._made(side_column(side, batch), change, count, use, added, errors)

    def _made(
        self,
        column: Any,
        change: Change,
        count: int,
        use: MapUse,
        added: AddedColumns,
        errors: LateErrors | None,
    ) -> list[Any]:
        making = Making(change, added, errors, len(column), count)
        left = np.ones(len(column), bool)
        rewrite = use.rewrite if use.moves is None else self._rewriting(use.moves).written
        if rewrite is not None:
            left[making.take_rewritten(column, rewrite)] = False
        elif use.steps:
            left[self._take_steps(making, column, use.steps)] = False
        elif use.within is not None:
            left[self._take_within(making, column, *use.within)] = False
        elif use.touched or use.read:
            left[self._take_members(making, column, use)] = False
        for group in self._layouts.groups(column, left):
            left[making.take(group)] = False
        rows = np.flatnonzero(left)
        if len(rows):
            making.take_each(rows, to_values(rows_in(column, rows)))
        return making.columns()

    def _take_steps(self, making: Making, column: Any, steps: Sequence[Step]) -> Any:
        """Apply functions to the maps of a column, one after the other, and return their rows."""
        taken = rows = np.flatnonzero(pc.starts_with(column, "{").fill_null(False))
        column = rows_in(column, rows)
        for step in steps:
            column, kept = self._stepped(making, column, step, rows)
            rows = rows[kept]
        making.put(rows, [column])
        return taken

    def _stepped(self, making: Making, column: Any, step: Step, rows: Any) -> tuple[Any, Any]:
        """Return a column of some rows with a function applied, without failed ones, and a mask of the others."""
        errors = LateErrors()

        def change(value: Any, own: Any) -> tuple[Any, ...]:
            return (step.change(value, own),)

        (made,) = self._made(column, change, 1, step.use, PlacedColumns(making.added, rows), errors)
        kept = making.fail(rows, errors)
        return made if kept.all() else made.filter(pa.array(kept)), kept

    def _take_within(self, making: Making, column: Any, name: str, step: Step) -> Any:
        """Apply a function to one member of the maps, and return the changed rows."""
        members = MapMembers(column, [name])
        rows = members.rows
        if not len(rows):
            return rows
        has = members.has(0)
        making.put(rows[~has], [rows_in(column, rows[~has])])
        places = np.flatnonzero(has)
        if not len(places):
            return rows
        inner = as_string(members.spans(0, places).column())
        over, kept = self._stepped(making, inner, step, rows[places])
        return np.delete(rows, making.put_copied(members, places[kept], [over]))

    def _take_members(self, making: Making, column: Any, use: MapUse) -> Any:
        """Apply the function to maps of the touched or read members alone, and return the changed rows.

        Even if maps differ, the values of these members are of few kinds.
        """
        names = tuple(dict.fromkeys(use.touched or use.read))
        members = MapMembers(column, names)
        rows = members.rows
        if not len(rows):
            return rows
        if use.touched:
            inner: Making = making.of_names(names, len(rows))
        else:
            inner = making.of_part(len(rows), use.removes is not None)
        for group in members.groups():
            self._take_group(inner, group, rows[group.places])
        found, places = inner.columns(), np.arange(len(rows))
        if not use.touched:
            if use.removes is None:
                return making.put(rows, found)
            return np.delete(rows, making.put_copied(members, places, (), found, use.removes))
        if (failed := making.have_failed(rows)).any():
            making.put_nulls(rows[failed])
            places, found = places[~failed], [each.filter(pa.array(~failed)) for each in found]
        return np.delete(rows, making.put_copied(members, places, found))

    def _take_group(self, inner: Making, group: MemberGroup, rows: Any) -> None:
        """Change a group of maps, together or one by one."""
        left = np.ones(len(rows), bool)
        if group.is_nested:
            found = self._layouts_of_parts.groups(group.texts())
            alike = [UniformRows(rows[each.rows], each.value) for each in found]
        else:
            alike = [] if are_few(len(rows)) else [UniformRows(rows, group.value())]
        for each in alike:
            left[np.searchsorted(rows, inner.take(each))] = False
        if left.any():
            inner.take_each(rows[left], to_values(rows_in(group.texts(), np.flatnonzero(left))))

    def _rewriting(self, moves: Moves) -> Rewriting:
        """Return the cached rewriting for the moves."""
        for known, rewriting in self._rewritings:
            if known == moves:
                return rewriting
        self._rewritings.append((moves, Rewriting(moves)))
        del self._rewritings[:-_MOST_REWRITINGS]
        return self._rewritings[-1][1]


def wrapped(column: Any, name: str) -> Any:
    """Return each value of a column as the only member of an object; the name must not be a tag."""
    pieces = [f"{{{plain_to_json(name)}:".encode(), column.fill_null(constant("null")), b"}"]
    return as_string(join(pieces, len(column)))


def read_members(column: Any, names: Collection[str]) -> Iterator[tuple[Any, Any]]:
    """Yield maps of the named members alone, each different one once, with the numbers of the rows that have it.

    Rows in which the members are not found with certainty are in none.
    """
    members = MapMembers(column, sorted(names))
    for group in members.groups():
        rows, encoded = members.rows[group.places], group.texts().dictionary_encode()
        numbers = encoded.indices.to_numpy()
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(encoded.dictionary)))[:-1]
        yield from zip(np.split(rows[order], ends), to_values(encoded.dictionary))

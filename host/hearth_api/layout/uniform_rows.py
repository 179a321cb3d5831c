"""Rows without schema that share one layout, changed as one value with a `ScalarColumn` in the place of each scalar.

A column without schema holds JSON texts, and most of those of one topic have the same members in the same order.
`Layouts` finds the rows that differ in their scalars alone. What is done to a value, its members moved, renamed or
left out, is then done to one value for all of them, and `stretch.to_texts` writes it for all. Arrays that have as many
elements are laid out alike, too. Rows that are like few others are in no group, nor are those with numbers that
another writer of JSON would print in another way: they are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api.batch.column import arrow_type
from hearth_api.batch.scalar_column import ScalarColumn, UnlikeError
from hearth_api.batch.wire import SCALAR_TAGS
from hearth_api.layout.scalars import ScalarPlace, Scalars, ScalarsOfColumn, are_scalars
from hearth_api.layout.spans import memory
from hearth_api.layout.template import (
    Fitting,
    Known,
    NoTemplateError,
    Payloads,
    Template,
    Walker,
    are_few,
    cut,
)

_DEEPEST = 20
_MOST_SKIPPED = 31
_WORTH_IT = 4
"""Where so many times the rows that are alike are fewer than all, it is not worth while to look for them."""


@dataclass(frozen=True)
class _Layout:
    """How texts are laid out: their template, and the value they hold, with a place for each scalar."""

    template: Template
    value: Any


@dataclass(frozen=True)
class UniformRows:
    """Rows that are laid out alike: their numbers, ascending, and what stands for the values of all of them."""

    rows: Any
    value: Any

    def part(self, mask: Any) -> UniformRows:
        """Return the rows for which a mask is true."""
        return UniformRows(self.rows[mask], _part(self.value, mask))


@dataclass(frozen=True)
class Grouped:
    """A column without schema, and groups of its rows that are known to be laid out alike, none of them null.

    Who has made a column many rows at a time knows this, and who changes it next is spared the search. It goes with
    the column in a batch, within one process.
    """

    column: Any
    groups: Sequence[UniformRows] = ()

    def of(self, column: Any) -> Sequence[UniformRows]:
        """Return the groups where this is the column they are of, and no part of it."""
        return self.groups if _address(column) == _address(self.column) else ()


class Layouts:
    """Finds the rows of columns that are laid out alike, and remembers how rows were."""

    def __init__(self, are_foreign: bool = False) -> None:
        """Tell whether others wrote the texts.

        Then an object such as `{"@bytes": ...}` is none of the scalars that JSON lacks, and what is escaped in a
        text is written anew.
        """
        self._are_foreign = are_foreign
        self._known: Known[_Layout] = Known()
        self._misses = self._skipping = 0

    def groups(self, texts: Any, allowed: Any = None, known: Sequence[UniformRows] = ()) -> Iterator[UniformRows]:
        """Return groups of the rows of a column of JSON texts; of other texts `allowed` tells which may be in one.

        Of such a text all has been proved then but that it is UTF-8 without control characters. What is `known` comes
        first, and where that is most of the rows it is all. After columns in which hardly any rows are alike some
        others are not looked at, the more the more often that was so.
        """
        left = np.ones(len(texts), bool) if allowed is None else allowed.copy()
        for group in known:
            left[group.rows] = False
            yield group
        if are_few(int(np.count_nonzero(left))):
            return
        if self._skipping:
            self._skipping -= 1
            return
        if texts.null_count:
            left &= texts.is_valid().to_numpy(zero_copy_only=False)
        content, offsets = memory(texts)
        if not len(content):
            return
        payloads, count = Payloads(content, offsets), 0
        worth = max(len(texts) // _WORTH_IT, 1)
        for layout in self._known.tried(left, lambda: self._learned(texts, left), worth):
            fitting = _sure(layout.template, payloads.part(np.flatnonzero(left)))
            left[fitting.rows] = False
            try:
                value = _filled(layout.value, layout.template, fitting, self._are_foreign) if len(fitting) else None
            except UnlikeError:
                continue
            count += len(fitting)
            if len(fitting):
                yield UniformRows(fitting.rows, value)
        self._misses = 0 if count >= worth else min(2 * self._misses + 1, _MOST_SKIPPED)
        self._skipping = self._misses

    def _learned(self, texts: Any, left: Any) -> _Layout | None:
        """Return the layout of one of the texts that are left, if it was not known."""
        rows = np.flatnonzero(left)
        chosen = (int(rows[place]) for place in (0, len(rows) // 2, -1))
        found = (_learned(texts[row].as_py(), not self._are_foreign) for row in chosen)
        return next((layout for layout in found if layout not in (None, *self._known.layouts)), None)


class GroupedParts:
    """Columns of rows here and there, which make up one column without schema; of some it is known what they hold."""

    def __init__(self, count: int) -> None:
        """Begin a column of so many rows."""
        self._count = count
        self._parts: list[tuple[Any, Any]] = []
        self._groups: list[UniformRows] = []

    def add(self, rows: Any, column: Any) -> None:
        """Take the column of some rows, given by their ascending numbers."""
        self._parts.append((rows, column))

    def add_alike(self, group: UniformRows, column: Any) -> None:
        """Take the column of rows that are laid out alike."""
        self.add(group.rows, column)
        if not column.null_count:
            self._groups.append(group)

    def grouped(self) -> Grouped:
        """Return the column, and what is known of it."""
        return Grouped(in_rows(self._count, self._parts), self._groups)


def in_rows(count: int, parts: Sequence[tuple[Any, Any]]) -> Any:
    """Return one column of columns of some rows each, given by their numbers, which make up so many together."""
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        return parts[0][1]
    if not parts:
        return pa.nulls(count, arrow_type(None))
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    return pa.concat_arrays([column for _, column in parts]).take(pa.array(order))


def _part(value: Any, mask: Any) -> Any:
    """Return what stands for those of many values for which a mask is true."""
    if isinstance(value, ScalarColumn):
        return value.part(mask)
    if type(value) is dict:
        return {name: _part(item, mask) for name, item in value.items()}
    return [_part(item, mask) for item in value] if type(value) is list else value


def _address(column: Any) -> tuple[Any, ...]:
    """Return what is the same for columns that share all their memory."""
    places = (None if buffer is None else buffer.address for buffer in column.buffers())
    return len(column), column.offset, *places


def _learned(text: str | bytes, knows_tags: bool) -> _Layout | None:
    """Return the layout of a text, None when others could not share it."""
    learner = _Learner(text.encode() if isinstance(text, str) else text, knows_tags)
    try:
        value = learner.value(0)
    except NoTemplateError:
        return None
    template = learner.template()
    return None if template is None else _Layout(template, value)


class _Learner(Walker):
    """Walks along the text of a value without schema."""

    def __init__(self, text: bytes, knows_tags: bool) -> None:
        super().__init__(text)
        self._knows_tags = knows_tags

    def value(self, depth: int) -> Any:
        """Walk along a value, and return it with a place for each scalar."""
        if depth == _DEEPEST:
            raise NoTemplateError
        if self.finds(b"[", passes=False):
            return [self.value(depth + 1) for _ in self.elements()]
        if not self.finds(b"{", passes=False):
            return ScalarPlace(self.scalar(lambda scalar: None), None)
        value = {name: self.value(depth + 1) for name in self.members()}
        if len(value) != 1:
            return value
        ((name, item),) = value.items()
        if not name.startswith("@"):
            return value
        if (
            not self._knows_tags
            or name not in SCALAR_TAGS
            or not isinstance(item, ScalarPlace)
            or item.tag is not None
        ):
            raise NoTemplateError
        return item._replace(tag=name)


def _filled(value: Any, template: Template, fitting: Fitting, are_foreign: bool) -> Any:
    """Return a value with scalars in their places."""
    if isinstance(value, ScalarPlace):
        is_rewritten = are_foreign and len(fitting.escaped(value.number))
        scalars = Scalars(template, fitting, value)
        return ScalarsOfColumn(*scalars.column()) if is_rewritten else scalars
    if type(value) is list:
        return [_filled(item, template, fitting, are_foreign) for item in value]
    return {name: _filled(item, template, fitting, are_foreign) for name, item in value.items()}


def _sure(template: Template, payloads: Payloads) -> Fitting:
    """Return the rows that fit, and in which each value without quotes is a scalar that all print alike."""
    found = cut(template, payloads)
    fitting = Fitting(payloads, found, found.fits)
    sure = np.ones(len(fitting), bool)
    for place in range(len(template.are_quoted) if len(fitting) else 0):
        if (opens := fitting.opens(place)) is False:
            mask = are_scalars(fitting.texts(place))
            sure &= True if mask is None else mask
        elif opens is not True:
            mask = are_scalars(fitting.texts(place).filter(pa.array(~opens)))
            sure[~opens] &= True if mask is None else mask
    return fitting if sure.all() else fitting.only(sure)

"""Schemaless rows of one layout, changed as one value with a `ScalarColumn` in place of each scalar.

A schemaless column holds JSON texts, and most of those of one topic have the same members in the same order. `Layouts`
finds the rows that differ only in their scalars. A change to a value, such as moving, renaming or dropping members, is
then applied to one value for all of them, and `stretch.to_texts` writes the texts of all. Arrays with equally many
elements have the same layout, too. Rows that resemble few others are in no group, nor are those with numbers that
another JSON writer would print differently: they are processed one by one.
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
from hearth_api.layout.scalars import ScalarPlace, Scalars, are_scalars
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


@dataclass(frozen=True)
class _Layout:
    """The layout of texts: their template, and their value with a place for each scalar."""

    template: Template
    value: Any


@dataclass(frozen=True)
class UniformRows:
    """Rows with the same layout: their numbers, ascending, and the value that represents all of them."""

    rows: Any
    value: Any

    def part(self, mask: Any) -> UniformRows:
        """Return the rows selected by a mask."""
        return UniformRows(self.rows[mask], _part(self.value, mask))


class Layouts:
    """Finds the rows of columns with the same layout, and remembers recent layouts."""

    def __init__(self, worth: int = 4) -> None:
        """Start without layouts; one is worthwhile if at least one in ``worth`` rows has it."""
        self._worth = worth
        self._known: Known[_Layout] = Known()
        self._misses = self._skipping = 0

    def groups(self, texts: Any, allowed: Any = None) -> Iterator[UniformRows]:
        """Yield groups of the rows of a column of JSON texts; `allowed` selects candidate rows.

        After columns with hardly any groups, some columns are skipped, the more the more often that happened.
        """
        left = np.ones(len(texts), bool) if allowed is None else allowed.copy()
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
        worth = max(len(texts) // self._worth, 1)
        for layout in self._known.tried(left, lambda: self._learned(texts, left), worth):
            fitting = _sure(layout.template, payloads.part(np.flatnonzero(left)))
            left[fitting.rows] = False
            try:
                value = _filled(layout.value, layout.template, fitting) if len(fitting) else None
            except UnlikeError:
                continue
            count += len(fitting)
            if len(fitting):
                yield UniformRows(fitting.rows, value)
        self._misses = 0 if count >= worth else min(2 * self._misses + 1, _MOST_SKIPPED)
        self._skipping = self._misses

    def _learned(self, texts: Any, left: Any) -> _Layout | None:
        """Return the layout of one of the remaining texts, if it is new."""
        rows = np.flatnonzero(left)
        chosen = (int(rows[place]) for place in (0, len(rows) // 2, -1))
        found = (_learned(texts[row].as_py()) for row in chosen)
        return next((layout for layout in found if layout not in (None, *self._known.layouts)), None)


def in_rows(count: int, parts: Sequence[tuple[Any, Any]]) -> Any:
    """Return one column of `count` rows, composed of columns for the rows with the given numbers."""
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        return parts[0][1]
    if not parts:
        return pa.nulls(count, arrow_type(None))
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    return pa.concat_arrays([column for _, column in parts]).take(pa.array(order))


def _part(value: Any, mask: Any) -> Any:
    """Return the value that represents the rows selected by a mask."""
    if isinstance(value, ScalarColumn):
        return value.part(mask)
    if type(value) is dict:
        return {name: _part(item, mask) for name, item in value.items()}
    return [_part(item, mask) for item in value] if type(value) is list else value


def _learned(text: str) -> _Layout | None:
    """Return the layout of a text, None if others cannot share it."""
    learner = _Learner(text.encode())
    try:
        value = learner.value(0)
    except NoTemplateError:
        return None
    template = learner.template()
    return None if template is None else _Layout(template, value)


class _Learner(Walker):
    """Walks along the text of a schemaless value."""

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
        if name not in SCALAR_TAGS or not isinstance(item, ScalarPlace) or item.tag is not None:
            raise NoTemplateError
        return item._replace(tag=name)


def _filled(value: Any, template: Template, fitting: Fitting) -> Any:
    """Return a value with scalars in its places."""
    if isinstance(value, ScalarPlace):
        return Scalars(template, fitting, value)
    if type(value) is list:
        return [_filled(item, template, fitting) for item in value]
    return {name: _filled(item, template, fitting) for name, item in value.items()}


def _sure(template: Template, payloads: Payloads) -> Fitting:
    """Return the rows that fit and whose unquoted values are scalars that all writers print identically."""
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

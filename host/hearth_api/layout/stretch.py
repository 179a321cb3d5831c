"""Writes values that represent many rows; parts that stay adjacent are copied in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch.scalar_column import ScalarColumn, UnlikeError
from hearth_api.batch.wire import plain_to_json
from hearth_api.layout.scalars import Scalars
from hearth_api.layout.spans import as_string, constant, join, nulled

_NULL = constant("null")


def to_texts(value: Any, count: int) -> Any:
    """Return the JSON texts of a value that represents `count` rows, as a column; a null stays null."""
    if value is None:
        return pa.nulls(count, pa.string())
    pieces = _merged(_pieces(value))
    texts = as_string(join([piece.texts() if isinstance(piece, _Stretch) else piece for piece in pieces], count))
    if not isinstance(value, ScalarColumn):
        return texts
    nulls = pc.equal(texts, _NULL)
    return nulled(texts, nulls) if nulls.true_count else texts


def _pieces(value: Any) -> Iterator[Any]:
    """Yield the constant texts, columns, and scalars that make up the text of a value."""
    if isinstance(value, ScalarColumn):
        if not isinstance(value, Scalars):
            yield from value.pieces()
        elif value.is_plain:
            yield value
        else:
            yield f'{{"{value.tag}":'.encode()
            yield value
            yield b"}"
    elif type(value) is dict:
        if len(value) == 1 and next(iter(value)).startswith("@"):
            raise UnlikeError("an object that looks like a tag")
        yield b"{"
        for number, (name, item) in enumerate(value.items()):
            yield f"{',' if number else ''}{plain_to_json(name)}:".encode()
            yield from _pieces(item)
        yield b"}"
    elif type(value) is list:
        yield b"["
        for number, item in enumerate(value):
            yield b"," if number else b""
            yield from _pieces(item)
        yield b"]"
    else:
        yield plain_to_json(value).encode()


class _Stretch:
    """Adjacent places of a text that keep their order, including its start or end where they reach it."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars, self.first, self.last = scalars, scalars.place, scalars.place
        self.first_place: int | None = self.first
        self.last_place: int | None = self.last

    def goes_on(self, literal: bytes, scalars: Scalars) -> bool:
        """Return whether a place follows the last one, with the same text between them."""
        is_next = scalars.fitting is self.scalars.fitting and scalars.place == self.last + 1
        return is_next and self.scalars.template.literals[scalars.place] == literal

    def texts(self) -> Any:
        """Return the texts of the stretch."""
        return self.scalars.fitting.between(self.first_place, self.last_place)


def _merged(pieces: Iterator[Any]) -> list[Any]:
    """Return the pieces with constants merged, and adjacent places merged into stretches."""
    merged: list[Any] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, bytes) and isinstance(last, bytes):
            merged[-1] = last + piece
        elif isinstance(piece, Scalars):
            _add(merged, piece)
        else:
            merged.append(piece)
    if len(merged) > 1 and isinstance(merged[-2], _Stretch):
        stretch = merged[-2]
        literals = stretch.scalars.template.literals
        if stretch.last == len(literals) - 2 and merged[-1] == literals[-1]:
            stretch.last_place = None
            merged.pop()
    return merged


def _add(merged: list[Any], scalars: Scalars) -> None:
    before = merged[-2] if len(merged) > 1 else None
    if isinstance(before, _Stretch) and isinstance(merged[-1], bytes) and before.goes_on(merged[-1], scalars):
        merged.pop()
        before.last = before.last_place = scalars.place
        return
    stretch = _Stretch(scalars)
    if scalars.place == 0 and merged == [scalars.template.literals[0]]:
        merged.clear()
        stretch.first_place = None
    merged.append(stretch)

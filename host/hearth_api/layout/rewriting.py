"""Rewrites JSON of many rows in one loop, whatever its layout: in hash order, with members moved, flattened, or as
Java's text.

Without the compiled loop (`hatch_build`), it writes no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hearth_api.batch.wire import plain_to_json
from hearth_api.layout.spans import address_of, memory

try:
    from hearth_api.layout.json_flat import Flattener
    from hearth_api.layout.json_lines import write_lines
    from hearth_api.layout.json_loop import Rewriter
except ImportError:
    Flattener = Rewriter = write_lines = None  # type: ignore[assignment,misc]

_MOST_NAMES = 64
_COMMA = ord(",")
_GROWTH_OF_FLOATS, _ROOM_FOR_FLOATS = 4, 64
"""Floats may make a column longer by a fourth and so many bytes."""
_ROOM_FOR_PATHS = 4096
"""Bytes that the names of a column may get longer, in addition to the size of the column."""
_BEHIND = 1 << 31
"""A position after every text that a column can hold."""


@dataclass(frozen=True)
class Moves:
    """Changes to the members of maps, whatever they hold, before they are put into a HashMap."""

    names: Mapping[str, str | None] = field(default_factory=dict)
    """The new names of members, None for removed members."""
    keeps_others: bool = True
    """Whether other members are kept; else they are removed."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Members that are added to every map."""
    is_copied: bool = False
    """Whether that HashMap starts as a copy; else its capacity is the original number of members."""


class RewrittenColumn(NamedTuple):
    """The rewritten texts, and masks of these rows and of those that no reader accepts as JSON."""

    texts: Any
    is_written: Any
    is_broken: Any


class Rewriting:
    """Rewrites texts: with all objects in the order of new HashMaps, or with members of top-level objects moved."""

    def __init__(self, moves: Moves | None = None) -> None:
        """Store the changes to members."""
        self._rewriter: Rewriter | None = None
        if Rewriter is not None and (moves is None or _can_move(moves)):
            self._rewriter = Rewriter(None if moves is None else _encoded(moves))

    def written(self, column: Any) -> RewrittenColumn:
        """Return the texts of those rows of a binary or string column that it can certainly rewrite.

        The texts are UTF-8, written as by this API.
        """
        rewriter, count, (content, offsets) = self._rewriter, len(column), memory(column)
        if rewriter is None or not len(content):
            return _nothing(count)
        room = rewriter.room(len(content), count)
        is_utf8 = _is_utf8(column, content)
        spare = np.empty(room, np.uint8)

        def write(out: int, ends: int, states: int) -> int:
            own = address_of(spare)
            texts = address_of(content), address_of(offsets), count, is_utf8, out, own, ends, states
            return rewriter.write(*texts)

        return _written(write, count, room)


def java_lines(column: Any) -> tuple[Any, Any]:
    """Return Java's text for the rows that it can certainly convert, of a string column of JSON without nulls.

    The second result is a mask of these rows.
    """
    count, (content, offsets) = len(column), memory(column)
    if write_lines is None or not len(content):
        return _nothing(count)[:2]

    growth = len(content) // _GROWTH_OF_FLOATS + _ROOM_FOR_FLOATS

    def write(out: int, ends: int, states: int) -> int:
        return write_lines(address_of(content), address_of(offsets), count, out, growth, ends, states)

    return _written(write, count, len(content) + int(np.count_nonzero(content == _COMMA)) + growth)[:2]


def flattened(column: Any, delimiter: str) -> tuple[Any, Any]:
    """Return flattened objects for the rows that it can certainly flatten, of a string column of JSON written by this
    API; members of inner objects get their path, joined by the delimiter, as name.

    The second result is a mask of these rows.
    """
    count, (content, offsets) = len(column), memory(column)
    if Flattener is None or not len(content) or plain_to_json(delimiter) != f'"{delimiter}"':
        return _nothing(count)[:2]
    room = 2 * len(content) + _ROOM_FOR_PATHS

    def write(out: int, ends: int, states: int) -> int:
        return flattener.write(address_of(content), address_of(offsets), count, out, room, ends, states)

    flattener = Flattener(delimiter.encode())
    return _written(write, count, room)[:2]


def _written(write: Callable[[int, int, int], int], count: int, room: int) -> RewrittenColumn:
    """Return the rewritten texts of the rows."""
    if room >= _BEHIND:
        return _nothing(count)
    out, ends, states = pa.allocate_buffer(room), pa.allocate_buffer(4 * (count + 1)), np.empty(count, np.uint8)
    size = write(out.address, ends.address, address_of(states))
    texts, is_written = pa.Array.from_buffers(pa.string(), count, [None, ends, out.slice(0, size)], 0), states == 1
    return RewrittenColumn(texts if is_written.all() else texts.filter(pa.array(is_written)), is_written, states == 2)


def _nothing(count: int) -> RewrittenColumn:
    return RewrittenColumn(pa.array([], pa.string()), np.zeros(count, bool), np.zeros(count, bool))


def _can_move(moves: Moves) -> bool:
    """Return whether the names are few enough, and none that is written needs escapes."""
    names = [name for name in (*moves.names, *moves.names.values(), *moves.added) if name is not None]
    try:
        "".join([*names, *map(plain_to_json, moves.added.values())]).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return len(moves.names) <= _MOST_NAMES and all(plain_to_json(name) == f'"{name}"' for name in names)


def _encoded(moves: Moves) -> Any:
    names = {name.encode(): None if new is None else new.encode() for name, new in moves.names.items()}
    added = [(name.encode(), plain_to_json(value).encode()) for name, value in moves.added.items()]
    return names, moves.keeps_others, added, moves.is_copied


def _is_utf8(column: Any, content: Any) -> bool:
    if content.max() < 0x80 or column.type == pa.string():
        return True
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True

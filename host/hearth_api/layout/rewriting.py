"""JSON of many rows written anew in one loop, however it is laid out: in order, with members moved, as Java prints it.

Where the loop is not compiled (`hatch_build`), it writes no row.
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
    from hearth_api.layout.json_lines import write_lines
    from hearth_api.layout.json_loop import Rewriter
except ImportError:
    Rewriter = write_lines = None  # type: ignore[assignment,misc]

_MOST_NAMES = 64
_COMMA = ord(",")
_BEHIND = 1 << 31
"""A place behind every text that a column can hold."""


@dataclass(frozen=True)
class Moves:
    """What becomes of the members of maps, whatever they hold, before they are put into a HashMap."""

    names: Mapping[str, str | None] = field(default_factory=dict)
    """The new names of members, None of those that are left out."""
    keeps_others: bool = True
    """Whether others stay as they are; else they are left out."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Values that are added; they are the same in all maps."""
    is_copied: bool = False
    """Whether that HashMap begins as a copy; else it is made for as many members as there were."""


class RewrittenColumn(NamedTuple):
    """The texts of the rows that were written, and masks of these rows and of those that no reader takes for JSON."""

    texts: Any
    is_written: Any
    is_broken: Any


class Rewriting:
    """Writes texts anew: all objects in the order of new HashMaps, or those that the texts are with members moved."""

    def __init__(self, moves: Moves | None = None) -> None:
        """Take what is done to members."""
        self._rewriter: Rewriter | None = None
        if Rewriter is not None and (moves is None or _can_move(moves)):
            self._rewriter = Rewriter(None if moves is None else _encoded(moves))

    def written(self, column: Any, over: Any = None) -> RewrittenColumn:
        """Return the texts of those rows of a binary or string column that it is sure of.

        The texts are UTF-8 and what the API writes; those of objects that are put ``over`` the maps, one over each,
        are that already.
        """
        rewriter, count, (content, offsets) = self._rewriter, len(column), memory(column)
        if rewriter is None or not len(content):
            return _nothing(count)
        others = () if over is None else memory(over)
        room = rewriter.room(len(content), count) + (len(others[0]) if others else 0)
        is_utf8 = _is_utf8(column, content)
        spare = np.empty(room, np.uint8)

        def write(out: int, ends: int, states: int) -> int:
            own = address_of(spare)
            texts = address_of(content), address_of(offsets), count, is_utf8, out, own, ends, states
            return rewriter.write(*texts, *map(address_of, others))

        return _written(write, count, room)


def java_lines(column: Any) -> tuple[Any, Any]:
    """Return what Java prints of the values of those rows it is sure of, of a string column of JSON without nulls.

    The other result is a mask of these rows.
    """
    count, (content, offsets) = len(column), memory(column)
    if write_lines is None or not len(content):
        return _nothing(count)[:2]

    def write(out: int, ends: int, states: int) -> int:
        return write_lines(address_of(content), address_of(offsets), count, out, ends, states)

    return _written(write, count, len(content) + int(np.count_nonzero(content == _COMMA)))[:2]


def _written(write: Callable[[int, int, int], int], count: int, room: int) -> RewrittenColumn:
    """Return the texts that were written of some rows."""
    if room >= _BEHIND:
        return _nothing(count)
    out, ends, states = pa.allocate_buffer(room), pa.allocate_buffer(4 * (count + 1)), np.empty(count, np.uint8)
    size = write(out.address, ends.address, address_of(states))
    texts, is_written = pa.Array.from_buffers(pa.string(), count, [None, ends, out.slice(0, size)], 0), states == 1
    return RewrittenColumn(texts if is_written.all() else texts.filter(pa.array(is_written)), is_written, states == 2)


def _nothing(count: int) -> RewrittenColumn:
    return RewrittenColumn(pa.array([], pa.string()), np.zeros(count, bool), np.zeros(count, bool))


def _can_move(moves: Moves) -> bool:
    """Tell whether the names are not too many, and all that are written are so without escapes."""
    names = [name for name in (*moves.names, *moves.names.values(), *moves.added) if name is not None]
    try:
        "".join([*names, *map(plain_to_json, moves.added.values())]).encode()
    except UnicodeEncodeError:  # half a surrogate pair
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

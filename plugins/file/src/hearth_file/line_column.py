"""Splits lines into Arrow columns, thousands at a time, and joins columns to lines: the fast form of `line`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.layout import address_of, constant, copied
from hearth_file.line import decode
from hearth_file.window import Window

_FEED = ord("\n")
_RETURN = ord("\r")
_BEFORE = b'{"position":'
_AFTER = b"}"
_LONG = 1 << 14
"""Length in bytes from which writing a text in place is faster than copying it."""
_MOST_APART = 512
"""Texts written with one call, each with a line end (half of Linux's ``IOV_MAX``)."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LineColumns:
    """Lines as an Arrow string array, and the positions after them; None for a stream without positions."""

    texts: Any
    positions: Places | None


@dataclass(frozen=True)
class LineIndex:
    """The end of each complete line's text in a window, and the start of the next line."""

    ends: Places
    nexts: Places
    is_ascii: bool

    def __len__(self) -> int:
        """Return the number of complete lines."""
        return len(self.ends)

    def start(self, line: int) -> int:
        """Return the start of a line; for the index after the last line, the start of the incomplete rest."""
        return int(self.nexts[line - 1]) if line else 0


class LineColumnReader:
    """Takes lines from a window as columns; reuses one read and search for several calls."""

    def __init__(self, window: Window) -> None:
        """Start with an empty window."""
        self._window = window
        self._matches = np.empty(window.chunk, np.bool_)
        self._index = LineIndex(np.empty(0, np.int64), np.empty(0, np.int64), True)
        self._line = 0

    def take(self, limit: int) -> LineColumns | None:
        """Return up to `limit` lines, None if there are none."""
        window = self._window
        left = len(self._index) - self._line
        if not left or (left < limit and window.end - window.at < window.chunk // 2):
            window.refill()
            self._index, self._line = self._find_lines(), 0
        first, last = self._line, min(self._line + limit, len(self._index))
        if first == last:
            return None
        origin = window.position(0)
        positions = None if origin is None else self._index.nexts[first:last] + origin
        self._line, window.at = last, self._index.start(last)
        return LineColumns(self._texts(first, last), positions)

    def _find_lines(self) -> LineIndex:
        # A carriage return at the very end waits for the next byte, which may be a line feed of the same line end.
        window = self._window
        octets: Any = np.frombuffer(window.data, np.uint8, window.end)
        is_ascii = bool(octets.max(initial=0) < 0x80)
        feeds = self._places(octets, _FEED)
        if window.data.find(b"\r", 0, window.end) < 0:
            return LineIndex(feeds, feeds + 1, is_ascii)
        returns = self._places(octets, _RETURN)
        if returns[-1] == window.end - 1:
            returns = returns[:-1]
        lone = returns[octets[returns + 1] != _FEED]
        after_return = octets[np.maximum(feeds - 1, 0)] == _RETURN
        ends = np.sort(np.concatenate([feeds - after_return, lone]))
        nexts = np.sort(np.concatenate([feeds, lone])) + 1
        return LineIndex(ends, nexts, is_ascii)

    def _places(self, octets: npt.NDArray[np.uint8], wanted: int) -> Places:
        if len(self._matches) < len(octets):
            self._matches = np.empty(len(octets), np.bool_)
        return np.flatnonzero(np.equal(octets, wanted, out=self._matches[: len(octets)]))

    def _texts(self, first: int, last: int) -> Any:
        index, count = self._index, last - first
        edges = np.empty(2 * count + 1, np.int32)
        edges[0] = index.start(first)
        edges[1::2] = index.ends[first:last]
        edges[2::2] = index.nexts[first:last]
        size = int((edges[1::2] - edges[:-1:2]).sum(dtype=np.int64))
        content = np.frombuffer(self._window.data, np.uint8)
        return _decoded(copied(address_of(content), edges, size), index.is_ascii)


def _decoded(lines: Any, is_ascii: bool) -> Any:
    texts = lines.view(pa.string())
    if is_ascii:
        return texts
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([decode(line) for line in lines.to_pylist()], pa.string())
    return texts


def line_record_batch(lines: LineColumns) -> Any:
    """Return lines and the offsets after them as a RecordBatch; offsets are null for a stream without positions."""
    count = len(lines.texts)
    nowhere = _BEFORE.decode() + "null" + _AFTER.decode()
    offsets = pa.repeat(nowhere, count) if lines.positions is None else offset_column(lines.positions)
    return pa.RecordBatch.from_arrays([lines.texts, offsets], names=["value", "source_offset"])


def offset_column(positions: Places) -> Any:
    """Return positions as source offsets (`{"position":28}`) in an Arrow string array."""
    digits = pc.cast(pa.array(positions), pa.string())
    bounds = np.frombuffer(digits.buffers()[1], np.int32)[: len(digits) + 1]
    width = int(bounds[1])
    if int(bounds[-1]) != width * len(digits):
        return pc.binary_join_element_wise(_BEFORE.decode(), digits, _AFTER.decode(), "")
    # Numbers of one width, the usual case: filling a table of bytes costs half as much.
    table = np.empty((len(digits), len(_BEFORE) + width + len(_AFTER)), np.uint8)
    table[:, : len(_BEFORE)] = np.frombuffer(_BEFORE, np.uint8)
    octets = np.frombuffer(digits.buffers()[2], np.uint8, bounds[-1])
    table[:, len(_BEFORE) : -1] = octets.reshape(-1, width)
    table[:, -1] = _AFTER[0]
    offsets = np.arange(len(digits) + 1, dtype=np.int32) * np.int32(table.shape[1])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(table)]
    return pa.Array.from_buffers(pa.string(), len(digits), buffers)


def line_parts(column: Any) -> list[Any]:
    """Return a column's texts as lines, `null` for a null: long ones as views, the others copied to one buffer."""
    texts = column.cast(pa.string()).fill_null(constant("null"))
    count = len(texts)
    if 0 < count <= _MOST_APART and texts.nbytes >= _LONG * count:
        ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + count + 1].tolist()
        data = memoryview(texts.buffers()[2])
        return [part for start, end in zip(ends, ends[1:]) for part in (data[start:end], b"\n")]
    whole = pa.array([0, len(texts)], pa.int32())
    _, ends, data = pc.binary_join(pa.ListArray.from_arrays(whole, texts), constant("\n")).buffers()
    return [memoryview(data)[: np.frombuffer(ends, np.int32)[1]], b"\n"]


def text_column(texts: Sequence[str | None]) -> Any:
    """Return texts as an Arrow string array."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        # An unpaired surrogate has no UTF-8; Java writes a question mark as well.
        cells = [None if text is None else text.encode("utf-8", "replace") for text in texts]
        return pa.array(cells, pa.binary()).cast(pa.string())


def woven(columns: Sequence[Any], numbers: Sequence[Any]) -> Any:
    """Merge columns of texts in the order of their row numbers."""
    order = pc.sort_indices(pa.concat_arrays(numbers))
    return pa.concat_arrays([column.cast(pa.string()) for column in columns]).take(order)

"""How far a file was read: the source partition and the offset of its records, and what a listing makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import ConnectError
from hearth_api.java import offset_to_json
from hearth_storage.source.source_setting import APPEND, IGNORE

PLACE, FILE = "place", "file"
ROW, VERSION, END = "row", "version", "end"


@dataclass(frozen=True)
class Position:
    """The rows of a file that were read, in which version of it, and whether they were all."""

    row: int
    version: str
    is_end: bool

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Position:
        """Return the position of a stored offset."""
        return cls(int(offset[ROW]), str(offset.get(VERSION) or ""), bool(offset.get(END)))

    def next_row(self, version: str, behavior: str) -> int | None:
        """Return the row to read on from in a version of the file; None if there is nothing to read."""
        if version == self.version or not self.version:
            return None if self.is_end else self.row
        if behavior == IGNORE:
            return None
        return self.row if behavior == APPEND else 0


def partition_of(place: str, name: str) -> dict[str, Any]:
    """Return the source partition of a file."""
    return {PLACE: place, FILE: name}


def offset_column(first: int, count: int, version: str, *, is_end: bool) -> Any:
    """Return the offsets after each of `count` rows as JSON texts; the last may be that of the end of the file."""
    head, tail = _texts(version, is_end=False)
    rows = pa.array(range(first + 1, first + count + 1), pa.int64()).cast(pa.string())
    texts = pc.binary_join_element_wise(head, rows, tail, "")
    if not is_end:
        return texts
    head, tail = _texts(version, is_end=True)
    return pa.concat_arrays([texts.slice(0, count - 1), pa.array([f"{head}{first + count}{tail}"], pa.string())])


def _texts(version: str, *, is_end: bool) -> tuple[str, str]:
    """Return the text of an offset before and after its row."""
    offset: dict[str, Any] = {ROW: 0, VERSION: version}
    text = offset_to_json({**offset, END: True} if is_end else offset)
    head, _, tail = text.partition(f'"{ROW}":0')
    return f'{head}"{ROW}":', tail


def check_offset(partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> None:
    """Raise ConnectError unless the parts of an offset that somebody sets are right."""
    if not isinstance(partition.get(FILE), str) or not isinstance(partition.get(PLACE), str):
        raise ConnectError(f"source partition {dict(partition)} has no texts '{PLACE}' and '{FILE}'")
    if offset is None:
        return
    row = offset.get(ROW)
    if type(row) is not int or row < 0:
        raise ConnectError(f"offset member '{ROW}' is {row!r}: it is the number of rows that were read")
    if not isinstance(offset.get(VERSION, ""), str) or not isinstance(offset.get(END, False), bool):
        raise ConnectError(f"offset {dict(offset)}: '{VERSION}' is a text, '{END}' is true or false")

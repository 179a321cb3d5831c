"""Files of values that a separator ends: how they are cut, and written from columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from hearth_api.layout import join, memory
from hearth_storage.format.compression import Compression
from hearth_storage.format.format import FormatWriter

_CHUNK = 4 * 1024 * 1024
"""Bytes that are read and cut at a time."""
_PIECE = 32 * 1024 * 1024
"""Bytes of a column that are joined at a time."""


class SeparatedWriter(FormatWriter):
    """Writes values, each with a separator after it."""

    def __init__(
        self, out: BinaryIO, encode: Callable[[Any], Any], separator: bytes, compression: Compression
    ) -> None:
        """Set the file, what makes a binary column of a column, and the separator."""
        self._out = out
        self._start = out.tell()
        self._file = compression.wrapped(out)
        self._encode = encode
        self._separator = separator

    def write(self, column: Any) -> None:
        """Write a column."""
        if len(column):
            encoded = self._encode(column)
            rows = max(1, len(encoded) * _PIECE // max(encoded.nbytes, _PIECE))
            for start in range(0, len(encoded), rows):
                part = encoded.slice(start, rows)
                content, _ = memory(join([part, self._separator], len(part)))
                self._file.write(memoryview(content))

    @property
    def size(self) -> int:
        """Return the bytes written; those that a compression holds are not counted."""
        return self._out.tell() - self._start

    def close(self) -> None:
        """Write the end of a compressed file."""
        if self._file is not self._out:
            self._file.close()


def pieces(file: BinaryIO, separator: bytes, start: int = 0) -> Iterator[Any]:
    """Yield binary columns of the pieces between separators, from piece `start` on; nothing follows the last one.

    A piece without a separator after it counts, because a file is complete.
    """
    rest = b""
    while chunk := file.read(_CHUNK):
        *whole, rest = (rest + chunk).split(separator)
        if start < len(whole):
            yield pa.array(whole[start:] if start else whole, pa.binary())
        start = max(0, start - len(whole))
    if rest and not start:
        yield pa.array([rest], pa.binary())

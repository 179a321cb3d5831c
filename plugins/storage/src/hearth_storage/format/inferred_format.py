"""Files of maps without schema in a format that needs one: the file's schema is that of all its rows."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema
from hearth_storage.format.format import FileFormat, FormatWriter, Rows
from hearth_storage.format.inferred_schema import EMPTY, InferredSchema, kind_of, merged

_IN_MEMORY = 4 * 1024 * 1024
"""Bytes of a file's rows that wait in memory for its end; more are on this machine's disk."""


class InferredFormat(FileFormat):
    """A format that writes values without schema by an `InferredSchema`, and others as they are."""

    def __init__(self, inner: FileFormat) -> None:
        """Set the format of the files."""
        super().__init__(inner.settings)
        self._inner = inner

    @property
    def extension(self) -> str:
        """Return that of the format."""
        return self._inner.extension

    def check(self, schema: Schema | None, column: Any) -> None:
        """Raise a `DataError` for a value without schema that is no map."""
        if schema is None and not pc.all(pc.starts_with(column, "{")).as_py():
            raise DataError(
                "a value without schema is no map, so it has no fields for a schema",
                hint="with schema.inference.enable values are maps, or have a schema",
            )

    def writer(self, out: BinaryIO, schema: Schema | None) -> FormatWriter:
        """Return a writer of maps without schema, or of a schema."""
        return InferringWriter(out, self._inner) if schema is None else self._inner.writer(out, schema)

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the rows; the file has their schema."""
        return self._inner.read(file, start)


class InferringWriter(FormatWriter):
    """Keeps texts of maps until the file ends, since its last row may change the schema."""

    def __init__(self, out: BinaryIO, inner: FileFormat) -> None:
        """Set the file and its format."""
        self._out = out
        self._inner = inner
        self._kind = EMPTY
        self._kept: Any = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it ends with the writer
        weakref.finalize(self, self._kept.close)
        self._stream = pa.ipc.new_stream(self._kept, pa.schema([("value", pa.string())]))

    def write(self, column: Any) -> None:
        """Note what the maps hold, and keep their texts."""
        if len(column):
            self._kind = merged(self._kind, kind_of(column))
            self._stream.write_batch(pa.record_batch([column], ["value"]))

    @property
    def size(self) -> int:
        """Return the bytes written, and those of the texts that wait."""
        return self._out.tell() if self._kept.closed else int(self._kept.tell())

    def close(self) -> None:
        """Write the file."""
        self._stream.close()
        self._kept.seek(0)
        inferred = InferredSchema(self._kind)
        writer = self._inner.writer(self._out, inferred.schema)
        for batch in pa.ipc.open_stream(self._kept):
            writer.write(inferred.column(batch.column(0)))
        writer.close()
        self._kept.close()

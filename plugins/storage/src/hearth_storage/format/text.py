"""Files of bare bytes and of texts, as Confluent's sinks write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from hearth_api import OPTIONAL_BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, DataError, Schema, Type, is_logical
from hearth_api.batch import column_to_values
from hearth_api.java import java_text
from hearth_storage.format.compression import Compression
from hearth_storage.format.format import FileFormat, Rows
from hearth_storage.format.separated import SeparatedWriter, pieces

_AS_DIGITS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)


class ByteArrayFormat(FileFormat):
    """Confluent's `ByteArrayFormat`: bytes with a separator after each, which they may not contain to be read back."""

    _kind = "bytearray"
    _default_extension = ".bin"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Take the extension and the separator."""
        super().__init__(settings)
        self._compression = Compression(settings)
        extension = settings.get(f"format.{self._kind}.extension")
        self._extension = str(self._default_extension if extension is None else extension)
        separator = settings.get(f"format.{self._kind}.separator")
        self._separator = str(separator or "\n").encode()

    @property
    def extension(self) -> str:
        """Return the setting, and the extension of the compression."""
        return f"{self._extension}{self._compression.extension}"

    def writer(self, out: BinaryIO, schema: Schema | None) -> SeparatedWriter:
        """Return a writer; raises DataError for another schema than bytes."""
        if schema is not None and schema.type is not Type.BYTES:
            text = f"Invalid schema type for ByteArrayConverter: {schema.type}"
            raise DataError(text, hint="read the topic with ByteArrayConverter")
        return SeparatedWriter(out, lambda column: self._bytes(schema, column), self._separator, self._compression)

    def _bytes(self, schema: Schema | None, column: Any) -> Any:
        if schema is None:
            values = column_to_values(schema, column)
            if any(not isinstance(each, (bytes, bytearray, memoryview)) for each in values):
                raise DataError("ByteArrayFormat writes bytes alone", hint="read the topic with ByteArrayConverter")
            column = pa.array([bytes(each) for each in values], pa.binary())
        if column.null_count:
            raise DataError("a file of bytes has no nulls", hint="set behavior.on.null.values=ignore")
        return column

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the bytes between separators."""
        for column in pieces(file, self._separator, start):
            yield Rows(OPTIONAL_BYTES_SCHEMA, column)


class StringFormat(ByteArrayFormat):
    """Confluent's `StringFormat`: the text of StringConverter with a separator after each."""

    _kind = "string"
    _default_extension = ".txt"

    def writer(self, out: BinaryIO, schema: Schema | None) -> SeparatedWriter:
        """Return a writer of any values."""
        return SeparatedWriter(out, lambda column: _texts(schema, column), self._separator, self._compression)

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the texts between separators; bytes that are not UTF-8 become question marks, as in Java."""
        for column in pieces(file, self._separator, start):
            try:
                yield Rows(OPTIONAL_STRING_SCHEMA, column.cast(pa.string()))
            except pa.ArrowInvalid:
                texts = [each.decode("utf-8", "replace") for each in column.to_pylist()]
                yield Rows(OPTIONAL_STRING_SCHEMA, pa.array(texts, pa.string()))


def _texts(schema: Schema | None, column: Any) -> Any:
    if column.null_count:
        raise DataError("a file of texts has no nulls", hint="set behavior.on.null.values=ignore")
    if schema is not None and not is_logical(schema) and schema.type in (Type.STRING, *_AS_DIGITS):
        return column.cast(pa.string()).cast(pa.binary())
    values = column_to_values(schema, column)
    return pa.array([java_text(value, schema).encode("utf-8", "replace") for value in values], pa.binary())

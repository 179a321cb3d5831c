"""The task that appends records to a file as lines."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth_api import ConnectError, DataError, Schema, SinkRecord, Type, is_logical
from hearth_api.batch import Batch, BatchSinkTask, Declined, column_to_texts
from hearth_api.java import java_text
from hearth_file import VERSION
from hearth_file.setting import FileStreamSinkConfig

if TYPE_CHECKING:
    from hearth_file.plain_line import PlainLines

_STANDARD_OUTPUT = 1
# Arrow formats these as Java does.
_CASTS = (Type.STRING, Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)


class FileStreamSinkTask(BatchSinkTask):
    """Appends one line per record: Java's text of the value, or `null`.

    Each `put` or batch is written to the operating system immediately and contiguously, so that the lines of several
    tasks do not mix and `flush` has nothing to do. Like Kafka's task it does not sync the file to disk.
    """

    columns = frozenset({"value"})
    takes_interleaved = True

    def version(self) -> str:
        """Return the version of the corresponding Kafka Connect class."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Open the file; create it if it does not exist."""
        self._descriptor = _STANDARD_OUTPUT
        self._file = FileStreamSinkConfig(props).file or None
        if self._file is not None:
            self._descriptor = _open(self._file)

    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records."""
        lines = [f"{java_text(record.value, record.value_schema)}\n" for record in records]
        # An unpaired surrogate has no UTF-8; Java writes a question mark as well.
        self._write("".join(lines).encode("utf-8", "replace"))

    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Write the batches: as columns where Arrow has Java's texts, else value by value."""
        from hearth_file.line_column import line_parts, woven

        batches = [batch for batch in batches if batch.num_rows]
        try:
            texts = [self._texts(batch) for batch in batches]
        except DataError:
            return NotImplemented  # a value that Python cannot hold: `put` finds the record
        if len(texts) > 1 and all(batch.column("row") is not None for batch in batches):
            texts = [woven(texts, [batch.column("row") for batch in batches])]
        for each in texts:
            self._write(*line_parts(each))
        return None

    def stop(self) -> None:
        """Close the file; the standard output stays open."""
        descriptor, self._descriptor = self._descriptor, _STANDARD_OUTPUT
        if descriptor != _STANDARD_OUTPUT:
            os.close(descriptor)

    def _texts(self, batch: Batch) -> Any:
        """Return the text or null of each value as a column."""
        from hearth_file.line_column import text_column

        schema, column = batch.value_schema, batch.column("value")
        if column is None:
            return text_column([None] * batch.num_rows)
        if schema is None:
            return self._plain.of(column)
        if _is_text(schema):
            return column
        return text_column(column_to_texts(schema, column))

    @cached_property
    def _plain(self) -> PlainLines:
        from hearth_file.plain_line import PlainLines  # loads Arrow, which the connector does not need

        return PlainLines()

    def _write(self, *parts: Any) -> None:
        left = [memoryview(part) for part in parts]
        try:
            while left:
                left = _after(left, os.writev(self._descriptor, left))
        except OSError as error:
            target = "the standard output" if self._file is None else f"file {self._file!r}"
            raise ConnectError(f"cannot write to {target}: {error.strerror}") from error


def _open(file: str) -> int:
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise ConnectError(
            f"Couldn't find or create file '{file}' for FileStreamSinkTask: {error.strerror}",
            hint="the path must name a file in a folder that exists and that the worker may write to",
        ) from error


def _is_text(schema: Schema) -> bool:
    return schema.type in _CASTS and not is_logical(schema)


def _after(parts: list[memoryview], written: int) -> list[memoryview]:
    while parts and written >= len(parts[0]):
        written -= len(parts[0])
        parts = parts[1:]
    return [parts[0][written:], *parts[1:]] if parts else []

"""Lines of JSON, as Confluent's sinks write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Date, Decimal, Schema, Type
from hearth_api.batch import ColumnRun, PartlyFailed, column_to_values
from hearth_json import JsonConverter
from hearth_storage.format.compression import Compression
from hearth_storage.format.format import FileFormat, Rows
from hearth_storage.format.separated import SeparatedWriter, pieces

_DAY = 86_400_000
_NEWLINE = b"\n"


class JsonFormat(FileFormat):
    """Confluent's `JsonFormat`: the texts of JsonConverter without schemas, a line each."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Configure the converter."""
        super().__init__(settings)
        self._compression = Compression(settings)
        self._converter = JsonConverter()
        decimals = settings.get("json.decimal.format") or "BASE64"
        self._converter.configure({"schemas.enable": False, "decimal.format": decimals}, is_key=False)

    @property
    def extension(self) -> str:
        """Return `.json`, and that of the compression."""
        return f".json{self._compression.extension}"

    def writer(self, out: BinaryIO, schema: Schema | None) -> SeparatedWriter:
        """Return a writer of any values."""
        return SeparatedWriter(out, lambda column: self._texts(schema, column), _NEWLINE, self._compression)

    def _texts(self, schema: Schema | None, column: Any) -> Any:
        """Return JSON texts; a value that is no struct is written by Jackson in Java, which differs for two types."""
        if schema is not None and schema.name == Date.LOGICAL_NAME and schema.type is Type.INT32:
            texts = pc.multiply(column.cast(pa.int64()), _DAY).cast(pa.string())
        elif schema is not None and schema.name == Decimal.LOGICAL_NAME:
            values = column_to_values(schema, column)
            texts = pa.array([None if value is None else str(value) for value in values], pa.string())
        else:
            texts = self._converter.from_connect_batch("", schema, column)
        texts = texts.cast(pa.binary())
        return pc.fill_null(texts, pa.scalar(b"null", pa.binary())) if texts.null_count else texts

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the lines as values without schema; empty lines are passed over, and rows number the others."""
        for lines in pieces(file, _NEWLINE):
            present = lines.filter(pc.not_equal(pc.binary_length(pc.ascii_trim_whitespace(_text(lines))), 0))
            if start < len(present):
                yield Rows(None, self._values(present.slice(start)))
            start = max(0, start - len(present))

    def _values(self, lines: Any) -> Any:
        runs = self._converter.to_connect_batch("", lines)
        if isinstance(runs, PartlyFailed):
            row, error = next(iter(sorted(runs.errors.items())))
            raise DataError(f"a line is no JSON: {_shown(lines[row].as_py())}") from error
        return _in_order(runs)


def _text(lines: Any) -> Any:
    """Return lines as text, or as they are if one is not UTF-8, which then fails as JSON."""
    try:
        return lines.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode("utf-8", "replace") for each in lines.to_pylist()], pa.string())


def _in_order(runs: list[ColumnRun]) -> Any:
    columns = [run.column for run in runs]
    if len(columns) == 1:
        return columns[0]
    whole = pa.concat_arrays(columns)
    if runs[0].rows is None:
        return whole
    return whole.take(pa.array(np.argsort(np.concatenate([np.asarray(run.rows) for run in runs]))))


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else f"{text[:60]}…")

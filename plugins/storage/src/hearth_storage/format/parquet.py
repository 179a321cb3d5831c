"""Parquet files, as Confluent's sinks write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from hearth_api import ConfigError, DataError, Schema
from hearth_api.batch import TableColumn
from hearth_registry.avro_type import text_of
from hearth_registry.schema_text import AVRO, SchemaText
from hearth_storage.format.avro_data import avro_data, avro_settings
from hearth_storage.format.format import FileFormat, FormatWriter, Rows
from hearth_storage.format.parquet_footer import TRAILER, footer_size, rewritten
from hearth_storage.format.parquet_part import ParquetPart, root_part
from hearth_storage.format.parquet_value import table_column

CODEC = "parquet.codec"
AVRO_SCHEMA = "parquet.avro.schema"
ROW_GROUP = 64 * 1024 * 1024
"""Bytes of columns that a row group begins with; they are encoded together."""
_READ_ROWS = 65_536
_EXTENSIONS = {
    "none": "", "uncompressed": "", "snappy": ".snappy", "gzip": ".gz", "brotli": ".br", "lz4": ".lz4hadoop",
    "lz4raw": ".lz4raw", "lz4_raw": ".lz4raw", "zstd": ".zstd",
}  # fmt: skip
_ARROW_CODEC = {"uncompressed": "none", "lz4raw": "lz4", "lz4_raw": "lz4"}


class ParquetFormat(FileFormat):
    """Confluent's `ParquetFormat`: the schema of AvroData as parquet-avro 1.15 writes it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the codec."""
        super().__init__(settings)
        self._codec = str(settings.get(CODEC) or "snappy").lower()
        if self._codec not in _EXTENSIONS:
            raise ConfigError(CODEC, settings[CODEC], f"is one of {', '.join(_EXTENSIONS)}")
        self._avro = avro_data(settings)
        self._ignores_defaults = avro_settings(settings).ignore_default_for_nullables

    @property
    def extension(self) -> str:
        """Return the codec's extension, then `.parquet`."""
        return f"{_EXTENSIONS[self._codec]}.parquet"

    def writer(self, out: BinaryIO, schema: Schema | None) -> ParquetWriter:
        """Return a writer of structs."""
        avro = self._avro.schema_of(schema).type
        part = root_part(schema, avro, ignores_defaults=self._ignores_defaults)
        record = avro if avro.kind == "record" else next(each for each in avro.branches if each.kind == "record")
        return ParquetWriter(out, part, text_of(record), _ARROW_CODEC.get(self._codec, self._codec))

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the rows; the schema is that of AvroData if the file has one, else it follows from the columns."""
        try:
            with pq.ParquetFile(file, pre_buffer=True) as opened:
                yield from self._rows(opened, start)
        except pa.ArrowException as error:
            raise DataError(f"the Parquet file does not parse: {error}") from error

    def _rows(self, opened: Any, start: int) -> Iterator[Rows]:
        """Yield rows; row groups before row `start` are not read."""
        text = (opened.schema_arrow.metadata or {}).get(AVRO_SCHEMA.encode())
        schema, convert = self._conversion(pa.struct(list(opened.schema_arrow)), text)
        counts = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
        first, skipped = 0, start
        while first < len(counts) and counts[first] <= skipped:
            skipped -= counts[first]
            first += 1
        groups = list(range(first, len(counts)))
        for batch in opened.iter_batches(batch_size=_READ_ROWS, row_groups=groups, use_threads=False):
            if skipped < batch.num_rows:
                yield Rows(schema, convert(batch.to_struct_array().slice(skipped)))
            skipped = max(0, skipped - batch.num_rows)

    def _conversion(self, kind: Any, text: bytes | None) -> tuple[Schema, Any]:
        if text is not None:
            known = self._avro.parse(SchemaText(AVRO, text.decode()), {})
            schema = self._avro.reader(known, (), None, None).schema
            if schema is not None and (known_column := table_column(schema, kind)) is not None:
                return schema, known_column.convert
        found = TableColumn.of(kind, "", is_nullable=False)
        assert found.schema is not None
        return found.schema, found.convert


class PlainParquetFormat(ParquetFormat):
    """Parquet files whose names do not tell the codec, as those of Confluent's HDFS sinks."""

    @property
    def extension(self) -> str:
        """Return `.parquet`."""
        return ".parquet"


class ParquetWriter(FormatWriter):
    """Writes structs; a row group is encoded when its bytes are there."""

    def __init__(self, out: BinaryIO, part: ParquetPart, avro_text: str, codec: str) -> None:
        """Set the file, the part of the whole schema, and the text of its Avro schema."""
        self._sink = _Sink(out)
        self._part = part
        self._key_values = {AVRO_SCHEMA: avro_text, "writer.model.name": "avro"}
        self._schema = pa.schema(list(part.kind))
        self._waiting: list[Any] = []
        self._waiting_bytes = 0
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), self._schema, version="1.0", compression=codec, store_schema=False,
            write_statistics=self._ordered_paths(),
        )  # fmt: skip

    def _ordered_paths(self) -> Any:
        """Return the columns with statistics; Arrow does not compare the bytes of decimals as numbers."""
        leaves = [each for _, each in self._part.element.leaves()]
        if not any(each.is_decimal for each in leaves):
            return True
        paths = leaf_paths(self._part.kind)
        return [path for path, each in zip(paths, leaves, strict=True) if not each.is_decimal]

    def write(self, column: Any) -> None:
        """Take over a column of structs."""
        rows = self._part.column(_without_nulls(column))
        self._waiting.append(pa.RecordBatch.from_arrays(rows.flatten(), schema=self._schema))
        self._waiting_bytes += column.nbytes
        if self._waiting_bytes >= ROW_GROUP:
            self._write_group()

    @property
    def size(self) -> int:
        """Return the bytes written, and those of the columns that wait."""
        return self._sink.size + self._waiting_bytes

    def close(self) -> None:
        """Write the last row group and the footer."""
        self._write_group()
        end = self._sink.held(self._writer.close)
        count = footer_size(end)
        self._sink.write(end[: -TRAILER - count])
        self._sink.write(rewritten(end[-TRAILER - count : -TRAILER], self._part.element, self._key_values))

    def _write_group(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._waiting, self._waiting_bytes = [], 0
            self._writer.write_table(table, row_group_size=len(table))


class _Sink:
    """The file that Arrow writes to, whose last bytes can be held back."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._held: list[bytes] | None = None
        self.closed = False
        self.size = 0

    def write(self, data: Any) -> int:
        """Write bytes, or hold them back."""
        if self._held is None:
            self._out.write(data)
            self.size += len(data)
        else:
            self._held.append(bytes(data))
        return len(data)

    def held(self, write: Callable[[], None]) -> bytes:
        """Return what a function writes, in place of writing it."""
        held: list[bytes] = []
        self._held = held
        write()
        self._held = None
        return b"".join(held)

    def flush(self) -> None:
        """Do nothing: the file flushes itself."""

    def close(self) -> None:
        """Do nothing: the file stays open."""


def _without_nulls(column: Any) -> Any:
    if column.null_count:
        raise DataError("a Parquet file has no null records", hint="set behavior.on.null.values=ignore")
    return column


def leaf_paths(kind: Any) -> list[str]:
    """Return the dotted paths of an Arrow struct's columns, as Arrow names them in Parquet."""
    return [".".join(path) for each in kind for path in _paths(each.name, each.type)]


def _paths(name: str, kind: Any) -> Iterator[tuple[str, ...]]:
    above: tuple[str, ...] = (name,)
    if pa.types.is_struct(kind):
        parts = list(kind)
    elif pa.types.is_map(kind):
        parts, above = [kind.key_field, kind.item_field], (name, "key_value")
    elif pa.types.is_list(kind):
        parts, above = [kind.value_field.with_name("element")], (name, "list")
    else:
        yield (name,)
        return
    for each in parts:
        for path in _paths(each.name, each.type):
            yield (*above, *path)

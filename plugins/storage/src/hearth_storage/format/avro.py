"""Avro object container files, as Confluent's sinks write them: one schema, and blocks of encoded records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from hearth_api import ConfigError, DataError, Schema
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.layout import memory
from hearth_registry.avro_format import AvroPayloadReader, AvroPayloadWriter
from hearth_registry.avro_input import Cursor, bytes_at
from hearth_registry.avro_output import number_bytes, put_bytes, put_long
from hearth_registry.avro_type import AvroType
from hearth_registry.schema_text import AVRO, SchemaText
from hearth_storage.format.avro_codec import CODECS, AvroCodec, codec_of
from hearth_storage.format.avro_data import avro_data
from hearth_storage.format.avro_row import RowFinder
from hearth_storage.format.format import FileFormat, FormatWriter, Rows

CODEC = "avro.codec"
MAGIC = b"Obj\1"
SYNC = 16
"""Bytes of the marker between blocks."""
BLOCK = 64_000
"""Bytes of records at which a block ends, as in Java."""
_READ_BYTES = 8 * 1024 * 1024
"""Bytes of records that are read at a time."""
_SCHEMA, _CODEC = "avro.schema", "avro.codec"


class AvroFormat(FileFormat):
    """Confluent's `AvroFormat`: any value with the schema of AvroData; without schema, its record `Anything`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Check the codec."""
        super().__init__(settings)
        name = str(settings.get(CODEC) or "null").lower()
        if name not in CODECS:
            raise ConfigError(CODEC, name, f"is one of {', '.join(CODECS)}")
        self._codec_name = name
        self._avro = avro_data(settings)

    @property
    def extension(self) -> str:
        """Return `.avro`; the codec is in the file."""
        return ".avro"

    def writer(self, out: BinaryIO, schema: Schema | None) -> AvroWriter:
        """Return a writer of values of a schema."""
        avro = self._avro.schema_of(schema)
        values = self._avro.writer(schema, avro)
        is_raw = avro.type.kind == "bytes"
        return AvroWriter(out, schema, avro.text.text, ValueEncoder(values, schema, is_raw), self._codec_name)

    def read(self, file: BinaryIO, start: int = 0) -> Iterator[Rows]:
        """Yield the rows of a file of any codec; a null in a union of the root is a null row."""
        container = _Container(file)
        avro = self._avro.parse(SchemaText(AVRO, container.schema), {})
        values = self._avro.reader(avro, (), None, None)
        decoder = _Decoder(values, avro.type)
        for counts, blocks in container.blocks():
            column = decoder.column(counts, blocks)
            count = len(column)
            skipped = min(max(start, 0), count)
            start -= count
            if skipped < count:
                yield Rows(values.schema, column.slice(skipped))


class ValueEncoder:
    """Encodes columns of a schema, each value as in a block."""

    def __init__(self, writer: AvroPayloadWriter, schema: Schema | None, is_raw: bool) -> None:
        """Set the writer of payloads; `is_raw` says that it writes bytes without their length."""
        self._writer = writer
        self._schema = schema
        self._is_raw = is_raw

    def encoded(self, column: Any) -> Any:
        """Return a binary column of the encoded values."""
        if not self._is_raw:
            made = self._writer.payloads(column, b"")
            if made is not NotImplemented:
                return made
        values = column_to_values(self._schema, column)
        return pa.array([self._bytes(value) for value in values], pa.binary())

    def _bytes(self, value: Any) -> bytes:
        payload = self._writer.payload(value)
        if not self._is_raw:
            return payload
        return number_bytes(len(payload)) + payload


class AvroWriter(FormatWriter):
    """Writes the header, and a block for every 64,000 bytes."""

    def __init__(self, out: BinaryIO, schema: Schema | None, text: str, encoder: ValueEncoder, codec: str) -> None:
        """Write the header; the sync marker follows from the schema, so equal records give equal bytes."""
        self._out = out
        self._encoder = encoder
        self._codec: AvroCodec = codec_of(codec)
        self._sync = hashlib.md5(text.encode(), usedforsecurity=False).digest()
        self._waiting: list[tuple[int, bytes]] = []
        self._waiting_bytes = 0
        self._written = 0
        self._write(_header(text, codec, self._sync))

    def write(self, column: Any) -> None:
        """Encode a column; what is less than a block waits."""
        payloads = self._encoder.encoded(column)
        content, ends = memory(payloads)
        view, first = memoryview(content), 0
        while first < len(payloads):
            room = BLOCK - self._waiting_bytes
            last = int(np.searchsorted(ends, ends[first] + room))
            last = min(max(last, first + 1), len(payloads))
            self._waiting.append((last - first, bytes(view[ends[first] : ends[last]])))
            self._waiting_bytes += int(ends[last] - ends[first])
            if self._waiting_bytes >= BLOCK:
                self._write_block()
            first = last

    @property
    def size(self) -> int:
        """Return the bytes written, and those of the records that wait."""
        return self._written + self._waiting_bytes

    def close(self) -> None:
        """Write the last block."""
        if self._waiting:
            self._write_block()

    def _write_block(self) -> None:
        count = sum(each for each, _ in self._waiting)
        content = self._codec.compress(b"".join([part for _, part in self._waiting]))
        self._waiting, self._waiting_bytes = [], 0
        head = bytearray()
        put_long(head, count)
        put_long(head, len(content))
        self._write(bytes(head) + content + self._sync)

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        self._written += len(data)


class _Container:
    """A file that is read: its schema, and its blocks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise DataError("it is no Avro container file: it does not begin with 'Obj' and a byte 1")
        meta: dict[bytes, bytes] = {}
        while count := self._long():
            if count < 0:
                self._long()  # bytes of the block
            for _ in range(abs(count)):
                name = self._exactly(self._long())
                meta[name] = self._exactly(self._long())
        self.schema = meta[_SCHEMA.encode()].decode()
        self._codec = codec_of(meta.get(_CODEC.encode(), b"null").decode())
        self._sync = self._exactly(SYNC)

    def blocks(self) -> Iterator[tuple[list[int], list[bytes]]]:
        """Yield several blocks at a time: how many records they have, and their bytes."""
        counts: list[int] = []
        blocks: list[bytes] = []
        size = 0
        while head := self._file.read(1):
            count, length = self._long(head), self._long()
            block = self._exactly(length)
            if self._exactly(SYNC) != self._sync:
                raise DataError("the Avro file is damaged: a block does not end with the file's marker")
            if count:
                counts.append(count)
                blocks.append(self._codec.decompress(block))
                size += len(blocks[-1])
            if size >= _READ_BYTES:
                yield counts, blocks
                counts, blocks, size = [], [], 0
        if counts:
            yield counts, blocks

    def _long(self, head: bytes = b"") -> int:
        shift = value = 0
        while (byte := (head or self._exactly(1))[0]) & 0x80:
            value |= (byte & 0x7F) << shift
            shift, head = shift + 7, b""
        value |= byte << shift
        return value >> 1 ^ -(value & 1)

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise DataError("the Avro file is cut off within a block")
        return data


def _header(text: str, codec: str, sync: bytes) -> bytes:
    out = bytearray(MAGIC)
    put_long(out, 2)
    for name, value in ((_SCHEMA, text), (_CODEC, codec)):
        put_bytes(out, name.encode())
        put_bytes(out, value.encode())
    put_long(out, 0)
    return bytes(out) + sync


class _Decoder:
    """Decodes the records of blocks."""

    def __init__(self, values: AvroPayloadReader, avro: AvroType) -> None:
        self._values = values
        self._is_raw = avro.kind == "bytes"
        self._finder = RowFinder(avro)

    def column(self, counts: list[int], blocks: list[bytes]) -> Any:
        """Return the records of blocks as a column."""
        offsets, block = self._finder.offsets(counts, blocks), b"".join(blocks)
        if not self._is_raw:
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
            made = self._values.values(pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers))
            if made is not NotImplemented:
                return made
        payloads = [block[start:end] for start, end in pairwise(offsets.tolist())]
        if self._is_raw:
            payloads = [bytes_at(Cursor(each)) for each in payloads]
        return values_to_column(self._values.schema, [self._values.value(each) for each in payloads])

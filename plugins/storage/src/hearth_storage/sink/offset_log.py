"""The log of Confluent's HDFS sinks, `logs/<topic>/<partition>/log`: which files become visible together.

The format is that of Java's `WALFile`: `WAL`, a version of 0 and 16 bytes of a mark; then records of two texts, each
with its length in front, and now and then the mark after a length of -1. A block of records, from `BEGIN` to `END`,
maps temporary names to those that the files get; one without `END` counts for nothing.
"""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Iterator, Mapping

BEGIN, END = "BEGIN", "END"
_VERSION = b"WAL\0"
_MARK = 16
_HEAD = len(_VERSION) + _MARK
_INT = struct.Struct(">i")
_COMMITTED = re.compile(r"([a-zA-Z0-9._\-]+)\+(\d+)\+(\d+)\+(\d+)(?:.\w+)?", re.ASCII)


class CorruptLog(Exception):
    """A log ends within a record, or is none."""


def encoded(block: Mapping[str, str]) -> bytes:
    """Return a log of one block, of temporary names and those that the files get."""
    records = [(BEGIN, ""), *block.items(), (END, "")]
    return b"".join((_VERSION, uuid.uuid4().bytes, *(_record(*each) for each in records)))


def blocks(data: bytes) -> Iterator[dict[str, str]]:
    """Yield the complete blocks of a log in their order; raises `CorruptLog` behind the last one that can be read.

    A log without version, of a writer that ended at once, has no blocks.
    """
    block: dict[str, str] | None = None
    for name, value in _records(data):
        if name == BEGIN:
            block = {}
        elif name == END:
            if block is not None:
                yield block
            block = None
        elif block is not None:
            block[name] = value


def end_offset(name: str, topic: str, partition: int) -> int:
    """Return the last offset that a file's name tells, -1 if the name is none of the Kafka partition's files."""
    match = _COMMITTED.fullmatch(name.rpartition("/")[2])
    if match is None or match[1] != topic or int(match[2]) != partition:
        return -1
    return int(match[4])


def _record(key: str, value: str) -> bytes:
    first, second = _text(key), _text(value)
    return _INT.pack(len(first) + len(second)) + _INT.pack(len(first)) + first + second


def _records(data: bytes) -> Iterator[tuple[str, str]]:
    if len(data) < len(_VERSION):
        return
    if not data.startswith(_VERSION) or len(data) < _HEAD:
        raise CorruptLog("no log of version 0")
    mark, at = data[len(_VERSION) : _HEAD], _HEAD
    try:
        while at < len(data):
            (size,) = _INT.unpack_from(data, at)
            at += _INT.size
            if size == -1:
                if data[at : at + _MARK] != mark:
                    raise CorruptLog("a mark differs from the first one")
                at += _MARK
                continue
            end = at + _INT.size + size
            if size < 0 or end > len(data):
                raise CorruptLog("a record is cut off")
            key, at = _read_text(data, at + _INT.size)
            value, at = _read_text(data, at)
            if at != end:
                raise CorruptLog("the lengths of a record differ")
            yield key, value
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise CorruptLog("a record is cut off") from error


def _text(text: str) -> bytes:
    """Return a text as Hadoop's `Text.writeString` writes it: a length of one to nine bytes, then UTF-8."""
    data = text.encode()
    if len(data) <= 127:
        return bytes([len(data)]) + data
    size = len(data).to_bytes((len(data).bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(size)]) + size + data


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    first = data[at]
    at += 1
    if first > 127:
        width = 256 - 112 - first
        if not 1 <= width <= 8:
            raise CorruptLog("a length is negative")
        first, at = int.from_bytes(data[at : at + width], "big"), at + width
    return data[at : at + first].decode(), at + first

"""What stands before a payload, or in a header beside it: which schema it was written by.

`00` and the id of the schema in 4 bytes, or `01` and its GUID in 16, then for Protobuf where the message stands in its
file. In a header it is the form with the GUID, and the payload stands alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from hearth_api import ConnectError

ID_MAGIC = 0
GUID_MAGIC = 1
ID_PREFIX = 5
GUID_PREFIX = 17
_MOST_INDEXES = 1000
KEY_HEADER = "__key_schema_id"
VALUE_HEADER = "__value_schema_id"


class PrefixError(ConnectError):
    """The bytes do not begin as they should: `PrefixError(message)`."""

    code = "data.prefix"
    java_name = "java.lang.IllegalArgumentException"


class ShortPrefixError(PrefixError):
    """The bytes end within the prefix."""

    java_name = "java.nio.BufferUnderflowException"


@dataclass(frozen=True)
class SchemaId:
    """The schema a payload was written by, by its id or its GUID."""

    schema_type: str
    schema_id: int | None = None
    guid: str | None = None
    message_indexes: tuple[int, ...] | None = None

    def __str__(self) -> str:
        """Word it as Java's client does."""
        indexes = None if self.message_indexes is None else list(self.message_indexes)
        schema_id, guid, shown = (_java(each) for each in (self.schema_id, self.guid, indexes))
        return f"SchemaId{{schemaType='{self.schema_type}', id={schema_id}, guid='{guid}', messageIndexes={shown}}}"


def _java(value: object) -> str:
    return "null" if value is None else str(value)


def id_prefix(schema_id: int, message_indexes: Sequence[int] = ()) -> bytes:
    """Return what stands before payloads of a schema, by its id."""
    return b"\0" + schema_id.to_bytes(4, "big", signed=True) + _indexes(message_indexes)


def guid_prefix(guid: str, message_indexes: Sequence[int] = ()) -> bytes:
    """Return what stands in the header of a schema, by its GUID."""
    return b"\1" + uuid.UUID(guid).bytes + _indexes(message_indexes)


def read_prefix(schema_type: str, data: bytes, has_indexes: bool) -> tuple[SchemaId, int]:
    """Return which schema data begins with, and where what follows begins; `PrefixError` for none."""
    if not data:
        raise ShortPrefixError("the message is empty")
    if data[0] == ID_MAGIC and len(data) >= ID_PREFIX:
        schema_id, end = SchemaId(schema_type, int.from_bytes(data[1:ID_PREFIX], "big", signed=True)), ID_PREFIX
    elif data[0] == GUID_MAGIC and len(data) >= GUID_PREFIX:
        schema_id, end = SchemaId(schema_type, guid=str(uuid.UUID(bytes=bytes(data[1:GUID_PREFIX])))), GUID_PREFIX
    elif data[0] in (ID_MAGIC, GUID_MAGIC):
        raise ShortPrefixError(f"the message has {len(data)} bytes and ends within the schema's id")
    else:
        raise PrefixError("Unknown magic byte!")
    if not has_indexes:
        return schema_id, end
    indexes, end = read_indexes(data, end)
    return SchemaId(schema_type, schema_id.schema_id, schema_id.guid, indexes), end


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Return where a message stands in its file, and where what follows begins."""
    count, end = _read_varint(data, start)
    if count == 0:
        return (0,), end
    if not 0 < count <= _MOST_INDEXES:
        raise PrefixError(f"Invalid message indexes: {count} levels")
    indexes = []
    for _ in range(count):
        index, end = _read_varint(data, end)
        indexes.append(index)
    return tuple(indexes), end


def _indexes(path: Sequence[int]) -> bytes:
    """Return the bytes of a path; the first message of a file, which most are, is a single zero."""
    if not path:
        return b""
    if tuple(path) == (0,):
        return b"\0"
    return b"".join(map(_varint, (len(path), *path)))


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 31)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_varint(data: bytes, start: int) -> tuple[int, int]:
    number = 0
    for position in range(start, min(start + 5, len(data))):
        number |= (data[position] & 0x7F) << 7 * (position - start)
        if data[position] < 0x80:
            return (number >> 1) ^ -(number & 1), position + 1
    if len(data) - start < 5:
        raise ShortPrefixError("the message ends within the message indexes")
    raise PrefixError("Invalid message indexes: a number without end")

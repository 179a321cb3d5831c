"""The prefix of a payload, or the header of a record, that identifies the writer's schema.

It is `00` and the schema id in 4 bytes, or `01` and the GUID in 16 bytes; for Protobuf the message indexes follow. A
header has the GUID form, and the payload then has no prefix.
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
    """The bytes have no valid prefix: `PrefixError(message)`."""

    code = "data.prefix"
    java_name = "java.lang.IllegalArgumentException"


class ShortPrefixError(PrefixError):
    """The bytes end within the prefix."""

    java_name = "java.nio.BufferUnderflowException"


@dataclass(frozen=True)
class SchemaId:
    """The identity of the writer's schema: its id or GUID."""

    schema_type: str
    schema_id: int | None = None
    guid: str | None = None
    message_indexes: tuple[int, ...] | None = None

    def __str__(self) -> str:
        """Return the text of Java's client."""
        indexes = None if self.message_indexes is None else list(self.message_indexes)
        schema_id, guid, shown = (_java(each) for each in (self.schema_id, self.guid, indexes))
        return f"SchemaId{{schemaType='{self.schema_type}', id={schema_id}, guid='{guid}', messageIndexes={shown}}}"


def _java(value: object) -> str:
    return "null" if value is None else str(value)


def id_prefix(schema_id: int, message_indexes: Sequence[int] = ()) -> bytes:
    """Return the payload prefix with the schema's id."""
    return b"\0" + schema_id.to_bytes(4, "big", signed=True) + _indexes(message_indexes)


def guid_prefix(guid: str, message_indexes: Sequence[int] = ()) -> bytes:
    """Return the header value with the schema's GUID."""
    return b"\1" + uuid.UUID(guid).bytes + _indexes(message_indexes)


def read_prefix(schema_type: str, data: bytes, has_indexes: bool) -> tuple[SchemaId, int]:
    """Parse the schema identity and return it with the end of the prefix; raise `PrefixError` if it is invalid."""
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
    """Parse message indexes and return them with their end."""
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
    """Encode message indexes; the first message of a file, the usual case, is a single zero."""
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

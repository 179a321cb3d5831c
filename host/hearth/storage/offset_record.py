"""Records of an offsets topic as Kafka Connect writes them: ``["NAME",{partition}]`` and the offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.storage.json_record import from_bytes, offset_bytes, to_bytes


def offset_key(connector: str, partition: Mapping[str, Any]) -> bytes:
    """Return the key of a record; to Java, partitions are the same if these bytes are."""
    return b"[" + to_bytes(connector) + b"," + offset_bytes(partition) + b"]"


def offset_value(offset: Mapping[str, Any] | None) -> bytes | None:
    """Return the value of a record; None gives a tombstone, which removes the partition."""
    return None if offset is None else offset_bytes(offset)


def parse_offset(key: bytes | None, value: bytes | None) -> tuple[str, dict[str, Any], dict[str, Any] | None] | None:
    """Return connector, partition and offset of a record; None if its key has no partition.

    Raises ValueError for an invalid record, about which `OffsetUtils.processPartitionKey` warns.
    """
    if key is None:
        raise ValueError("it has no key")
    parsed = from_bytes(key)
    if not isinstance(parsed, list):
        raise ValueError(f"its key should be a list, but is {type(parsed).__name__}")
    if len(parsed) != 2:
        raise ValueError(f"its key has an unexpected number of elements. Expected: 2, actual: {len(parsed)}")
    connector, partition = parsed
    if not isinstance(connector, str):
        raise ValueError(f"the first element of its key should be a name, but is {type(connector).__name__}")
    if partition is None:
        return None
    if not isinstance(partition, dict):
        raise ValueError(f"the second element of its key should be a map, but is {type(partition).__name__}")
    offset = None if value is None else from_bytes(value)
    if not isinstance(offset, (dict, type(None))):
        raise ValueError(f"the offset should be a map, but is {type(offset).__name__}")
    return connector, partition, offset

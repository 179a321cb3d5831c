"""Source partitions and offsets, as Confluent's connector stores them.

The members stand in the order in which Java writes them, so that the stored bytes are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_jdbc.column_field import floor_divided
from hearth_jdbc.dialect.interface import TableId

QUERY_PARTITION = {"query": "query"}
_NUMBER, _MILLIS, _NANOS = "incrementing", "timestamp", "timestamp_nanos"
_SECOND = 1_000_000


def partitions_of(table: TableId) -> list[dict[str, str]]:
    """Return the partitions under which offsets of a table may be stored, the newest form first."""
    return [{"protocol": "1", "table": str(table)}, bulk_partition(table)]


def bulk_partition(table: TableId) -> dict[str, str]:
    """Return the partition of a table that is read as a whole, which is the older form as well."""
    return {"table": table.name}


@dataclass(frozen=True)
class Position:
    """The place after the last row: a timestamp in microseconds since 1970, a number, or both."""

    micros: int | None = None
    number: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Position:
        """Return the place of a stored offset."""
        offset = offset or {}
        millis, nanos = offset.get(_MILLIS), offset.get(_NANOS)
        if millis is None:
            return cls(None, offset.get(_NUMBER))
        micros = millis * 1000 if nanos is None else millis // 1000 * _SECOND + nanos // 1000
        return cls(micros, offset.get(_NUMBER))


def offset_column(micros: Any, numbers: Any) -> Any:
    """Return the offsets of rows as JSON texts, of timestamps, of numbers, or of both."""
    if micros is None:
        return _joined('{"incrementing":', numbers, "}")
    seconds = floor_divided(micros, _SECOND)
    nanos = pc.multiply(pc.subtract(micros, pc.multiply(seconds, _SECOND)), 1000)
    millis = floor_divided(micros, 1000)
    if numbers is None:
        return _joined('{"timestamp_nanos":', nanos, ',"timestamp":', millis, "}")
    return _joined('{"timestamp_nanos":', nanos, ',"incrementing":', numbers, ',"timestamp":', millis, "}")


def _joined(*parts: Any) -> Any:
    texts = [part if isinstance(part, str) else part.cast(pa.string()) for part in parts]
    return pc.binary_join_element_wise(*texts, "")

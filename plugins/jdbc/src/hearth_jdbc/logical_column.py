"""Columns of logical types in the form that statements of the sink take."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Date, Decimal, Schema, Time
from hearth_jdbc.decimal_column import decimal_texts


def logical_column(schema: Schema, array: Any) -> Any:
    """Return decimals as texts, dates and times as Arrow's types, and other physical values as they are."""
    if schema.name == Decimal.LOGICAL_NAME:
        return decimal_texts(schema, array)
    if schema.name == Date.LOGICAL_NAME:
        return array.cast(pa.date32())
    if schema.name == Time.LOGICAL_NAME:
        return array.cast(pa.time32("ms"))
    return array


def local_moments(micros: Any, zone: str) -> Any:
    """Return microseconds since 1970 as times of a zone, without that zone."""
    return pc.local_timestamp(micros.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone)))

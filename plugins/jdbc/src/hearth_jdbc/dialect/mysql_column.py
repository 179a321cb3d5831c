"""The columns of MySQL's results: their types in JDBC's words, and their texts as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymysql.constants import FIELD_TYPE, FLAG

from hearth_api.batch import arrow as pa
from hearth_jdbc.dialect.interface import Column, SqlType, mismatch
from hearth_jdbc.dialect.source_dialect import utc_micros

_BINARY = 63
"""The number of the character set of bytes."""
_NO_DEFAULT = 4096
_TYPES = {
    FIELD_TYPE.TINY: (SqlType.TINYINT, SqlType.SMALLINT, "tinyint"),
    FIELD_TYPE.SHORT: (SqlType.SMALLINT, SqlType.INTEGER, "smallint"),
    FIELD_TYPE.INT24: (SqlType.INTEGER, SqlType.BIGINT, "mediumint"),
    FIELD_TYPE.LONG: (SqlType.INTEGER, SqlType.BIGINT, "int"),
    FIELD_TYPE.LONGLONG: (SqlType.BIGINT, SqlType.BIGINT, "bigint"),
    FIELD_TYPE.FLOAT: (SqlType.REAL, SqlType.REAL, "float"),
    FIELD_TYPE.DOUBLE: (SqlType.DOUBLE, SqlType.DOUBLE, "double"),
    FIELD_TYPE.NEWDECIMAL: (SqlType.DECIMAL, SqlType.DECIMAL, "decimal"),
    FIELD_TYPE.DATE: (SqlType.DATE, SqlType.DATE, "date"),
    FIELD_TYPE.YEAR: (SqlType.DATE, SqlType.DATE, "year"),
    FIELD_TYPE.TIME: (SqlType.TIME, SqlType.TIME, "time"),
    FIELD_TYPE.DATETIME: (SqlType.TIMESTAMP, SqlType.TIMESTAMP, "datetime"),
    FIELD_TYPE.TIMESTAMP: (SqlType.TIMESTAMP, SqlType.TIMESTAMP, "timestamp"),
    FIELD_TYPE.NULL: (SqlType.NULL, SqlType.NULL, "null"),
    FIELD_TYPE.JSON: (SqlType.VARCHAR, SqlType.VARCHAR, "json"),
    FIELD_TYPE.GEOMETRY: (SqlType.VARBINARY, SqlType.VARBINARY, "geometry"),
}
"""Types with and without a sign; those that are missing are texts or bytes, by their character set."""


def column_of(field: Any) -> Column:
    """Return a column by its description in a result."""
    precision = scale = 0
    if field.type_code == FIELD_TYPE.BIT:
        precision, name = field.length, "bit"
        kind = SqlType.TINYINT if precision <= 8 else SqlType.VARBINARY
    elif field.type_code in _TYPES:
        signed, unsigned, name = _TYPES[field.type_code]
        kind = unsigned if field.flags & FLAG.UNSIGNED else signed
        if kind is SqlType.DECIMAL:
            scale = field.scale
            precision = field.length - bool(scale) - (not field.flags & FLAG.UNSIGNED)
    else:
        kind, name = (SqlType.VARBINARY, "blob") if field.charsetnr == _BINARY else (SqlType.VARCHAR, "text")
    return Column(
        field.name,
        kind,
        name,
        precision,
        scale,
        is_optional=not field.flags & FLAG.NOT_NULL,
        is_auto_increment=bool(field.flags & FLAG.AUTO_INCREMENT),
        is_key=bool(field.flags & FLAG.PRI_KEY),
        has_default=not field.flags & _NO_DEFAULT,
        is_zoned=field.type_code == FIELD_TYPE.TIMESTAMP,
    )


def to_array(column: Column, cells: Any, zone: str) -> Any:
    """Return the bytes of a column's cells as the array of its type; a value that does not fit raises a DataError."""
    try:
        return _ARRAYS[column.type](column, cells, zone)
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise mismatch(column, error) from error


def _whole(column: Column, cells: Any, zone: str) -> Any:
    if column.type_name == "bit":
        numbers = [None if cell is None else int.from_bytes(cell, "big") for cell in cells.to_pylist()]
        numbers = [number if number is None or number < 128 else number - 256 for number in numbers]
        return pa.array(numbers, pa.int64())
    return cells.cast(pa.string()).cast(pa.int64())


def _fractions(column: Column, cells: Any, zone: str) -> Any:
    return cells.cast(pa.string()).cast(pa.float64())


def _texts(column: Column, cells: Any, zone: str) -> Any:
    return cells.cast(pa.string())


def _bytes(column: Column, cells: Any, zone: str) -> Any:
    return cells.cast(pa.binary())


def _dates(column: Column, cells: Any, zone: str) -> Any:
    texts = cells.cast(pa.string())
    if column.type_name == "year":
        texts = pa.compute.binary_join_element_wise(texts, "-01-01", "")
    return texts.cast(pa.date32()).cast(pa.int32())


def _times(column: Column, cells: Any, zone: str) -> Any:
    moments = pa.compute.binary_join_element_wise("1970-01-01 ", cells.cast(pa.string()), "")
    return moments.cast(pa.timestamp("us")).cast(pa.int64())


def _timestamps(column: Column, cells: Any, zone: str) -> Any:
    local = cells.cast(pa.string()).cast(pa.timestamp("us"))
    return utc_micros(local, "UTC" if column.is_zoned else zone)


_ARRAYS: dict[SqlType, Callable[[Column, Any, str], Any]] = {
    **dict.fromkeys((SqlType.TINYINT, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), _whole),
    **dict.fromkeys((SqlType.REAL, SqlType.DOUBLE), _fractions),
    **dict.fromkeys((SqlType.DECIMAL, SqlType.VARCHAR, SqlType.NULL), _texts),
    SqlType.VARBINARY: _bytes, SqlType.DATE: _dates, SqlType.TIME: _times, SqlType.TIMESTAMP: _timestamps,
}  # fmt: skip

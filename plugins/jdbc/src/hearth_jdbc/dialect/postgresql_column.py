"""The columns of PostgreSQL's results: their types in JDBC's words, and their texts as Arrow arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from psycopg.types.array import ArrayLoader

from hearth_api.batch import arrow as pa
from hearth_jdbc.dialect.interface import Column, SqlType, mismatch
from hearth_jdbc.dialect.source_dialect import utc_micros
from hearth_jdbc.nested_column import list_array

_BIT, _NUMERIC, _ZONED, _ZONED_TIME = 1560, 1700, 1184, 1266
_TYPES = {
    16: SqlType.BOOLEAN, 17: SqlType.VARBINARY, 18: SqlType.VARCHAR, 19: SqlType.VARCHAR, 20: SqlType.BIGINT,
    21: SqlType.SMALLINT, 23: SqlType.INTEGER, 25: SqlType.VARCHAR, 26: SqlType.BIGINT, 114: SqlType.VARCHAR,
    142: SqlType.VARCHAR, 700: SqlType.REAL, 701: SqlType.DOUBLE, 790: SqlType.DOUBLE, 1042: SqlType.VARCHAR,
    1043: SqlType.VARCHAR, 1082: SqlType.DATE, 1083: SqlType.TIME, 1114: SqlType.TIMESTAMP, _ZONED: SqlType.TIMESTAMP,
    _ZONED_TIME: SqlType.TIME, _NUMERIC: SqlType.NUMERIC, 2950: SqlType.VARCHAR, 3802: SqlType.VARCHAR,
}  # fmt: skip
"""By the number of the type in the catalogue, as the JDBC driver names them; the others are left out of records."""
AS_TEXT = (
    "numeric", "date", "time", "timetz", "timestamp", "timestamptz", "json", "jsonb", "uuid", "money", "interval",
    "inet", "cidr",
)  # fmt: skip
"""Types whose values stay the server's texts, which Arrow reads a column at a time."""
_TEXT = 25


class _TextArrayLoader(ArrayLoader):
    base_oid = _TEXT


_TEXT_LISTS = _TextArrayLoader(0)
_DAY_MICROS = 86_400_000_000
_TIMESTAMP = re.compile(r"(\d+)-(\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?))?(?:\+00)?( BC)?")
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?")


def column_of(name: str, type_name: str, oid: int, modifier: int, kind: str, category: str) -> Column:
    """Return a column by its type in the catalogue."""
    found = _TYPES.get(oid, SqlType.OTHER)
    precision = scale = 0
    if oid == _NUMERIC and modifier > 4:
        precision, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 1024) - 1024
    elif oid == _BIT:
        precision = modifier
        found = SqlType.BOOLEAN if modifier <= 1 else SqlType.TINYINT if modifier <= 8 else SqlType.VARBINARY
    elif kind == "e" or (found is SqlType.OTHER and category == "S"):
        found = SqlType.VARCHAR
    return Column(name, found, type_name, precision, scale, is_zoned=oid == _ZONED)


def array_of(column: Column, element: Column, dimensions: int) -> Column:
    """Return the column as an ARRAY of elements, or of arrays of them."""
    part = element if dimensions <= 1 else array_of(Column(element.name, SqlType.ARRAY), element, dimensions - 1)
    return Column(**{**vars(column), "type": SqlType.ARRAY, "parts": (part,)})


def to_array(column: Column, cells: Sequence[Any], zone: str) -> Any:
    """Return the cells of a column as an Arrow array; a value that cannot be read raises a DataError."""
    try:
        return _ARRAYS[column.type](column, cells, zone)
    except (ValueError, OverflowError, ArithmeticError, pa.ArrowException) as error:
        raise mismatch(column, error) from error


def _lists(column: Column, cells: Sequence[Any], zone: str) -> Any:
    """Return lists; texts, of arrays whose type the driver does not know, are parsed."""
    (part,) = column.parts
    lists = [_TEXT_LISTS.load(cell.encode()) if isinstance(cell, str) else cell for cell in cells]

    def elements(flat: list[Any]) -> Any:
        if any((type(each) is list) is not (part.type is SqlType.ARRAY) for each in flat if each is not None):
            raise ValueError("an array has other dimensions than its column was declared with")
        return to_array(part, flat, zone)

    return list_array(lists, elements)


def _whole(column: Column, cells: Sequence[Any], zone: str) -> Any:
    if column.type_name == "bit":
        numbers = [None if cell is None else int(cell, 2) for cell in cells]
        cells = [number if number is None or number < 128 else number - 256 for number in numbers]
    return pa.array(cells, pa.int64())


def _fractions(column: Column, cells: Sequence[Any], zone: str) -> Any:
    if column.type_name == "money":
        cells = [None if cell is None else _amount(cell) for cell in cells]
    return pa.array(cells, pa.float64())


def _amount(text: str) -> float:
    sign = -1 if text.startswith(("-", "(")) else 1
    return sign * float(re.sub(r"[^\d.]", "", text))


def _texts(column: Column, cells: Sequence[Any], zone: str) -> Any:
    try:
        return pa.array(cells, pa.string())
    except pa.ArrowTypeError:
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _bytes(column: Column, cells: Sequence[Any], zone: str) -> Any:
    if column.type_name == "bit":
        cells = [None if cell is None else cell.encode() for cell in cells]
    return pa.array(cells, pa.binary())


def _truths(column: Column, cells: Sequence[Any], zone: str) -> Any:
    if column.type_name == "bit":
        cells = [None if cell is None else cell == "1" for cell in cells]
    return pa.array(cells, pa.bool_())


def _dates(column: Column, cells: Sequence[Any], zone: str) -> Any:
    texts = pa.array(cells, pa.string())
    try:
        return texts.cast(pa.date32()).cast(pa.int32())
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _odd_moment(cell) // _DAY_MICROS for cell in cells], pa.int32())


def _times(column: Column, cells: Sequence[Any], zone: str) -> Any:
    moments = pa.compute.binary_join_element_wise("1970-01-01 ", pa.array(cells, pa.string()), "")
    try:
        return moments.cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _odd_time(cell) for cell in cells], pa.int64())


def _odd_time(text: str) -> int:
    """Return a time with an offset in UTC, and 24:00 as midnight."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is no time")
    hours, minutes, seconds, fraction, sign, *offset = match.groups()
    micros = _seconds(hours, minutes, seconds) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    shift = _seconds(*(part or "0" for part in offset)) * (-1 if sign == "-" else 1)
    return (micros - shift * 1_000_000) % _DAY_MICROS


def _seconds(hours: str, minutes: str, seconds: str) -> int:
    return (int(hours) * 60 + int(minutes)) * 60 + int(seconds)


def _timestamps(column: Column, cells: Sequence[Any], zone: str) -> Any:
    texts = pa.array(cells, pa.string())
    try:
        if column.is_zoned:
            return texts.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        local = texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        odd = pa.array([None if cell is None else _odd_moment(cell) for cell in cells], pa.int64())
        if column.is_zoned:
            return odd
        local = odd.cast(pa.timestamp("us"))
    return utc_micros(local, zone)


def _odd_moment(text: str) -> int:
    """Return microseconds of years before 1 and after 9999."""
    import numpy as np  # the connector, which lists tables, does not need it

    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is no moment")
    year, day, time, before = match.groups()
    number = 1 - int(year) if before else int(year)
    moment = np.datetime64(f"{number:05d}-{day}T{time or '00:00:00'}" if number < 0 else f"{number:04d}-{day}", "us")
    if number >= 0 and time:
        moment += np.datetime64(f"1970-01-01T{time}", "us") - np.datetime64("1970-01-01", "us")
    return int(moment.astype(np.int64))


_ARRAYS: dict[SqlType, Callable[[Column, Sequence[Any], str], Any]] = {
    **dict.fromkeys((SqlType.TINYINT, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), _whole),
    **dict.fromkeys((SqlType.REAL, SqlType.DOUBLE), _fractions),
    **dict.fromkeys((SqlType.NUMERIC, SqlType.VARCHAR, SqlType.OTHER), _texts),
    SqlType.VARBINARY: _bytes, SqlType.BOOLEAN: _truths, SqlType.DATE: _dates, SqlType.TIME: _times,
    SqlType.TIMESTAMP: _timestamps, SqlType.ARRAY: _lists,
}  # fmt: skip

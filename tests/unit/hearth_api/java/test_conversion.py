"""Values are converted between types as in Kafka Connect."""

from __future__ import annotations

import datetime as dt
import decimal
import time
from collections.abc import Callable
from typing import Any

import pytest

from hearth_api import (
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.java import (
    convert_to,
    convert_to_boolean,
    convert_to_date,
    convert_to_decimal,
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int64,
    convert_to_list,
    convert_to_map,
    convert_to_string,
    convert_to_struct,
    convert_to_time,
    convert_to_timestamp,
)

UTC = dt.timezone.utc
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 6000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse and print timestamps in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (convert_to_boolean, "true", True),
        (convert_to_boolean, "2", True),
        (convert_to_boolean, 0.5, False),
        (convert_to_int8, 300, 44),
        (convert_to_int8, "1.9", 1),
        (convert_to_int64, 1e300, (1 << 63) - 1),
        (convert_to_float32, "0.1", 0.10000000149011612),
        (convert_to_float64, decimal.Decimal("0.1"), 0.1),
        (convert_to_list, "[1,2]", [1, 2]),
        (convert_to_map, "{1:2}", {1: 2}),
        (convert_to_boolean, None, None),
        (convert_to_string, None, None),
    ],
)
def test_values_are_converted(convert: Callable[..., Any], value: Any, expected: Any) -> None:
    """Texts are parsed, numbers truncated."""
    assert convert(None, value) == expected


@pytest.mark.parametrize(
    ("convert", "value", "text"),
    [
        (convert_to_int8, "abc", "Unable to convert abc (class str) to a number"),
        (convert_to_int8, True, "Unable to convert True (class bool) to a number"),
        (convert_to_boolean, "abc", "Unable to convert abc (class str) to a number"),
        (convert_to_list, "1", "Unable to convert 1 (class int) to Schema{ARRAY}"),
        (convert_to_struct, {}, "Unable to convert {} (class dict) to Schema{STRUCT}"),
        (convert_to_list, None, "Unable to convert a null value to a schema that requires a value"),
        (convert_to_timestamp, None, "Unable to convert a null value to a schema that requires a value"),
    ],
)
def test_unsupported_conversion_raises(convert: Callable[..., Any], value: Any, text: str) -> None:
    """The message names the value and the target."""
    with pytest.raises(DataError) as error:
        convert(None, value)
    assert str(error.value) == text


def test_dates_times_and_timestamps_convert_to_each_other() -> None:
    """A timestamp has a date and a time of day; both are timestamps as well."""
    assert convert_to_date(Timestamp.SCHEMA, MOMENT) == dt.date(2020, 1, 2)
    assert convert_to_time(Timestamp.SCHEMA, MOMENT) == dt.time(3, 4, 5, 6000)
    assert convert_to_timestamp(Date.SCHEMA, dt.date(2020, 1, 2)) == dt.datetime(2020, 1, 2, tzinfo=UTC)
    assert convert_to_timestamp(Time.SCHEMA, dt.time(1)) == dt.datetime(1970, 1, 1, 1, tzinfo=UTC)
    assert convert_to_timestamp(None, "2020-01-02T03:04:05.006Z") == MOMENT
    assert convert_to_date(None, 10) == dt.date(1970, 1, 11)
    assert convert_to_int64(Timestamp.SCHEMA, MOMENT) == 1577934245006


def test_days_before_1970_truncate_towards_zero() -> None:
    """Java divides towards zero."""
    assert convert_to_date(Timestamp.SCHEMA, dt.datetime(1969, 12, 31, 12, tzinfo=UTC)) == dt.date(1970, 1, 1)


def test_text_with_schema_is_not_a_timestamp() -> None:
    """Kafka Connect converts a text to a timestamp only if its schema is not STRING."""
    with pytest.raises(DataError, match=r"to Schema\{STRING\}"):
        convert_to_timestamp(STRING_SCHEMA, "2020-01-02T03:04:05.006Z")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"), (2, "2.0"), ("1.50", "1.50"), (b"\x01\x00", "2.56"), (decimal.Decimal("7"), "7"), (-0.0, "0.0"),
    ],
)  # fmt: skip
def test_decimals_come_from_numbers_texts_and_bytes(value: Any, text: str) -> None:
    """Only bytes use the given scale."""
    assert str(convert_to_decimal(None, value, 2)) == text


STRUCT = SchemaBuilder.struct().field("f", FLOAT32_SCHEMA).field('q"', STRING_SCHEMA).build()


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, 'a"b', 'a"b'),
        (None, ['a"\\b', None, True, 1e10], '["a\\"\\\\b",null,true,1.0E10]'),
        (None, b"\x00\x01", "AAE="),
        (None, [b"\x00\x01"], '["AAE="]'),
        (None, {"k": {1: "v"}}, '{"k":{1:"v"}}'),
        (None, Struct(STRUCT).put("f", 1.100000023841858).put('q"', "x"), '{"f":1.1,"q\\"":"x"}'),
        (SchemaBuilder.array(FLOAT32_SCHEMA).build(), [1.100000023841858], "[1.1]"),
        (Timestamp.SCHEMA, MOMENT, "2020-01-02T03:04:05.006Z"),
        (Timestamp.SCHEMA, dt.datetime(2020, 1, 2, tzinfo=UTC), "2020-01-02"),
        (Timestamp.SCHEMA, dt.datetime(1969, 1, 2, 3, tzinfo=UTC), "03:00:00.000Z"),
        (Date.SCHEMA, dt.date(2020, 1, 2), "2020-01-02"),
        (Date.SCHEMA, dt.date(1970, 1, 1), "00:00:00.000Z"),
        (Time.SCHEMA, dt.time(3, 4, 5, 6000), "03:04:05.006Z"),
        (Decimal.schema(-3), decimal.Decimal("1E+3"), "1E+3"),
    ],
)
def test_texts_are_those_of_the_header_converter(schema: Schema | None, value: Any, text: str) -> None:
    """Inside containers texts are quoted; timestamps before 1970-01-02 print as times."""
    assert convert_to_string(schema, value) == text


def test_target_schema_chooses_the_conversion() -> None:
    """One function converts to any schema."""
    assert convert_to(INT8_SCHEMA, None, "5") == 5
    assert convert_to(Date.SCHEMA, None, 1) == dt.date(1970, 1, 2)
    assert convert_to(Decimal.schema(1), None, b"\x0f") == decimal.Decimal("1.5")
    assert convert_to(BYTES_SCHEMA, None, b"x") == b"x"
    assert convert_to(SchemaBuilder.string().name("n").build(), None, 5) == "5"
    assert convert_to(OPTIONAL_INT32_SCHEMA, None, None) is None
    with pytest.raises(DataError, match="null value"):
        convert_to(INT32_SCHEMA, None, None)

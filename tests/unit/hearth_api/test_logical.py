"""Logical types convert Python values to plain Connect values and back."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import INT32_SCHEMA, DataError, Date, Decimal, Schema, Time, Timestamp, Type
from tests.unit.hearth_api.strategy import MOMENTS, TIMES, decimals


@given(st.integers(-5, 40).flatmap(lambda scale: st.tuples(st.just(scale), decimals(scale))))
def test_decimals_keep_every_digit(pair: tuple[int, decimal.Decimal]) -> None:
    """A decimal of any length round-trips with its scale."""
    scale, value = pair
    schema = Decimal.schema(scale)
    back = Decimal.to_logical(schema, Decimal.from_logical(schema, value))
    assert back.as_tuple() == (value if value else value.copy_abs()).as_tuple()


@pytest.mark.parametrize(
    ("number", "data"),
    [(0, "00"), (127, "7f"), (128, "0080"), (-128, "80"), (-129, "ff7f"), (255, "00ff"), (-1, "ff")],
)
def test_decimal_bytes_are_javas(number: int, data: str) -> None:
    """The bytes are the shortest two's complement, as BigInteger writes it."""
    assert Decimal.from_logical(Decimal.schema(0), decimal.Decimal(number)).hex() == data


def test_decimal_scale_must_match() -> None:
    """A decimal of another scale would change its value or its text."""
    with pytest.raises(DataError) as error:
        Decimal.from_logical(Decimal.schema(2), decimal.Decimal("1.5"))
    assert str(error.value) == (
        "Decimal value has mismatching scale for given Decimal schema. Schema has scale 2, value has scale 1."
    )


@pytest.mark.parametrize("parameters", [None, {"scale": "x"}])
def test_decimal_schema_needs_a_scale(parameters: dict[str, str] | None) -> None:
    """Without a scale the bytes mean nothing."""
    with pytest.raises(DataError, match="scale parameter"):
        Decimal.scale(Schema(Type.BYTES, name=Decimal.LOGICAL_NAME, parameters=parameters))


def test_nan_is_not_a_decimal() -> None:
    """Java's decimals have neither NaN nor Infinity."""
    with pytest.raises(DataError, match="not a number"):
        Decimal.from_logical(Decimal.schema(0), decimal.Decimal("NaN"))


@given(st.dates(), TIMES, MOMENTS)
def test_dates_and_times_round_trip(day: dt.date, time: dt.time, moment: dt.datetime) -> None:
    """Dates, times and timestamps of whole milliseconds are unchanged."""
    assert Date.to_logical(Date.SCHEMA, Date.from_logical(Date.SCHEMA, day)) == day
    assert Time.to_logical(Time.SCHEMA, Time.from_logical(Time.SCHEMA, time)) == time
    assert Timestamp.to_logical(Timestamp.SCHEMA, Timestamp.from_logical(Timestamp.SCHEMA, moment)) == moment


def test_units_are_days_and_milliseconds() -> None:
    """Physical values count from 1970-01-01 or from midnight."""
    utc = dt.timezone.utc
    assert Date.from_logical(Date.SCHEMA, dt.date(1970, 1, 11)) == 10
    assert Time.from_logical(Time.SCHEMA, dt.time(1, 0, 0, 5999)) == 3_600_005
    assert Timestamp.from_logical(Timestamp.SCHEMA, dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=utc)) == -1000


def test_zones_are_converted() -> None:
    """A timestamp is the same instant in any zone."""
    zone = dt.timezone(dt.timedelta(hours=2))
    assert Timestamp.from_logical(Timestamp.SCHEMA, dt.datetime(1970, 1, 1, 2, tzinfo=zone)) == 0


def test_day_has_no_time() -> None:
    """A timestamp other than midnight is refused as a date, with Kafka Connect's message."""
    with pytest.raises(DataError, match="should not have any time fields set to non-zero values"):
        Date.from_logical(Date.SCHEMA, dt.datetime(2020, 1, 1, 1))


@pytest.mark.parametrize("millis", [-1, 86_400_000])
def test_time_is_within_a_day(millis: int) -> None:
    """A time of day is less than a day."""
    with pytest.raises(DataError, match="greater than 0 and less than 86400000"):
        Time.to_logical(Time.SCHEMA, millis)


def test_years_outside_pythons_range_raise_data_errors() -> None:
    """Dates before year 1 and after year 9999 are bad data, not a crash."""
    with pytest.raises(DataError, match="outside of the years 1 to 9999"):
        Timestamp.to_logical(Timestamp.SCHEMA, 1 << 62)
    with pytest.raises(DataError, match="outside of the years 1 to 9999"):
        Date.to_logical(Date.SCHEMA, -(1 << 31))


def test_schema_of_another_type_is_refused() -> None:
    """Converting with the wrong schema raises an error."""
    with pytest.raises(DataError, match="Requested conversion of Date object but the schema does not match"):
        Date.from_logical(INT32_SCHEMA, dt.date(2020, 1, 1))

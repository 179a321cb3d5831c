"""Values have Java's text."""

from __future__ import annotations

import datetime as dt
import decimal
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import FLOAT32_SCHEMA, SchemaBuilder
from hearth_api.java import double_text, float_text, java_text
from hearth_api.number import narrow


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (0.000999, "9.99E-4"), (9999999.0, "9999999.0"),
        (1e7, "1.0E7"), (12345678.5, "1.23456785E7"), (1e10, "1.0E10"), (-1.5e-10, "-1.5E-10"), (1e23, "1.0E23"),
        (5e-324, "4.9E-324"), (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity"),
    ],
)  # fmt: skip
def test_doubles_print_as_in_java(value: float, text: str) -> None:
    """Small and large numbers have an exponent, and there is always a digit after the point."""
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"), (1.1, "1.1"), (16777216.0, "1.6777216E7"), (3.4028234663852886e38, "3.4028235E38"),
        (1.401298464324817e-45, "1.4E-45"), (1e40, "Infinity"), (float("nan"), "NaN"), (1e-50, "0.0"),
        (100.0, "100.0"),
    ],
)  # fmt: skip
def test_floats_print_as_in_java(value: float, text: str) -> None:
    """A 32-bit float has the fewest digits that distinguish it from its neighbours."""
    assert float_text(value) == text


@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False))
def test_texts_read_back_as_the_same_number(double: float, single: float) -> None:
    """No significant digit is lost."""
    assert float(double_text(double)) == double
    assert narrow(float(float_text(single))) == single


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), ("x", "x"), (5, "5"), (1e10, "1.0E10"), ([1, "a", None], "[1, a, null]"),
        ({"a": [True]}, "{a=[true]}"), (decimal.Decimal("1E+3"), "1E+3"), (b"\x00\x01", "AAE="),
    ],
)  # fmt: skip
def test_other_values_print_as_their_java_class_does(value: Any, text: str) -> None:
    """The string converter writes these texts."""
    assert java_text(value) == text


def test_schema_distinguishes_32_bit_floats() -> None:
    """Python has no 32-bit floats; the schema identifies them, including inside containers."""
    inner = narrow(1.1)
    assert java_text({"a": [inner]}) == "{a=[1.100000023841858]}"
    schema = SchemaBuilder.map(SchemaBuilder.string(), SchemaBuilder.array(FLOAT32_SCHEMA)).build()
    assert java_text({"a": [inner]}, schema) == "{a=[1.1]}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.datetime(2020, 2, 29, 12, 30, tzinfo=dt.timezone.utc), "Sat Feb 29 12:30:00 UTC 2020"),
        (dt.date(1970, 1, 2), "Fri Jan 02 00:00:00 UTC 1970"),
        (dt.date(1215, 3, 11), "Wed Mar 04 00:00:00 UTC 1215"),
        (dt.date(1582, 10, 14), "Thu Oct 04 00:00:00 UTC 1582"),
        (dt.date(1582, 10, 15), "Fri Oct 15 00:00:00 UTC 1582"),
        (dt.time(1, 2, 3), "Thu Jan 01 01:02:03 UTC 1970"),
    ],
)
def test_dates_and_times_print_as_javas_date(value: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java has one class for dates, times and timestamps, printed in the machine's time zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert java_text(value) == text

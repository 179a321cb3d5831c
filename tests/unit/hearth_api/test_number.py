"""Numbers are parsed, truncated and rounded as in Java."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.java import decimal_to_float32, to_long, wrap
from hearth_api.number import narrow, parse_decimal


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "1_000", "NaN", "Infinity", "0x10", "1f", "1L", "1e", "1e+", "+-1", " 1", "1 ", "\U0001d7cf",
     "1e2147483648", "1e99999999999", "0.1e-2147483648"],
)  # fmt: skip
def test_texts_java_refuses_are_not_numbers(text: str) -> None:
    """Python would parse some of them, and Kafka Connect treats them as strings."""
    assert parse_decimal(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("5.", "5"), (".5", "0.5"), ("+.5", "0.5"), ("00123", "123"), ("1e0000000000012", "1E+12"), ("\u0661", "1"),
     ("1.50", "1.50"), ("-1E-3", "-0.001"), ("-0.0", "0.0"), ("1e2147483647", "1E+2147483647")],
)  # fmt: skip
def test_numbers_keep_their_scale(text: str, number: str) -> None:
    """Trailing zeros and exponents remain, a minus before zero does not."""
    found = parse_decimal(text)
    assert found is not None
    assert found.as_tuple() == Decimal(number).as_tuple()


@pytest.mark.parametrize(
    ("number", "long"),
    [(1 << 63, -(1 << 63)), (1.9, 1), (-1.9, -1), (1e300, (1 << 63) - 1), (-1e300, -(1 << 63)), (math.nan, 0),
     (math.inf, (1 << 63) - 1), (Decimal("9223372036854775808"), -(1 << 63)), (Decimal("1e1000000000"), 0),
     (Decimal("1e-1000000000"), 0), (Decimal("-7.9"), -7)],
)  # fmt: skip
def test_longs_are_cut_as_in_java(number: int | float | Decimal, long: int) -> None:
    """Integers and decimals wrap, floats saturate."""
    assert to_long(number) == long


def test_wrapping_keeps_the_low_bits() -> None:
    """A byte is the low eight bits of a number."""
    assert [wrap(number, 8) for number in (127, 128, 300, -129)] == [127, -128, 44, 127]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**39), max_value=10**39))
def test_decimals_become_the_nearest_float(number: Decimal) -> None:
    """It is rounded once: no other 32-bit float is nearer."""
    found = decimal_to_float32(number)
    if math.isinf(found):
        assert abs(number) >= Decimal("3.4028235677973366e38")
        return
    neighbours = [narrow(math.nextafter(found, side) + side_step) for side, side_step in _sides(found)]
    distance = abs(Fraction(found) - Fraction(number))
    assert all(distance <= abs(Fraction(other) - Fraction(number)) for other in neighbours if math.isfinite(other))


def _sides(value: float) -> list[tuple[float, float]]:
    step = max(abs(value) * 2.0**-24 * 1.5, 2.0**-149)
    return [(math.inf, step), (-math.inf, -step)]


def test_double_rounding_is_avoided() -> None:
    """A number just above the middle of two floats goes up, although its 64-bit float is the middle."""
    middle = Decimal(1) + Decimal(2) ** -24
    assert decimal_to_float32(middle) == 1.0
    assert decimal_to_float32(middle + Decimal("1e-25")) == 1.0 + 2.0**-23

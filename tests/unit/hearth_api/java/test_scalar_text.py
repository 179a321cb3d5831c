"""A text recognised by its first characters has the value that its tokens have."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth_api import FLOAT32_SCHEMA, STRING_SCHEMA
from hearth_api.java import decimal_to_float32, parse_string
from hearth_api.java.scalar_text import read_number, read_scalar
from hearth_api.java.values import _Parser
from hearth_api.schema import deep_key

MOMENTS = ["12:34:56.789Z", "2026-01-01T12:34:56.789Z", "2026-01-01T12:34:56Z", "2026-01-01T12:34:56+00:00"]
PARTS = [
    *'0123456789+-.eEfFdDTZ:,[]{}"\\ \t\n\x00xa_/%é\u00a0\u0661\U0001d7ce\U0001f600',
    *("null", "true", "false", "NaN", "Infinity", "2026-01-01", "T12:34:56.789Z", "2019-8-23", "1e400", "12e5", "0.0"),
    *(
        "127",
        "32768",
        "2147483648",
        "9223372036854775807",
        "99999999999999999999",
        "16777217.0",
        "0" * 12,
        "550e8400-",
    ),
]
TEXTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=24).map("".join) | st.text(min_size=1, max_size=30)
NUMBERS = st.from_regex(r"[+-]?[0-9]{0,19}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,5})?", fullmatch=True).filter(bool)
IDENTIFIERS = st.from_regex(r"[0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9e.-]{25,40}", fullmatch=True)


@given(TEXTS | NUMBERS | IDENTIFIERS)
@example("6739-13-3,")
@example("2026-0-01T00:00:07.000Z:")
@example("1234567890123456789012345e-5")
@example("-1-234567890123456789012345")
@example("1E3-1-1x::::")
@example("19-1-1::::")
@example("12e5-3")
@example("2026-01-01T12:34:56Z")
@example("12:34:56.789Z")
def test_text_is_parsed_like_its_tokens(text: str) -> None:
    """Unless the first characters do not suffice."""
    found, wanted = read_scalar(text), _Parser(text).parse()
    if found is not None:
        assert (found[0], deep_key(found[1])) == (wanted[0], deep_key(wanted[1]))


@pytest.mark.parametrize(
    "kind", ["4bf92f3577b34da6", "00000000000012", "12.5", "2026-01-01", "true", "service-3", "-7"]
)
def test_common_headers_are_recognised(kind: str) -> None:
    """Identifiers, numbers, dates, words."""
    assert read_scalar(kind) == parse_string(kind)


def _middle(bits: int) -> Decimal:
    """Return the number halfway between two 32-bit floats."""
    low, high = 8388608 + bits % 8388607, 8388609 + bits % 8388607
    return Decimal(low + high) / 2 / Decimal(2) ** (bits % 40)


@given(st.integers(0, 1 << 40), st.sampled_from(["", "1", "00000000000000000001"]), st.sampled_from(["", "-"]))
def test_a_decimal_is_rounded_once(bits: int, more: str, sign: str) -> None:
    """To 32 bits, even if its 64-bit float is halfway between two of them and the text slightly more."""
    text = f"{sign}{_middle(bits):f}{more}"
    found = read_number(text)
    assert found is not None
    if found[0] is FLOAT32_SCHEMA:
        assert found[1] == decimal_to_float32(Decimal(text))
    else:
        assert found[1] == Decimal(text)


@pytest.mark.parametrize(
    "text", ["0.00000000000000000000000000000000000000000001", f"0.{'0' * 400}1", "1e39", "1e400"]
)
def test_numbers_outside_32_bits_are_parsed_as_by_java(text: str) -> None:
    """Small ones round to 0; large ones keep 64 bits or all digits."""
    found = read_number(text)
    assert found is not None
    assert found[1] == (Decimal(text) if text == "1e400" else pytest.approx(float(text), abs=1e-44))


def test_text_of_another_script_is_not_recognised() -> None:
    """Java accepts its digits, unless they take two UTF-16 units."""
    assert read_scalar("\u0661") is None
    assert parse_string("\u0661").value == 1
    assert parse_string("\U0001d7ce") == (STRING_SCHEMA, "\U0001d7ce")

"""Java's arithmetic on Connect data: number texts, wrapping integers, 32-bit floats."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

# Java accepts any decimal digit of the Basic Multilingual Plane, and none beyond it.
_DIGIT = r"[^\D\U00010000-\U0010ffff]"
_NUMBER = re.compile(rf"([+-]?)({_DIGIT}*)(?:\.({_DIGIT}*))?(?:[eE]([+-]?{_DIGIT}+))?")
_INT_MAX = (1 << 31) - 1


def parse_decimal(text: str) -> Decimal | None:
    """Return the number that Java's BigDecimal parses from the text, or None if it rejects the text."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent = match.groups(default="")
    if not whole + fraction:
        return None
    # The scale must fit 32 bits, and so must the exponent, which may have ten digits.
    if len(exponent.lstrip("+-").lstrip("0")) > 10:
        return None
    power = int(exponent or "0")
    if not -_INT_MAX - 1 <= power <= _INT_MAX or not -_INT_MAX - 1 <= len(fraction) - power <= _INT_MAX:
        return None
    number = Decimal(f"{sign}{whole}{fraction}E{power - len(fraction)}")
    return number if number else number.copy_abs()


def wrap(number: int, bits: int) -> int:
    """Return the number truncated to a number of bits, as Java's casts between integers do."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def to_long(number: int | float | Decimal) -> int:
    """Return the 64-bit integer that Java's `longValue()` returns for a number."""
    if isinstance(number, float):
        return int(number) if abs(number) < 2.0**63 else _saturated(number)
    if isinstance(number, Decimal):
        return _decimal_to_long(number)
    return wrap(number, 64)


def _saturated(number: float) -> int:
    if math.isnan(number):
        return 0
    return (1 << 63) - 1 if number > 0 else -(1 << 63)


def _decimal_to_long(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    # 10**64 is a multiple of 2**64, so the low 64 bits of such a number are zero.
    if not isinstance(exponent, int) or exponent >= 64 or number.adjusted() < 0:
        return 0
    return wrap(int(number), 64)


def narrow(number: float) -> float:
    """Return the nearest 32-bit float, infinite if there is none."""
    try:
        narrowed: float = struct.unpack(">f", struct.pack(">f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return narrowed


def decimal_to_float32(number: Decimal) -> float:
    """Return the 32-bit float nearest to a decimal.

    Rounding to 64 bits first would round twice, so the 64-bit float is rounded to odd, which avoids that.
    """
    wide = float(number)
    if wide == 0.0 or not math.isfinite(wide) or Decimal(wide) == number:
        return narrow(wide)
    if abs(Decimal(wide)) > number.copy_abs():
        wide = math.nextafter(wide, 0.0)
    (bits,) = struct.unpack(">q", struct.pack(">d", wide))
    (odd,) = struct.unpack(">d", struct.pack(">q", bits | 1))
    return narrow(odd)

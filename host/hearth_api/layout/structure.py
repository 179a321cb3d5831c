"""The bytes of many JSON texts, however they are laid out, and which of them stand in strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from hearth_api.layout.piece import Spans, memory, rows_of
from hearth_api.layout.scalars import are_scalars
from hearth_api.layout.template import unescaped

_QUOTE, _BACKSLASH, _SPACE = b'"\\ '
_COMMA, _COLON, _POINT, _MINUS, _ZERO, _AT = b",:.-0@"
_OPENED, _CLOSED, _EXPONENT = b"{}e"
_LOWER = 0x20
"""The bit that makes braces of brackets and small letters of capital ones."""
_DIGITS, _WHOLE_DIGITS = 15, 7
"""A number of so many digits is told by its 64 bits; one with more before the point is written with an exponent."""
_FIRST_PLACES = np.arange(1, 4)
"""Where a fraction that is written with an exponent has zeros behind its point."""
_ONE, _PAIRS, _FOURS, _BYTES, _EACH = (
    np.uint64(each)
    for each in (1, 0x5555_5555_5555_5555, 0x3333_3333_3333_3333, 0x0F0F_0F0F_0F0F_0F0F, 0x0101_0101_0101_0101)
)


class Structure:
    """JSON texts of a column without nulls. A mask tells of every byte whether something holds for it."""

    def __init__(self, column: Any) -> None:
        """Find the strings."""
        self.content, self.offsets = memory(column)
        self.quotes = self.content == _QUOTE
        """Those around strings; the escaped ones within are none."""
        self.escaped: Any = np.empty(0, np.int64)
        """The rows that hold an escape."""
        if b"\\" in self.content.tobytes():
            self._leave_out_escaped()
        inside = _odd_up_to(self.quotes)
        self._outside = ~(inside | self.quotes)
        self._is_whole = not (len(inside) and inside[self.offsets[1:] - 1].any())

    def outer(self, byte: int) -> Any:
        """Return the mask of a byte that stands in no string."""
        return (self.content == byte) & self._outside

    def count(self, marks: Any) -> Any:
        """Return how many bytes of a mask stand before each of the offsets."""
        words = _words(marks)
        sums = np.zeros(len(words), np.int64)
        np.cumsum(_ones(words[:-1]), out=sums[1:])
        whole, rest = self.offsets >> 6, (self.offsets & 63).astype(np.uint64)
        return sums[whole] + _ones(words[whole] & (_ONE << rest) - _ONE)

    def unusual_rows(self) -> Any:
        """Return a mask of the rows with a tag, spaces between values, or a number that others would write otherwise.

        All of them where a string does not end.
        """
        unusual = np.full(len(self.offsets) - 1, not self._is_whole)
        if self._is_whole and len(self.content):
            places = np.concatenate([self._odd_places(), self._odd_fractions()])
            unusual[rows_of(places, self.offsets)] = True
        return unusual

    def _odd_places(self) -> Any:
        content = self.content
        tags = np.flatnonzero(self.outer(_OPENED)[:-2] & (content[2:] == _AT))
        spaces = np.flatnonzero((content <= _SPACE) & self._outside)
        exponents = np.flatnonzero(((content | _LOWER) == _EXPONENT) & self._outside)
        exponents = exponents[content.take(exponents - 1, mode="clip") - _ZERO < 10]
        zeros = np.flatnonzero(self.outer(_MINUS)[:-1] & (content[1:] == _ZERO))
        zeros = zeros[content.take(zeros + 2, mode="clip") != _POINT]
        return np.concatenate([tags, spaces, exponents, zeros])

    def _odd_fractions(self) -> Any:
        """Return the points of fractions that others would write in another way."""
        points = np.flatnonzero(self.outer(_POINT))
        if not len(points):
            return points
        rows = np.searchsorted(self.offsets, points, side="right")
        whole = self._digits(points, -1, self.offsets[rows - 1] - 1)
        after = self._digits(points, 1, self.offsets[rows])
        sure = (whole > 0) & (whole <= _WHOLE_DIGITS) & (after > 0)
        sure &= (after == 1) | (self.content[points + after] != _ZERO)
        begin_small = self.content[points - whole] == _ZERO
        places = points[begin_small, None] + _FIRST_PLACES
        is_tiny = (self.content.take(places, mode="clip") == _ZERO).all(axis=1)
        sure[begin_small] &= (whole[begin_small] == 1) & ~is_tiny
        long = np.flatnonzero(sure & (whole + after > _DIGITS))
        if len(long):
            texts = Spans(self.content, (points - whole)[long], (points + after)[long] + 1).column()
            are_shortest = are_scalars(texts)
            sure[long] = True if are_shortest is None else are_shortest
        return points[~sure]

    def _digits(self, points: Any, step: int, ends: Any) -> Any:
        """Return how many digits are on one side of each point, before the end of its text."""
        counts, at = np.zeros(len(points), np.int64), points
        are_digits = np.ones(len(points), bool)
        while are_digits.any():
            at = at + step
            are_digits &= (self.content.take(at, mode="clip") - _ZERO < 10) & ((at - ends) * step < 0)
            counts += are_digits
        return counts

    def _leave_out_escaped(self) -> None:
        places = np.flatnonzero(self.content == _BACKSLASH)
        self.escaped = rows_of(places, self.offsets)
        quotes = unescaped(np.flatnonzero(self.quotes), places, self.offsets[:-1])
        self.quotes = np.zeros(len(self.content), bool)
        self.quotes[quotes] = True


def _words(marks: Any) -> Any:
    """Return a mask as bits of words, 64 in each, and at least one bit behind them."""
    bits = np.packbits(marks, bitorder="little")
    words = np.zeros(len(bits) // 8 + 1, "<u8")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def _odd_up_to(marks: Any) -> Any:
    """Return a mask of where an odd number of marks is, up to and with each; 64 are counted by six operations."""
    words = _words(marks)
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    carried = np.bitwise_xor.accumulate(words >> np.uint64(63))
    words[1:] ^= np.uint64(0) - carried[:-1]
    return np.unpackbits(words.view(np.uint8), count=len(marks), bitorder="little").view(bool)


def _ones(words: Any) -> Any:
    """Return how many bits of each word are set, summed up in pairs, fours and bytes."""
    pairs = words - (words >> _ONE & _PAIRS)
    fours = (pairs & _FOURS) + (pairs >> np.uint64(2) & _FOURS)
    return ((fours + (fours >> np.uint64(4)) & _BYTES) * _EACH >> np.uint64(56)).astype(np.int64)

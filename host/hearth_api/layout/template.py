"""JSON texts with the same layout: one is the pattern, and the others are cut at the same places.

A JSON writer puts the same constant texts around the values of every record. A template holds these constants, learned
from one text by a `Walker`, and finds the values of many texts at once. A row matches only if its constants equal
those of the pattern byte by byte, its quoted values end at the next unescaped quote, and nothing is left over. The
caller must still check that an unquoted value is a JSON scalar; then the row is valid JSON with the same members in
the same order as the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from hearth_api.layout.spans import Spans

L = TypeVar("L")

FEW = 64
"""Fewer rows than this are not worth a template: finding one takes as long as parsing 60 to 100 rows one by one."""
_AT_MOST = 16
_QUOTE = 0x22
_BACKSLASH = 0x5C
_SPACE = re.compile(rb"[ \t\n\r]*")
_NAME = re.compile(rb'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_SCALAR = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.\w]+')


def are_few(count: int) -> bool:
    """Return whether there are too few rows to look for templates."""
    return count < FEW


class NoTemplateError(Exception):
    """The text has a layout that others cannot share."""


@dataclass(frozen=True)
class Template:
    """The constants of a JSON text, and whether each of the values between them is quoted.

    A quoted value may also be null; None accepts either.
    """

    literals: tuple[bytes, ...]
    are_quoted: tuple[bool | None, ...]


class Walker:
    """Walks along one JSON text and records its constants."""

    def __init__(self, text: bytes) -> None:
        """Start at the beginning."""
        self._text = text
        self._at = self._noted = 0
        self._literals: list[bytes] = []
        self._are_quoted: list[bool | None] = []

    def template(self) -> Template | None:
        """Return the template, None if there is no value or anything after the last one."""
        if not self._are_quoted or self._text[self._at :].strip(b" \t\n\r"):
            return None
        return Template((*self._literals, self._text[self._noted :]), tuple(self._are_quoted))

    def scalar(self, is_quoted: Callable[[bytes], bool | None]) -> int:
        """Walk along a scalar, ask whether the values in its place are quoted, and return the index of the place."""
        self._skip_space()
        match = _SCALAR.match(self._text, self._at)
        if match is None:
            raise NoTemplateError
        self._are_quoted.append(is_quoted(match.group()))
        self._literals.append(self._text[self._noted : self._at])
        self._at = self._noted = match.end()
        return len(self._literals) - 1

    def elements(self) -> Iterator[int]:
        """Walk along an array, yielding the index of each element, which the caller walks along."""
        self._expect(b"[")
        count = 0
        while not self.finds(b"]"):
            if count:
                self._expect(b",")
            yield count
            count += 1

    def members(self) -> Iterator[str]:
        """Walk along an object, yielding each name before its value, which the caller walks along."""
        self._expect(b"{")
        seen: set[str] = set()
        while not self.finds(b"}"):
            if seen:
                self._expect(b",")
            name = self._name()
            if name in seen:
                raise NoTemplateError
            seen.add(name)
            yield name

    def finds(self, mark: bytes, passes: bool = True) -> bool:
        """Return whether a mark comes next, and skip it if `passes`."""
        self._skip_space()
        is_there = self._text.startswith(mark, self._at)
        self._at += is_there and passes
        return is_there

    def _name(self) -> str:
        self._skip_space()
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise NoTemplateError
        self._at = match.end()
        try:
            return match.group(1).decode()
        except UnicodeDecodeError as error:
            raise NoTemplateError from error

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = self._at if match is None else match.end()

    def _expect(self, mark: bytes) -> None:
        if not self.finds(mark):
            raise NoTemplateError


@dataclass
class Known(Generic[L]):
    """The most recent layouts, the newest last."""

    layouts: list[L] = field(default_factory=list)

    def tried(self, left: Any, learn: Callable[[], L | None], worth: int = 1) -> Iterator[L]:
        """Yield the known layouts, then learn others from rows that none of them fits, while that is worthwhile.

        `left` is true for every row that no layout has fitted yet, kept up to date by the caller; `learn` returns the
        layout of one of these rows, None if others cannot share it. A layout that fits fewer rows than `worth` is
        forgotten: trying it each time costs more than learning it again.
        """
        count = int(np.count_nonzero(left))
        for layout in list(self.layouts):
            if not count:
                return
            yield layout
            before, count = count, int(np.count_nonzero(left))
            if before - count < worth:
                self.layouts.remove(layout)
        for _ in range(_AT_MOST):
            if are_few(count) or count < worth or (new := learn()) is None or new in self.layouts:
                return
            yield new
            before, count = count, int(np.count_nonzero(left))
            if before - count >= worth:
                self.layouts.append(new)
                del self.layouts[:-_AT_MOST]
            if are_few(before - count) or before - count < worth:
                return


class Payloads:
    """Many JSON texts, contiguous in memory, with the positions that every template needs."""

    def __init__(self, content: Any, offsets: Any) -> None:
        """Store the bytes as numpy array, and the offsets of the rows, one more than there are rows."""
        self.content = content
        self.starts = offsets[:-1]
        self.ends = offsets[1:]
        quotes = np.flatnonzero(content == _QUOTE)
        self.backslashes: Any = np.empty(0, np.int64)
        if b"\\" in content.tobytes():
            self.backslashes = np.flatnonzero(content == _BACKSLASH)
            quotes = _unescaped(quotes, self.backslashes, self.starts)
        self.first_quotes = _firsts(quotes, self.starts, self.ends)
        # A truncated row looks for quotes after the last one.
        self.quotes = np.append(quotes, (len(content), len(content)))
        self.numbers = np.arange(len(self.starts))

    def part(self, rows: Any) -> Payloads:
        """Return the rows with the given ascending numbers; they keep their numbers."""
        if len(rows) == len(self):
            return self
        part = copy(self)
        part.starts, part.ends = self.starts[rows], self.ends[rows]
        part.first_quotes, part.numbers = self.first_quotes[rows], self.numbers[rows]
        return part

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts)

    def following(self, byte: int, at: Any) -> Any:
        """Return for every row where a byte occurs next, from a position on; one after all rows if nowhere."""
        places = np.append(np.flatnonzero(self.content == byte), len(self.content))
        return places[np.searchsorted(places[:-1], at)]

    def have(self, literal: bytes, at: Any) -> Any:
        """Return for every row whether its content at the given position, one per row, is the literal."""
        count = len(at)
        if not literal:
            return True
        places = len(self.content) - len(literal) + 1
        if places <= 0:
            return False
        windows: Any = np.ndarray((places,), f"V{len(literal)}", self.content, strides=(1,))
        # Not take(): it would first copy all windows into one array.
        found = windows[np.minimum(at, places - 1)].tobytes()
        if found == literal * count:
            return True
        grid = np.frombuffer(found, np.uint8).reshape(count, len(literal))
        return (grid == np.frombuffer(literal, np.uint8)).all(axis=1)


@dataclass
class Cut:
    """The values of the payloads that fit a template; entries of other rows are meaningless."""

    fits: Any
    """Whether each row fits."""
    spans: list[tuple[Any, Any]]
    """The start and end positions of the values in each place, without quotes."""
    opens: list[Any]
    """Which of the values in each place start with a quote: an array, or one boolean for all."""
    wholes: list[tuple[Any, Any]]
    """The spans of the values in each place with their quotes; null as a literal."""


class Fitting:
    """Some of the rows that fit a template, with the contents of its places."""

    def __init__(self, payloads: Payloads, found: Cut, fits: Any) -> None:
        """Store the rows selected by the mask."""
        self._payloads, self._cut = payloads, found
        self._places = np.flatnonzero(fits)
        self._are_all = len(self._places) == len(payloads)
        self.rows = self._of_rows(payloads.numbers)
        """The numbers of the rows in their column, ascending."""
        self._part: tuple[Any, Fitting] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._places)

    def only(self, sure: Any) -> Fitting:
        """Return the rows selected by a mask; the same mask object gives the same result object."""
        if self._part is None or self._part[0] is not sure:
            fits = np.zeros(len(self._payloads), bool)
            fits[self._places[sure]] = True
            self._part = sure, Fitting(self._payloads, self._cut, fits)
        return self._part[1]

    def texts(self, place: int) -> Any:
        """Return the contents of a place, without quotes, as a binary column."""
        return self.spans(place).column()

    def spans(self, place: int) -> Spans:
        """Return the contents of a place, without quotes."""
        return Spans(self._payloads.content, *self._mine(self._cut.spans[place]))

    def opens(self, place: int) -> Any:
        """Return which of the rows have a quote in a place: an array, or one boolean for all."""
        opens = self._cut.opens[place]
        return opens if isinstance(opens, bool) or self._are_all else _answer(opens[self._places])

    def escaped(self, place: int) -> Any:
        """Return which of the rows, counted from 0, have a backslash in a place."""
        backslashes = self._payloads.backslashes
        if not len(backslashes):
            return backslashes
        starts, ends = self._mine(self._cut.spans[place])
        return np.flatnonzero(np.searchsorted(backslashes, ends) > np.searchsorted(backslashes, starts))

    def between(self, first: int | None, last: int | None) -> Spans:
        """Return the texts from the start of one place to the end of another; None is the start or end of the row."""
        starts = self._of_rows(self._payloads.starts if first is None else self._cut.wholes[first][0])
        ends = self._of_rows(self._payloads.ends if last is None else self._cut.wholes[last][1])
        return Spans(self._payloads.content, starts, ends)

    def _mine(self, span: tuple[Any, Any]) -> tuple[Any, Any]:
        return self._of_rows(span[0]), self._of_rows(span[1])

    def _of_rows(self, values: Any) -> Any:
        return values if self._are_all else values[self._places]


def cut(template: Template, payloads: Payloads) -> Cut:
    """Find the values of all rows at once, going from one constant text to the next."""
    result = Cut(np.ones(len(payloads), bool), [], [], [])
    at, quote = payloads.starts, payloads.first_quotes
    following = template.literals[1:]
    for literal, is_quoted, after in zip(template.literals, template.are_quoted, following):
        result.fits &= payloads.have(literal, at)
        start = at + len(literal)
        quote = quote + literal.count(b'"')
        at, quote = _cut_place(payloads, result, is_quoted, start, quote, after)
        result.wholes.append((start, at))
    last = template.literals[-1]
    result.fits &= payloads.have(last, at)
    result.fits &= at + len(last) == payloads.ends
    return result


def _cut_place(
    payloads: Payloads, result: Cut, is_quoted: bool | None, at: Any, quote: Any, after: bytes
) -> tuple[Any, Any]:
    """Record the positions of a place's values; return where they end, and the number of quotes before that."""
    opens: Any = False
    if is_quoted is not False:
        opens = payloads.content.take(at, mode="clip") == _QUOTE
        opens = _answer(opens)
    result.opens.append(opens)
    if opens is True:
        closing = payloads.quotes.take(quote + 1, mode="clip")
        result.spans.append((at + 1, closing))
        return closing + 1, quote + 2
    bare_end = at + 4 if is_quoted else _bare_end(payloads, result, opens, at, quote, after)
    if is_quoted:
        result.fits &= opens | payloads.have(b"null", at)
    if opens is False:
        result.spans.append((at, bare_end))
        return bare_end, quote
    closing = payloads.quotes.take(quote + 1, mode="clip")
    result.spans.append((at + opens, np.where(opens, closing, bare_end)))
    return np.where(opens, closing + 1, bare_end), quote + 2 * opens


def _bare_end(payloads: Payloads, result: Cut, opens: Any, at: Any, quote: Any, after: bytes) -> Any:
    """End unquoted values at the following constant.

    It is found by its first quote, or between elements of an array by its first byte, which no scalar contains. A
    constant without a comma is the last, and the value ends with the row.
    """
    lead = after.find(b'"')
    following = payloads.quotes.take(quote, mode="clip")
    if lead >= 0:
        end = following - lead
    elif b"," not in after:
        end = payloads.ends - len(after)
    else:
        end = payloads.following(after[0], at)
    result.fits &= opens | ((end > at) & (following >= end))
    return np.maximum(end, at)


def _answer(each: Any) -> Any:
    """Return booleans, one per row, or a single one if all are equal."""
    return True if each.all() else each if each.any() else False


def _firsts(quotes: Any, starts: Any, ends: Any) -> Any:
    """Return for every row the index of its first quote, quickly if all rows have equally many."""
    each, rest = divmod(len(quotes), max(len(starts), 1))
    if each and not rest:
        firsts = np.arange(0, len(quotes), each)
        if (quotes[::each] >= starts).all() and (quotes[each - 1 :: each] < ends).all():
            return firsts
    return np.searchsorted(quotes, starts)


def _unescaped(quotes: Any, backslashes: Any, starts: Any) -> Any:
    """Return the quotes that an even number of backslashes precedes."""
    is_last = np.append(np.diff(backslashes) != 1, True)
    ends = np.flatnonzero(is_last)
    lengths = np.diff(ends, prepend=-1)
    escaped = backslashes[ends[lengths % 2 == 1]] + 1
    # The last byte of one row escapes nothing in the next.
    escaped = escaped[~_is_in(escaped, starts)]
    places = np.searchsorted(quotes, escaped)
    counts = np.ones(len(quotes) + 1, bool)
    counts[places[_is_in(escaped, quotes)]] = False
    return quotes[counts[:-1]]


def _is_in(values: Any, ascending: Any) -> Any:
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return ascending[places] == values if len(ascending) else np.zeros(len(values), bool)

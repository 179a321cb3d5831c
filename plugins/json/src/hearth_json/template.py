"""Payloads that are laid out alike: the first one is the pattern, and the others are cut where it is cut.

A writer of JSON puts the same constant texts around the values of every record. A template holds these texts, learned
from one payload, and finds the values of many payloads at once. A row matches only if its constant texts are byte by
byte those of the pattern, its quoted values end at the next quote that is not escaped, and nothing is left over. Who
takes the values still has to prove that an unquoted one is a JSON scalar; then the row is valid JSON with the same
members in the same order as the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hearth_api import Schema

_QUOTE = 0x22
_BACKSLASH = 0x5C


@dataclass(frozen=True)
class Slot:
    """A place for a value: where it belongs, the schema it has, and whether it stands in quotes."""

    path: str
    schema: Schema
    is_quoted: bool


@dataclass(frozen=True)
class Template:
    """The constant texts of a payload, one more than there are slots between them."""

    literals: tuple[bytes, ...]
    slots: tuple[Slot, ...]
    structs: frozenset[str]
    """The paths of the structs that are there, which is all a missing or empty one is told apart by."""


class Payloads:
    """Many JSON texts, one after the other in memory, and what every template needs to know of them."""

    def __init__(self, content: Any, offsets: Any) -> None:
        """Take the bytes as numpy array, and the offsets of the rows, one more than there are rows."""
        self.content = content
        self.starts = offsets[:-1]
        self.ends = offsets[1:]
        quotes = np.flatnonzero(content == _QUOTE)
        self.backslashes: Any = np.empty(0, np.int64)
        if b"\\" in content.tobytes():
            self.backslashes = np.flatnonzero(content == _BACKSLASH)
            quotes = _unescaped(quotes, self.backslashes, self.starts)
        self.first_quotes = _firsts(quotes, self.starts, self.ends)
        # A row that is cut short asks for quotes behind the last one.
        self.quotes = np.append(quotes, (len(content), len(content)))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts)

    def have(self, literal: bytes, at: Any) -> Any:
        """Tell for every row whether its content at the given position, one per row, is the literal."""
        count = len(at)
        if not literal:
            return True
        places = len(self.content) - len(literal) + 1
        if places <= 0:
            return False
        windows: Any = np.ndarray((places,), f"V{len(literal)}", self.content, strides=(1,))
        # Not take(): it would first copy all windows into one piece.
        found = windows[np.minimum(at, places - 1)].tobytes()
        if found == literal * count:
            return True
        grid = np.frombuffer(found, np.uint8).reshape(count, len(literal))
        return (grid == np.frombuffer(literal, np.uint8)).all(axis=1)


@dataclass
class Cut:
    """The values of the payloads that fit a template; of rows that do not, the entries mean nothing."""

    fits: Any
    """For every row whether it fits."""
    spans: list[tuple[Any, Any]]
    """For every slot the position of the first byte of the values, without quotes, and of the byte after the last."""
    nulls: list[Any]
    """For every slot which of the values that should be quoted are null; None when no value is."""


def cut(template: Template, payloads: Payloads) -> Cut:
    """Find the values of all rows at once, going from one constant text to the next."""
    result = Cut(np.ones(len(payloads), bool), [], [])
    at, quote = payloads.starts, payloads.first_quotes
    following = template.literals[1:]
    for literal, slot, after in zip(template.literals, template.slots, following):
        result.fits &= payloads.have(literal, at)
        at = at + len(literal)
        quote = quote + literal.count(b'"')
        if slot.is_quoted:
            at, quote = _cut_quoted(payloads, result, at, quote)
        else:
            at = _cut_bare(payloads, result, at, quote, after)
    last = template.literals[-1]
    result.fits &= payloads.have(last, at)
    result.fits &= at + len(last) == payloads.ends
    return result


def _cut_quoted(payloads: Payloads, result: Cut, at: Any, quote: Any) -> tuple[Any, Any]:
    opens = payloads.content.take(at, mode="clip") == _QUOTE
    closing = payloads.quotes.take(quote + 1, mode="clip")
    if opens.all():
        result.spans.append((at + 1, closing))
        result.nulls.append(None)
        return closing + 1, quote + 2
    result.fits &= opens | payloads.have(b"null", at)
    result.spans.append((at + opens, np.where(opens, closing, at)))
    result.nulls.append(~opens)
    return np.where(opens, closing + 1, at + 4), quote + 2 * opens


def _cut_bare(payloads: Payloads, result: Cut, at: Any, quote: Any, after: bytes) -> Any:
    """End an unquoted value where the constant text after it begins, known by its first quote or by the row's end."""
    lead = after.find(b'"')
    end = payloads.ends - len(after) if lead < 0 else payloads.quotes.take(quote, mode="clip") - lead
    result.fits &= end > at
    end = np.maximum(end, at)
    result.spans.append((at, end))
    result.nulls.append(None)
    return end


def _firsts(quotes: Any, starts: Any, ends: Any) -> Any:
    """Return for every row the number of its first quote, quickly when all rows have as many."""
    each, rest = divmod(len(quotes), max(len(starts), 1))
    if each and not rest:
        firsts = np.arange(0, len(quotes), each)
        if (quotes[::each] >= starts).all() and (quotes[each - 1 :: each] < ends).all():
            return firsts
    return np.searchsorted(quotes, starts)


def _unescaped(quotes: Any, backslashes: Any, starts: Any) -> Any:
    """Leave out the quotes that an odd number of backslashes stands before."""
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

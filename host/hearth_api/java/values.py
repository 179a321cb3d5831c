"""Parses a value and its type from text, by Kafka Connect's rules and oddities.

Kafka Connect parses header values this way, so users see the oddities: `00123` is the number 123, `1.10` the float
1.1, `[1] x` the array `[1]`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from hearth_api.errors import DataError
from hearth_api.java.inner_value import TOKEN, array_of, map_of, quoted, read_json
from hearth_api.java.scalar_text import LITERALS, NULL, SPACE, Found, read_number, read_scalar, read_scalars
from hearth_api.java.temporal import parse_temporal
from hearth_api.record import SchemaAndValue
from hearth_api.schema import STRING_SCHEMA, Schema


def parse_string(text: str | None) -> SchemaAndValue:
    """Return the value of a text with its schema; a text that is nothing else is a STRING.

    None and the text `null` have no schema and no value. Arrays and maps of mixed types have no inner schema. A map
    with a map as key, which Python cannot hash, stays a STRING.
    """
    return SchemaAndValue(*_read(text))


def parse_strings(texts: Iterable[str | None]) -> tuple[list[Schema | None], list[Any]]:
    """Return the schemas and values of many texts, as `parse_string` returns them."""
    return read_scalars(texts, _read)


def _read(text: str | None) -> Found:
    if text is None:
        return NULL
    if type(text) is not str:
        return _Parser(text).parse() if text else (STRING_SCHEMA, text)  # compiled code rejects subclasses of str
    found = read_scalar(text)
    if found is None and text[0] in "[{":
        try:
            found = read_json(text)
        except DataError:
            return STRING_SCHEMA, text
    return _Parser(text).parse() if found is None else found


class _Parser:
    """Parses one value; malformed text raises a DataError internally, which makes the whole text a STRING.

    The text is split at delimiters; a backslash removes the meaning of the next character and is kept. Blank tokens
    are dropped, except at the end of the text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = self.tokens = TOKEN.findall(text)
        self.bare: list[str | None] = [token.strip(SPACE) for token in self.all]
        self.places: Sequence[int] = range(len(self.all))
        """The indexes of the tokens among all."""
        if "" in self.bare[:-1]:
            self.places = [place for place in self.places if self.bare[place] or place == len(self.all) - 1]
            self.tokens, self.bare = ([each[place] for place in self.places] for each in (self.all, self.bare))
        self.bare.append(None)
        self.position = 0

    def parse(self) -> Found:
        """Parse the whole text."""
        token, bare = self.tokens[0], self.bare[0]
        self.position = 1
        # A top-level literal must be the whole text: `true}` is a string.
        if bare in LITERALS and self.bare[1] is None:
            return LITERALS[bare]
        try:
            if bare == "[":
                return self._array()
            if bare == "{":
                return self._map()
        except DataError:
            # Parse it again as a string, from the preceding blank token if there is one.
            token, bare = self.all[0], self.all[0].strip(SPACE)
        if not bare:
            return STRING_SCHEMA, token
        found = self._scalar(bare)
        return (STRING_SCHEMA, self.text) if found is None or found[0] is STRING_SCHEMA else found

    def _inner(self) -> Found:
        """Parse the next value of an array or map, where strings are quoted."""
        position = self.position
        bare = self.bare[position]
        if bare is None:
            return NULL
        self.position = position + 1
        if bare == '"':
            return self._quoted()
        if bare == "[":
            return self._array()
        if bare == "{":
            return self._map()
        if not bare:
            return STRING_SCHEMA, self.tokens[position]
        found = LITERALS.get(bare) or self._scalar(bare)
        if found is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _scalar(self, token: str) -> Found | None:
        starts_with_digit = token[0].isdecimal() and token[0] <= "\uffff"
        found = self._temporal(token) if starts_with_digit else None
        if found is None and (starts_with_digit or token[0] in "+-"):
            found = read_number(token)
        return found

    def _temporal(self, token: str) -> Found | None:
        # Colons are delimiters, so a time of day may span five tokens.
        start = self.places[self.position - 1] + 1
        rest = self.all[start : start + 4]
        if len(rest) == 4 and (found := parse_temporal(token + "".join(rest))):
            self.position = bisect_left(self.places, start + 4)
            return found
        return parse_temporal(token)

    def _quoted(self) -> Found:
        bare, start = self.bare, self.position
        end = start
        while bare[end] is not None and bare[end] != '"':
            end += 1
        self.position = end if bare[end] is None else end + 1
        return quoted("".join(self.tokens[start:end]))

    def _array(self) -> Found:
        elements: list[Found] = []
        while (bare := self.bare[self.position]) is not None:
            if bare == "]":
                self.position += 1
                return array_of(elements)
            if bare == ",":
                raise DataError(f"Unable to parse an empty array element: {self.text}")
            elements.append(self._inner())
            bare = self.bare[self.position]
            if bare == ",":
                self.position += 1
            elif bare != "]":
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self.text}")

    def _map(self) -> Found:
        entries: list[tuple[Found, Found]] = []
        while (bare := self.bare[self.position]) is not None:
            if bare == "}":
                self.position += 1
                return map_of(entries)
            if bare == ",":
                raise DataError(f"Unable to parse a map entry with no key or value: {self.text}")
            key = self._inner()
            if key[1] is None:
                raise DataError(f"Map entry may not have a null key: {self.text}")
            if self.bare[self.position] != ":":
                raise DataError(f"Map entry is missing ':' in {self.text}")
            self.position += 1
            entries.append((key, self._inner()))
            if self.bare[self.position] == ",":
                self.position += 1
        raise DataError(f"Map is missing terminating '}}': {self.text}")

"""The expected shapes of request bodies, and Kafka Connect's messages for mismatches.

Python's reader parses bodies. Only for a rejected one do the shapes explain why, as Jackson's binding of JSON to
Java's classes would: value by value in the order of the text, with position and path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.rest.json_token import Malformed, Token, Tokens

MOST_BYTES = 64 << 10
"""Longer bodies are rejected without an explanation, which would hold up other requests."""
ENTITIES = "org.apache.kafka.connect.runtime.rest.entities"
_MAP = "java.util.LinkedHashMap"
_TEXT = "java.lang.String"
_OFF = "(but could if coercion was enabled using `CoercionConfig`)"
_KINDS = {
    "START_OBJECT": "Object",
    "START_ARRAY": "Array",
    "VALUE_STRING": "String",
    "VALUE_NUMBER_INT": "Integer",
    "VALUE_NUMBER_FLOAT": "Floating-point",
    "VALUE_TRUE": "Boolean",
    "VALUE_FALSE": "Boolean",
}
_ARGUMENTS = {
    "VALUE_NUMBER_INT": ("int/Int", "Number"),
    "VALUE_NUMBER_FLOAT": ("double/Double", "Number"),
    "VALUE_TRUE": ("boolean/Boolean", "boolean"),
    "VALUE_FALSE": ("boolean/Boolean", "boolean"),
}


class ShapeMismatch(Exception):
    """A value does not have its shape; ``way`` is the path to it."""

    def __init__(self, reason: str, way: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.way = reason, way

    def below(self, part: str) -> ShapeMismatch:
        """Return the same error with another path element in front."""
        return ShapeMismatch(self.reason, (part, *self.way))

    def __str__(self) -> str:
        return f"{self.reason} (through reference chain: {'->'.join(self.way)})" if self.way else self.reason


class Shape(ABC):
    """The shape of a value; null is always allowed."""

    java: str
    """Its Java type."""

    @abstractmethod
    def read(self, tokens: Tokens, token: Token) -> None:
        """Read the value that starts at a token; raise ShapeMismatch or Malformed."""

    def wrong(self, tokens: Tokens, token: Token) -> ShapeMismatch:
        """Return the message for a value of another kind."""
        kind = f"{_KINDS[token.kind]} value (token `JsonToken.{token.kind}`)"
        return mismatch(tokens, token.start, f"Cannot deserialize value of type `{self.java}` from {kind}")

    def not_from_text(self, tokens: Tokens, token: Token, element: str) -> ShapeMismatch:
        """Return the message for a string in place of an object."""
        text = tokens.text()
        if not text.strip():
            return mismatch(tokens, token.start, f'Cannot coerce empty String ("") to {element} {_OFF}')
        return self.not_from(tokens, token, "String", "String", f"'{text}'")

    def not_from(self, tokens: Tokens, token: Token, argument: str, kind: str, shown: str) -> ShapeMismatch:
        """Return the message for a value from which no object can be created."""
        name = self.java.partition("<")[0]
        return mismatch(
            tokens,
            token.start,
            f"Cannot construct instance of `{name}` (although at least one Creator exists): no {argument}-argument "
            f"constructor/factory method to deserialize from {kind} value ({shown})",
        )


def mismatch(tokens: Tokens, at: int, reason: str) -> ShapeMismatch:
    """Return the error at a position of a text."""
    return ShapeMismatch(f"{reason}\n at {tokens.place(at)}")


@dataclass(frozen=True)
class TextShape(Shape):
    """A string; numbers and booleans are taken as their text."""

    java: str = _TEXT

    def read(self, tokens: Tokens, token: Token) -> None:
        if token.kind.startswith("START"):
            raise self.wrong(tokens, token)
        if token.kind == "VALUE_STRING":
            tokens.text()


@dataclass(frozen=True)
class AnyShape(Shape):
    """Any value."""

    java: str = "java.lang.Object"

    def read(self, tokens: Tokens, token: Token) -> None:
        tokens.skip(token)


@dataclass(frozen=True)
class MapShape(Shape):
    """An object with any member names."""

    item: Shape

    @property
    def java(self) -> str:  # type: ignore[override]
        return f"{_MAP}<{_TEXT},{self.item.java}>"

    def read(self, tokens: Tokens, token: Token) -> None:
        if token.kind == "VALUE_STRING":
            raise self.not_from_text(tokens, token, f"element of `{_MAP}`")
        if token.kind != "START_OBJECT":
            raise self.wrong(tokens, token)
        while (name := _following(tokens)).kind == "FIELD_NAME":
            try:
                _read(self.item, tokens)
            except ShapeMismatch as error:
                raise error.below(f'{_MAP}["{name.value}"]') from error


@dataclass(frozen=True)
class ListShape(Shape):
    """An array."""

    item: Shape

    @property
    def java(self) -> str:  # type: ignore[override]
        return f"java.util.ArrayList<{self.item.java}>"

    def read(self, tokens: Tokens, token: Token) -> None:
        if token.kind != "START_ARRAY":
            raise self.wrong(tokens, token)
        number = 0
        while (token := _following(tokens)).kind != "END_ARRAY":
            try:
                _take(self.item, tokens, token)
            except ShapeMismatch as error:
                raise error.below(f"java.util.ArrayList[{number}]") from error
            number += 1


@dataclass(frozen=True)
class WordShape(Shape):
    """One of some words, regardless of case."""

    java: str
    words: tuple[str, ...]

    def read(self, tokens: Tokens, token: Token) -> None:
        if token.kind == "START_OBJECT":
            raise self.wrong(tokens, token)
        if token.kind == "START_ARRAY":
            reason = (
                f"Input mismatch reading Enum `{self.java}`: properties-based `@JsonCreator` ([method "
                f"{self.java}#forValue({_TEXT})]) expects String Value, got Array value (`JsonToken.START_ARRAY`)"
            )
            raise mismatch(tokens, token.start, reason)
        word = (tokens.text() if token.kind == "VALUE_STRING" else _scalar(token)).upper()
        if word not in self.words:
            reason = f"No enum constant {self.java.replace('$', '.')}.{word}"
            raise mismatch(tokens, token.start, f"Cannot construct instance of `{self.java}`, problem: {reason}")


@dataclass(frozen=True)
class RecordShape(Shape):
    """An object with these members and no others."""

    java: str
    members: Mapping[str, Shape] = field(default_factory=dict)
    own: Mapping[str, Shape] = field(default_factory=dict)
    """Members that Java does not have and therefore does not list."""

    def read(self, tokens: Tokens, token: Token) -> None:
        if token.kind == "VALUE_STRING":
            raise self.not_from_text(tokens, token, f"`{self.java}` value")
        if token.kind in _ARGUMENTS:
            argument, kind = _ARGUMENTS[token.kind]
            raise self.not_from(tokens, token, _sized(token, argument), kind, _scalar(token))
        if token.kind != "START_OBJECT":
            raise self.wrong(tokens, token)
        self._read_members(tokens)

    def _read_members(self, tokens: Tokens) -> None:
        """Read to the end of the object; the error for unknown members follows those of all known ones."""
        missing, unknown = set(self.members), None
        name = _following(tokens)
        while name.kind == "FIELD_NAME":
            if name.value in self.members:
                self._read_member(tokens, name.value)
                missing.discard(name.value)
            elif name.value in self.own:
                self._read_member(tokens, name.value)
            else:
                unknown = name.value if unknown is None else unknown
                value = _following(tokens)
                if not missing:
                    raise self._unknown(tokens, unknown)
                tokens.skip(value)
            name = _following(tokens)
            if unknown is not None and not missing:
                raise self._unknown(tokens, unknown)
        if unknown is not None:
            raise self._unknown(tokens, unknown)

    def _read_member(self, tokens: Tokens, name: str) -> None:
        try:
            _read(self.members.get(name) or self.own[name], tokens)
        except Malformed as error:
            raise ShapeMismatch(str(error), (self._member(name),)) from error
        except ShapeMismatch as error:
            raise error.below(self._member(name)) from error

    def _unknown(self, tokens: Tokens, name: str) -> ShapeMismatch:
        names = ", ".join(f'"{each}"' for each in self.members)
        count = "one known property" if len(self.members) == 1 else f"{len(self.members)} known properties"
        reason = f'Unrecognized field "{name}" (class {self.java}), not marked as ignorable ({count}: {names})'
        return mismatch(tokens, tokens.at, reason).below(self._member(name))

    def _member(self, name: str) -> str:
        return f'{self.java}["{name}"]'


def explain(data: bytes, shape: Shape) -> str | None:
    """Return why a body does not have a shape; None if that is unknown, because it is long or not UTF-8."""
    tokens = Tokens(data.removeprefix(b"\xef\xbb\xbf"))
    if len(data) > MOST_BYTES:
        return None
    try:
        token = tokens.next()
        if token is None:
            return None
        _take(shape, tokens, token)
        behind = tokens.next()
    except (Malformed, ShapeMismatch) as error:
        return str(error)
    if behind is None:
        return None
    name = "java.util.Map" if isinstance(shape, MapShape) else shape.java
    reason = f"Trailing token (of type {behind.kind}) found after value (bound as `{name}`)"
    rule = "not allowed as per `DeserializationFeature.FAIL_ON_TRAILING_TOKENS`"
    return str(mismatch(tokens, behind.start, f"{reason}: {rule}"))


def _read(shape: Shape, tokens: Tokens) -> None:
    _take(shape, tokens, _following(tokens))


def _take(shape: Shape, tokens: Tokens, token: Token) -> None:
    if token.kind != "VALUE_NULL":
        shape.read(tokens, token)


def _following(tokens: Tokens) -> Token:
    token = tokens.next()
    assert token is not None, "inside of an array or object there is always one more, or none and that is malformed"
    return token


def _scalar(token: Token) -> str:
    return str(token.value).lower() if isinstance(token.value, bool) else str(token.value)


def _sized(token: Token, argument: str) -> str:
    """Return Jackson's name for an argument of a number of this size."""
    if token.kind != "VALUE_NUMBER_INT" or -(2**31) <= int(token.value) < 2**31:
        return argument
    return "long/Long" if -(2**63) <= int(token.value) < 2**63 else "BigInteger"

"""Reading a value and its type from text, with Kafka Connect's rules and oddities.

This is how Kafka Connect reads header values, so the oddities reach users: `00123` is the number 123, `1.10`
the float 1.1, `[1] x` the array `[1]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hearth_api.errors import DataError
from hearth_api.java.physical import as_key
from hearth_api.java.scalar import (
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
    date_of,
    null_error,
    time_of,
    timestamp_of,
)
from hearth_api.java.temporal import parse_temporal
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.number import decimal_to_float32, parse_decimal
from hearth_api.record import SchemaAndValue
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from hearth_api.text import number_text

_NULL = SchemaAndValue(None, None)
_LITERALS = {
    "null": _NULL,
    "true": SchemaAndValue(BOOLEAN_SCHEMA, True),
    "false": SchemaAndValue(BOOLEAN_SCHEMA, False),
}
_INTEGERS = ((INT8_SCHEMA, 1 << 7), (INT16_SCHEMA, 1 << 15), (INT32_SCHEMA, 1 << 31), (INT64_SCHEMA, 1 << 63))
_WIDENING = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_BRINGING: dict[tuple[Type, str | None], Callable[[Schema | None, Any], Any]] = {
    (Type.INT8, None): convert_to_int8,
    (Type.INT16, None): convert_to_int16,
    (Type.INT32, None): convert_to_int32,
    (Type.INT32, Date.LOGICAL_NAME): date_of,
    (Type.INT32, Time.LOGICAL_NAME): time_of,
    (Type.INT64, None): convert_to_int64,
    (Type.INT64, Timestamp.LOGICAL_NAME): timestamp_of,
    (Type.FLOAT32, None): convert_to_float32,
    (Type.FLOAT64, None): convert_to_float64,
}
_NOT_HELD: dict[str | None, str] = {Date.LOGICAL_NAME: Time.LOGICAL_NAME, Time.LOGICAL_NAME: Date.LOGICAL_NAME}
_SPACE = "".join(map(chr, range(0x21)))  # what Java's trim() takes away


def parse_string(text: str | None) -> SchemaAndValue:
    """Return the value a text stands for, with its schema; a text that stands for nothing else is a STRING.

    None and the text `null` give no schema and no value. Arrays and maps of mixed types have no inner
    schema. A map whose key is a map, which Python has no hash for, stays a STRING.
    """
    if text is None:
        return _NULL
    return SchemaAndValue(STRING_SCHEMA, text) if not text else _Parser(text).parse(False)


class _Tokens:
    """The text cut at delimiters; a backslash takes the meaning of the next character away and is kept."""

    _TOKEN = re.compile(r'(?:\\(?:.|\Z)|[^\\:,{}\[\]"])+|.|', re.DOTALL)

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._waiting: str | None = None

    def __bool__(self) -> bool:
        """Tell whether there is another token."""
        return self._waiting is not None or self.position < len(self.text)

    def mark(self) -> int:
        """Return where the next token starts."""
        return self.position - len(self._waiting or "")

    def rewind(self, position: int) -> None:
        """Go back to a place that `mark` returned."""
        self.position, self._waiting = position, None

    def next(self) -> str:
        """Take the next token."""
        token = self._cut() if self._waiting is None else self._waiting
        self._waiting = None
        return token

    def span(self, count: int) -> str | None:
        """Take several tokens and return them as one text, or take none when there are not so many."""
        start = self.mark()
        for _ in range(count):
            if not self:
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self.position]

    def take(self, expected: str) -> bool:
        """Take the next token if it is the expected one; blank ones before it are lost either way."""
        if not self:
            return False
        if self._waiting is None:
            self._waiting = self._cut()
        while not self._waiting.strip(_SPACE) and self.position < len(self.text):
            self._waiting = self._cut()
        if self._waiting.strip(_SPACE) != expected:
            return False
        self._waiting = None
        return True

    def _cut(self) -> str:
        match = self._TOKEN.match(self.text, self.position)
        token = match.group() if match else ""
        self.position += len(token)
        return token


class _Parser:
    """Reads one value; a DataError inside, for what is not well-formed, makes the whole text a STRING."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _Tokens(text)

    def parse(self, embedded: bool) -> SchemaAndValue:
        """Read the next value; `embedded` in an array or map, where texts are quoted."""
        tokens = self.tokens
        if not tokens:
            return _NULL
        if embedded and tokens.take('"'):
            return self._quoted()
        for literal, value in _LITERALS.items():
            if self._take_literal(literal, embedded):
                return value
        start = tokens.mark()
        try:
            if tokens.take("["):
                return self._array()
            if tokens.take("{"):
                return self._map()
        except DataError:
            tokens.rewind(start)
        token = tokens.next()
        bare = token.strip(_SPACE)
        return self._scalar(bare, embedded) if bare else SchemaAndValue(STRING_SCHEMA, token)

    def _take_literal(self, literal: str, embedded: bool) -> bool:
        start = self.tokens.mark()
        # On its own a literal must be all there is: `true}` is a text.
        if self.tokens.take(literal) and (embedded or not self.tokens):
            return True
        self.tokens.rewind(start)
        return False

    def _scalar(self, token: str, embedded: bool) -> SchemaAndValue:
        starts_with_digit = token[0].isdecimal() and token[0] <= "\uffff"
        found = None
        if starts_with_digit:
            found = self._temporal(token)
        if found is None and (starts_with_digit or token[0] in "+-"):
            found = _number(token)
        if found is not None and (embedded or found.schema is not STRING_SCHEMA):
            return found
        if embedded:
            raise DataError("Failed to parse embedded value")
        return SchemaAndValue(STRING_SCHEMA, self.text)

    def _temporal(self, token: str) -> SchemaAndValue | None:
        # Colons are delimiters, so a time of day may be spread over five tokens.
        start = self.tokens.mark()
        rest = self.tokens.span(4)
        if rest is not None and (found := parse_temporal(token + rest)):
            return found
        self.tokens.rewind(start)
        return parse_temporal(token)

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self.tokens and not self.tokens.take('"'):
            parts.append(self.tokens.next())
        content = "".join(parts)
        return parse_temporal(content) or SchemaAndValue(STRING_SCHEMA, content)

    def _array(self) -> SchemaAndValue:
        elements: list[SchemaAndValue] = []
        while self.tokens:
            if self.tokens.take("]"):
                return _aligned_array(elements)
            if self.tokens.take(","):
                raise DataError(f"Unable to parse an empty array element: {self.text}")
            elements.append(self.parse(True))
            here = self.tokens.mark()
            if self.tokens.take("]"):
                self.tokens.rewind(here)
            elif not self.tokens.take(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self.text}")

    def _map(self) -> SchemaAndValue:
        entries: list[tuple[SchemaAndValue, SchemaAndValue]] = []
        while self.tokens:
            if self.tokens.take("}"):
                return _aligned_map(entries)
            if self.tokens.take(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self.text}")
            key = self.parse(True)
            if key.value is None:
                raise DataError(f"Map entry may not have a null key: {self.text}")
            if not self.tokens.take(":"):
                raise DataError(f"Map entry is missing ':' at {self.tokens.position} in {self.text}")
            entries.append((key, self.parse(True)))
            self.tokens.take(",")
        raise DataError(f"Map is missing terminating '}}': {self.text}")


def _number(token: str) -> SchemaAndValue | None:
    number = parse_decimal(token)
    if number is None:
        return None
    # Java looks for integers only here, so that huge exponents cost nothing.
    if (number == 0 or 1 <= number.copy_abs() <= 10**19) and number == number.to_integral_value():
        whole = int(number)
        for schema, limit in _INTEGERS:
            if -limit <= whole < limit:
                return SchemaAndValue(schema, whole)
    exponent = int(number.as_tuple().exponent)
    narrow, wide = decimal_to_float32(number), float(number)
    if exponent != 0 and abs(narrow) != float("inf"):
        return SchemaAndValue(FLOAT32_SCHEMA, narrow)
    if exponent != 0 and abs(wide) != float("inf"):
        return SchemaAndValue(FLOAT64_SCHEMA, wide)
    return SchemaAndValue(Decimal.schema(-exponent), number)


def _aligned_array(elements: list[SchemaAndValue]) -> SchemaAndValue:
    common = _held(_common_schema(elements), elements)
    return SchemaAndValue(Schema(Type.ARRAY, value_schema=common), [_aligned(common, element) for element in elements])


def _aligned_map(entries: list[tuple[SchemaAndValue, SchemaAndValue]]) -> SchemaAndValue:
    # Of equal keys the last one wins, in the place of the first; they may become equal only when they are aligned.
    last = list({as_key(key.value): (key, item) for key, item in entries}.values())
    common = _common_schema([key for key, _ in entries])
    items = _common_schema([item for _, item in entries]) if common is not None else None
    items = _held(items, [item for _, item in last])
    values = [_aligned(items, item) for _, item in last]
    keys = _held(common, [key for key, _ in last])
    if keys is None:
        items, values = None, [_untyped(items, value) for value in values]
    result = {as_key(_aligned(keys, key)): value for (key, _), value in zip(last, values)}
    return SchemaAndValue(Schema(Type.MAP, key_schema=keys, value_schema=items), result)


def _aligned(common: Schema | None, element: SchemaAndValue) -> Any:
    """Return a value as one of the schema it shares with others, or as one that has no schema any more."""
    if common is None:
        return _untyped(*element)
    value = _brought_to(common, element.value)
    is_other = common.type in (Type.ARRAY, Type.MAP) and common != element.schema
    return _untyped(element.schema, value) if is_other else value


def _untyped(schema: Schema | None, value: Any) -> Any:
    """Return a value that is printed without its schema as with it: 32-bit floats as the shortest of 64 bits."""
    if schema is None or value is None:
        return value
    if schema.type is Type.FLOAT32 and isinstance(value, float):
        return float(number_text(value, schema))
    if schema.type is Type.ARRAY:
        return type(value)(_untyped(schema.value_schema, item) for item in value)
    if schema.type is Type.MAP:
        keys, items = schema.key_schema, schema.value_schema
        return {_untyped(keys, key): _untyped(items, item) for key, item in value.items()}
    return value


def _brought_to(common: Schema, value: Any) -> Any:
    """Return a value of the common schema's type, or of a narrower number's, as one of the common schema."""
    if value is None:
        raise null_error()
    bring = _BRINGING.get((common.type, common.name))
    return value if bring is None else bring(None, value)


def _common_schema(values: list[SchemaAndValue]) -> Schema | None:
    common: Schema | None = None
    for schema, _ in values:
        if schema is None:
            continue
        common = schema if common is None else _merged(common, schema)
        if common is None:
            return None
    return common


def _merged(first: Schema, other: Schema) -> Schema | None:
    if first.type is other.type:
        return other  # Kafka Connect lets the last one win, unseen what is inside
    if first.type in _WIDENING and other.type in _WIDENING:
        return max(first, other, key=lambda schema: _WIDENING.index(schema.type))
    return None


def _held(common: Schema | None, values: list[SchemaAndValue]) -> Schema | None:
    """Return the common schema, but not a Date's for a Time nor the reverse: Java has one class for both."""
    names = {schema.name for schema, _ in values if schema is not None}
    other = None if common is None else _NOT_HELD.get(common.name)
    return None if other is not None and other in names else common

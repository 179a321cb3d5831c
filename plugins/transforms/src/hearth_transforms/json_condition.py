"""Conditions in JSON paths, such as `?(@.price < 10 && @.tag in ['a', 'b'])`.

Comparisons follow JsonPath for Java: a number equals a string that parses as that number; for an absent value `==`
and `<` are false, `!=` and `nin` are true.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from hearth_api import Date, Struct, Time, Timestamp
from hearth_api.java import PatternError, compile_pattern, java_text

Condition = Callable[[Any, Any], bool]
"""Evaluates a condition on a value and the root."""
Operand = Callable[[Any, Any], Any]
ABSENT = object()
"""The value of an operand whose path matches nothing."""
_SYMBOL = re.compile(r"\s*(===|!==|==|!=|>=|<=|=~|>|<|&&|\|\||!|\(|\)|@|\$|\[)")
_WORD = re.compile(r"\s*([A-Za-z]+)\b", re.ASCII)
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_STRING = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")", re.DOTALL)
_REGEX = re.compile(r"\s*/((?:[^/\\]|\\.)*)/([dmsuxiU]*)", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}


def parse_condition(text: str, place: int, parse_steps: Any, follow: Any) -> tuple[Condition, tuple[Any, ...], int]:
    """Parse the parenthesised condition at a position; return it, its paths and its end.

    `parse_steps` and `follow` parse and evaluate the paths in it, which may contain conditions themselves.
    """
    reader = _Reader(text, place, parse_steps, follow)
    reader.expect("(")
    condition = reader.alternatives()
    reader.expect(")")
    return condition, tuple(reader.paths), reader.place


class _Reader:
    """Parses a condition from left to right; raises ValueError with the position of an error."""

    def __init__(self, text: str, place: int, parse_steps: Any, follow: Any) -> None:
        self.text, self.place = text, place
        self._parse_steps, self._follow = parse_steps, follow
        self.paths: list[tuple[str, Any]] = []

    def expect(self, symbol: str) -> None:
        if not self._skip(symbol):
            raise ValueError(f"a {symbol} is missing in {self.text!r} at position {self.place}")

    def alternatives(self) -> Condition:
        found = [self._together()]
        while self._skip("||"):
            found.append(self._together())
        return found[0] if len(found) == 1 else lambda value, root: any(each(value, root) for each in found)

    def _together(self) -> Condition:
        found = [self._single()]
        while self._skip("&&"):
            found.append(self._single())
        return found[0] if len(found) == 1 else lambda value, root: all(each(value, root) for each in found)

    def _single(self) -> Condition:
        if self._skip("!"):
            inner = self._single()
            return lambda value, root: not inner(value, root)
        if self._skip("("):
            condition = self.alternatives()
            self.expect(")")
            return condition
        return self._relation()

    def _relation(self) -> Condition:
        is_path = self._symbol() in ("@", "$")
        left = self._operand()
        name = self._operator()
        if name is None:
            if not is_path:
                raise ValueError(f"an operator is missing in {self.text!r} at position {self.place}")
            return lambda value, root: left(value, root) is not ABSENT
        if name == "=~":
            pattern = self._pattern()
            return lambda value, root: _matches(pattern, left(value, root))
        holds, right = _OPERATORS[name], self._operand()
        return lambda value, root: holds(left(value, root), right(value, root))

    def _operator(self) -> str | None:
        symbol = self._symbol()
        if symbol in _OPERATORS or symbol == "=~":
            self.expect(str(symbol))
            return symbol
        match = _WORD.match(self.text, self.place)
        if match is None:
            return None
        if match[1].lower() not in _OPERATORS:
            raise ValueError(f"{match[1]!r} in {self.text!r} is no operator")
        self.place = match.end()
        return match[1].lower()

    def _operand(self) -> Operand:
        symbol = self._symbol()
        if symbol in ("@", "$"):
            return self._path(str(symbol))
        if symbol == "[":
            items = self._items()
            return lambda value, root: [item(value, root) for item in items]
        constant = self._constant()
        return lambda value, root: constant

    def _path(self, start: str) -> Operand:
        self.expect(start)
        steps, self.place = self._parse_steps(self.text, self.place)
        self.paths.append((start, steps))
        is_definite = all(step.is_definite for step in steps)
        follow = self._follow

        def found(value: Any, root: Any) -> Any:
            reached = follow(steps, value if start == "@" else root, root)
            if is_definite:
                return _plain(reached[0]) if reached else ABSENT
            return _plain(reached) if reached else ABSENT

        return found

    def _items(self) -> list[Operand]:
        self.expect("[")
        items: list[Operand] = []
        while not self._skip("]"):
            if items:
                self.expect(",")
            items.append(self._operand())
        return items

    def _constant(self) -> Any:
        if match := _STRING.match(self.text, self.place):
            self.place = match.end()
            return _unescaped(match[1] if match[1] is not None else match[2])
        if match := _NUMBER.match(self.text, self.place):
            self.place = match.end()
            return Decimal(match[1])
        match = _WORD.match(self.text, self.place)
        if match is None or match[1] not in _CONSTANTS:
            raise ValueError(f"a value is missing in {self.text!r} at position {self.place}")
        self.place = match.end()
        return _CONSTANTS[match[1]]

    def _pattern(self) -> re.Pattern[str]:
        match = _REGEX.match(self.text, self.place)
        if match is None:
            raise ValueError(f"a /pattern/ is missing in {self.text!r} at position {self.place}")
        self.place = match.end()
        try:
            return compile_pattern(f"(?{match[2]}){match[1]}" if match[2] else match[1])
        except PatternError as error:
            raise ValueError(str(error)) from error

    def _symbol(self) -> str | None:
        match = _SYMBOL.match(self.text, self.place)
        return None if match is None else match[1]

    def _skip(self, symbol: str) -> bool:
        rest = self.text[self.place :]
        start = len(rest) - len(rest.lstrip())
        if not rest.startswith(symbol, start):
            return False
        self.place += start + len(symbol)
        return True


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


def _plain(value: Any) -> Any:
    """Return the JSON form of a value, with exact numbers."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float, Decimal)):
        return Decimal(str(value))
    if isinstance(value, dt.datetime):
        return Decimal(Timestamp.from_logical(Timestamp.SCHEMA, value))
    if isinstance(value, (dt.date, dt.time)):
        kind: Any = Date if isinstance(value, dt.date) else Time
        return Decimal(kind.from_logical(kind.SCHEMA, value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Struct):
        return {field.name: _plain(value.get(field)) for field in value.schema.fields}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value]


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, Decimal) and isinstance(right, str):
        try:
            return left == Decimal(right)
        except InvalidOperation:
            return False
    if isinstance(left, str) and isinstance(right, Decimal):
        return left == java_text(right)
    return _same(left, right)


def _same(left: Any, right: Any) -> bool:
    return left is not ABSENT and type(left) is type(right) and left == right


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        if type(left) is not type(right) or not isinstance(left, (Decimal, str)):
            return False
        return not (isinstance(left, Decimal) and (left.is_nan() or right.is_nan())) and compare(left, right)

    return holds


def _within(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_equal(left, each) for each in right)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return isinstance(left, list) and any(_equal(each, right) for each in left)


def _all_within(left: Any, right: Any) -> bool:
    return isinstance(left, list) and isinstance(right, list) and all(_within(each, right) for each in left)


def _any_within(left: Any, right: Any) -> bool:
    return isinstance(left, list) and isinstance(right, list) and any(_within(each, right) for each in left)


def _sized(left: Any, right: Any) -> bool:
    return isinstance(left, (str, list, dict)) and _same(Decimal(len(left)), right)


def _is_empty(left: Any, right: Any) -> bool:
    return isinstance(left, (str, list, dict)) and (not left) is right


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    text = json.dumps(value) if isinstance(value, bool) else java_text(value) if isinstance(value, Decimal) else value
    return isinstance(text, str) and pattern.fullmatch(text) is not None


_OPERATORS: dict[str | None, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "===": _same,
    "!==": lambda left, right: not _same(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _within,
    "nin": lambda left, right: not _within(left, right),
    "contains": _contains,
    "all": lambda left, right: _all_within(right, left),
    "subsetof": _all_within,
    "anyof": _any_within,
    "noneof": lambda left, right: not _any_within(left, right),
    "size": _sized,
    "empty": _is_empty,
}

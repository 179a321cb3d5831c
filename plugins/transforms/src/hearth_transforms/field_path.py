"""Paths to fields: `a`, or in version V2 of the syntax (KIP-821) `a.b` and `` `a.b`.c ``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hearth_api import ConfigError, Field, Schema, Struct, Type
from hearth_transforms.requirement import UnknownFieldError, require_map, require_struct

_PURPOSE = "nested field access"


class FieldPath:
    """The names of the fields on a path, from the outermost struct or map inwards."""

    def __init__(self, text: str, version: str) -> None:
        """Parse a path; in version V1 it is a single name."""
        self._text = text
        self.steps = tuple(_steps(text)) if version.upper() == "V2" else (text,)

    @property
    def place(self) -> tuple[str, ...]:
        """Return the path of the struct or map that contains the field."""
        return self.steps[:-1]

    @property
    def name(self) -> str:
        """Return the field's name in its struct or map."""
        return self.steps[-1] if self.steps else ""

    def field_in(self, schema: Schema) -> Field:
        """Return the field of a struct schema; raise UnknownFieldError if it does not exist."""
        *_, last = self.fields_in(schema)
        return last

    def find_in(self, schema: Schema) -> Field | None:
        """Return the field of a struct schema, None if it does not exist."""
        field = None
        for step in self.steps:
            field = schema.field(step) if schema.type is Type.STRUCT else None
            if field is None:
                return None
            schema = field.schema
        return field

    def __str__(self) -> str:
        """Return the path as it was written."""
        return self._text

    def fields_in(self, schema: Schema) -> Iterator[Field]:
        """Yield the fields on the path, from the outermost inwards; raise UnknownFieldError for a missing one."""
        for step in self._present_steps():
            field = schema.field(step)
            if field is None:
                raise UnknownFieldError(f"Unknown field: {self._text}")
            yield field
            schema = field.schema

    def value_in_map(self, value: dict[str, Any]) -> Any:
        """Return the value in a map, None if any part of the path is missing."""
        *outer, last = self._present_steps()
        for step in outer:
            inner = value.get(step)
            if inner is None:
                return None
            value = require_map(inner, _PURPOSE)
        return value.get(last)

    def value_in_struct(self, value: Struct, with_default: bool) -> Any:
        """Return the value in a struct; defaults always replace missing structs on the path."""
        *outer, last = self.fields_in(value.schema)
        for field in outer:
            inner = value.get(field)
            if inner is None:
                return None
            value = require_struct(inner, _PURPOSE)
        return value.get(last) if with_default else value.get_without_default(last)

    def _present_steps(self) -> tuple[str, ...]:
        if not self.steps:
            raise UnknownFieldError("Unknown field: ")
        return self.steps


def _steps(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        if text[start] == "`":
            step, start = _quoted(text, start)
        else:
            end = text.find(".", start)
            end = len(text) if end < 0 else end
            step, start = text[start:end], end + 1
        yield step
    if text.endswith("."):
        yield ""


def _quoted(text: str, opening: int) -> tuple[str, int]:
    """Return the step that a backtick opens and the start of the next step.

    A backtick before a dot or at the end closes it; before a dot a backslash escapes the backtick.
    """
    step = ""
    start = place = opening + 1
    while True:
        place = text.find("`", place)
        is_escaped = text[place - 1 : place] == "\\"
        if place < 0 or (place == len(text) - 1 and is_escaped):
            raise ConfigError(
                f"Incomplete backtick pair in path: [{text}],"
                f" consider adding a backslash before backtick at position {opening} to escape it"
            )
        if text[place + 1 : place + 2] in ("", "."):
            if not is_escaped:
                return step + text[start:place], place + 2
            step += text[start : place - 1] + "`"
            start = place + 1
        place += 1

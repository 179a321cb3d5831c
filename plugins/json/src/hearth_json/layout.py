"""Learns from one payload what is constant in it: its template."""

from __future__ import annotations

import re

from hearth_api import Decimal, Schema, Type
from hearth_json.template import Slot, Template

_SPACE = re.compile(rb"[ \t\n\r]*")
_NAME = re.compile(rb'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_SCALAR = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.\w]+')


class _NoTemplateError(Exception):
    """The payload is not laid out in a way that others could share."""


def learn(schema: Schema, payload: bytes) -> Template | None:
    """Return the template of one payload, None when its schema or its layout has none."""
    learner = _Learner(payload)
    try:
        learner.value(schema, "")
    except _NoTemplateError:
        return None
    return learner.template()


class _Learner:
    """Walks along a payload and its schema and notes what is constant."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.at = 0
        self.noted = 0
        self.literals: list[bytes] = []
        self.slots: list[Slot] = []
        self.structs: set[str] = set()

    def template(self) -> Template | None:
        """Return what was noted, None when there is no value or something after the last one."""
        rest = self.payload[self.noted :]
        if not self.slots or self.payload[self.at :].strip(b" \t\n\r"):
            return None
        return Template((*self.literals, rest), tuple(self.slots), frozenset(self.structs))

    def value(self, schema: Schema, path: str) -> None:
        """Walk along one value."""
        if schema.type is Type.STRUCT:
            self._struct(schema, path)
        elif schema.type is Type.ARRAY or schema.type is Type.MAP:
            raise _NoTemplateError
        else:
            self._scalar(schema, path)

    def _struct(self, schema: Schema, path: str) -> None:
        self.structs.add(path)
        self._expect(b"{")
        seen: set[str] = set()
        while not self._finds(b"}"):
            if seen:
                self._expect(b",")
            name = self._name()
            field = schema.field(name)
            if field is None or name in seen:
                raise _NoTemplateError
            seen.add(name)
            self.value(field.schema, f"{path}.{field.index}")

    def _scalar(self, schema: Schema, path: str) -> None:
        self._skip_space()
        match = _SCALAR.match(self.payload, self.at)
        if match is None:
            raise _NoTemplateError
        self.literals.append(self.payload[self.noted : self.at])
        self.slots.append(Slot(path, schema, _is_quoted(schema, match.group())))
        self.at = self.noted = match.end()

    def _name(self) -> str:
        self._skip_space()
        match = _NAME.match(self.payload, self.at)
        if match is None:
            raise _NoTemplateError
        self.at = match.end()
        return match.group(1).decode("utf-8", "replace")

    def _skip_space(self) -> None:
        match = _SPACE.match(self.payload, self.at)
        self.at = self.at if match is None else match.end()

    def _finds(self, mark: bytes) -> bool:
        self._skip_space()
        is_there = self.payload.startswith(mark, self.at)
        self.at += is_there
        return is_there

    def _expect(self, mark: bytes) -> None:
        if not self._finds(mark):
            raise _NoTemplateError


def _is_quoted(schema: Schema, scalar: bytes) -> bool:
    is_usual = schema.type is Type.STRING or schema.type is Type.BYTES
    if scalar == b"null":
        return is_usual
    is_quoted = scalar.startswith(b'"')
    if is_quoted != is_usual and schema.name != Decimal.LOGICAL_NAME:
        raise _NoTemplateError
    return is_quoted

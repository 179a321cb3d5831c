"""Learns the layout of a schema's payloads from one of them: its constant texts and the fields of its values."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_api import Decimal, Schema, Type
from hearth_api.layout import NoTemplateError, Template, Walker


@dataclass(frozen=True)
class Slot:
    """A value in a layout: its field and its schema."""

    path: str
    schema: Schema


@dataclass(frozen=True)
class Layout:
    """The constant texts of a payload and the slots between them."""

    template: Template
    slots: tuple[Slot, ...]
    structs: frozenset[str]
    """The paths of the structs present, which distinguish an empty struct from a missing one."""


def learn(schema: Schema, payload: bytes) -> Layout | None:
    """Return the layout of a payload, None if other payloads cannot share it or its schema is not supported."""
    learner = _Learner(payload)
    try:
        learner.value(schema, "")
    except NoTemplateError:
        return None
    template = learner.template()
    return None if template is None else Layout(template, tuple(learner.slots), frozenset(learner.structs))


class _Learner(Walker):
    """Walks a payload and its schema together."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.slots: list[Slot] = []
        self.structs: set[str] = set()

    def value(self, schema: Schema, path: str) -> None:
        """Walk one value."""
        if schema.type is Type.STRUCT:
            self._struct(schema, path)
        elif schema.type is Type.ARRAY or schema.type is Type.MAP:
            raise NoTemplateError
        else:
            self.scalar(lambda scalar: _is_quoted(schema, scalar))
            self.slots.append(Slot(path, schema))

    def _struct(self, schema: Schema, path: str) -> None:
        self.structs.add(path)
        for name in self.members():
            field = schema.field(name)
            if field is None:
                raise NoTemplateError
            self.value(field.schema, f"{path}.{field.index}")


def _is_quoted(schema: Schema, scalar: bytes) -> bool:
    is_usual = schema.type is Type.STRING or schema.type is Type.BYTES
    if scalar == b"null":
        return is_usual
    is_quoted = scalar.startswith(b'"')
    if is_quoted != is_usual and schema.name != Decimal.LOGICAL_NAME:
        raise NoTemplateError
    return is_quoted

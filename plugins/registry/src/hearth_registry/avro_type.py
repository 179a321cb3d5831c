"""Avro schemas and their text as Avro 1.12.1 prints it.

Members are in Avro's print order, without spaces; a repeated named type is only referenced. So the text is
identical to that of the Java class, which registries compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hearth_api import DataError
from hearth_api.java import double_text, float_text

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NAMED = frozenset(("record", "enum", "fixed"))
NO_DEFAULT = object()
"""Marks a field without default, since None is a valid default."""
_SCRUB = "Avro takes letters, digits and _ in names; scrub.invalid.names=true changes others to these"
_ESCAPED = re.compile('["\\\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class AvroSchemaError(DataError):
    """A schema is not valid in Avro."""

    code = "data.avro_schema"
    java_name = "org.apache.avro.SchemaParseException"


class Float32(float):
    """A 32-bit float in JSON, which is printed with fewer digits than a 64-bit one."""


@dataclass(eq=False)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = NO_DEFAULT
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class AvroType:
    """An Avro schema, which may be recursive and is compared by identity.

    `kind` is the type name in Avro's JSON. The other attributes belong to certain kinds: `name` (with its namespace),
    `aliases`, `doc` and `size` to named types, `fields` to records, `symbols` and `default` to enums, `items` to
    arrays and maps (their values), `branches` to unions.
    """

    kind: str
    name: str = ""
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list, init=False)
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    branches: tuple[AvroType, ...] = ()
    aliases: tuple[str, ...] = ()
    props: dict[str, Any] = field(default_factory=dict)
    _items: AvroType | None = None
    _numbers: dict[str, int] = field(default_factory=dict)
    _aliased: dict[str, int] = field(default_factory=dict)

    @property
    def items(self) -> AvroType:
        """Return the schema of the items of an array, or of the values of a map."""
        assert self._items is not None
        return self._items

    @property
    def namespace(self) -> str:
        """Return the part of the name before the last dot."""
        return self.name.rpartition(".")[0]

    @property
    def short_name(self) -> str:
        """Return the part of the name after the last dot."""
        return self.name.rpartition(".")[2]

    @property
    def full_name(self) -> str:
        """Return the name, or the kind of an unnamed type; it identifies a branch of a union."""
        return self.name if self.kind in NAMED else self.kind

    @property
    def logical(self) -> str | None:
        """Return the logical type, if it is given as a string."""
        word = self.props.get("logicalType")
        return word if isinstance(word, str) else None

    @property
    def is_nullable(self) -> bool:
        """Return whether null is a valid value."""
        return self.kind == "null" or any(branch.kind == "null" for branch in self.branches)

    def find(self, name: str) -> AvroField | None:
        """Return a record's field by name, or None."""
        number = self._numbers.get(name)
        return None if number is None else self.fields[number]

    def place(self, name: str) -> int | None:
        """Return the index of a record's field by its name or alias."""
        return self._numbers.get(name, self._aliased.get(name))

    def add(self, *new: AvroField) -> None:
        """Add fields to a record; raise for a duplicate name."""
        for each in new:
            if each.name in self._numbers:
                raise AvroSchemaError(f"Duplicate field {each.name} in record {self.name}")
            self._numbers[each.name] = len(self.fields)
            for alias in each.aliases:
                self._aliased.setdefault(alias, len(self.fields))
            self.fields.append(each)


def array_of(items: AvroType) -> AvroType:
    """Return the schema of arrays."""
    return AvroType("array", _items=items)


def map_of(values: AvroType) -> AvroType:
    """Return the schema of maps."""
    return AvroType("map", _items=values)


def union_of(*branches: AvroType) -> AvroType:
    """Return a union; raise AvroSchemaError for two branches with the same name."""
    seen: set[str] = set()
    for branch in branches:
        if branch.kind == "union":
            raise AvroSchemaError(f"Nested union: {text_of(AvroType('union', branches=branches))}")
        if branch.full_name in seen:
            raise AvroSchemaError(f"Duplicate in union:{branch.full_name}")
        seen.add(branch.full_name)
    return AvroType("union", branches=branches)


def checked(name: str) -> str:
    """Return a name without dots; raise AvroSchemaError if it is not valid."""
    if not isinstance(name, str) or not name:
        raise AvroSchemaError("Empty name")
    if not (name[0].isalpha() or name[0] == "_"):
        raise AvroSchemaError(f"Illegal initial character: {name}", hint=_SCRUB)
    if not all(char.isalnum() or char == "_" for char in name):
        raise AvroSchemaError(f"Illegal character in: {name}", hint=_SCRUB)
    return name


def symbols_of(symbols: Iterable[str], default: str | None) -> tuple[str, ...]:
    """Return the symbols of an enum; raise unless they are distinct names that include the default."""
    found = tuple(map(checked, symbols))
    known: set[str] = set()
    for symbol in found:
        if symbol in known:
            raise AvroSchemaError(f"Duplicate enum symbol: {symbol}")
        known.add(symbol)
    if default is not None and default not in found:
        raise AvroSchemaError(f"The Enum Default: {default} is not in the enum symbol set: [{', '.join(found)}]")
    return found


def text_of(type_: AvroType) -> str:
    """Return the schema as JSON."""
    return "".join(_pieces(type_, None, set()))


def json_text(value: Any) -> str:
    """Return compact JSON, with numbers as Java prints them and only necessary escapes."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Float32):
        return _number(float_text(value))
    if isinstance(value, float):
        return _number(double_text(value))
    if isinstance(value, dict):
        return f"{{{','.join([f'{json_text(name)}:{json_text(item)}' for name, item in value.items()])}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(json_text, value))}]"
    return str(value)


def _number(text: str) -> str:
    return f'"{text}"' if text[-1] in "yN" else text


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or f"\\u{ord(char):04X}"


def _pieces(type_: AvroType, space: str | None, known: set[str]) -> Iterator[str]:
    """Yield the text of a schema inside a namespace; None for no namespace."""
    if type_.kind == "union":
        yield "["
        for number, branch in enumerate(type_.branches):
            yield "," if number else ""
            yield from _pieces(branch, space, known)
        yield "]"
    elif type_.kind in NAMED:
        yield from _named(type_, space, known)
    elif type_.kind in ("array", "map"):
        yield f'{{"type":"{type_.kind}","{"items" if type_.kind == "array" else "values"}":'
        yield from _pieces(type_.items, space, known)
        yield f"{_members(type_.props)}}}"
    elif type_.props:
        yield f'{{"type":"{type_.kind}"{_members(type_.props)}}}'
    else:
        yield f'"{type_.kind}"'


def _named(type_: AvroType, space: str | None, known: set[str]) -> Iterator[str]:
    own = type_.namespace or None
    if type_.name in known:
        is_short = own == space and type_.short_name not in PRIMITIVES
        yield json_text(type_.short_name if is_short else type_.name)
        return
    known.add(type_.name)
    yield f'{{"type":"{type_.kind}","name":{json_text(type_.short_name)}'
    if own != space:
        yield f',"namespace":{json_text(own or "")}'
    if type_.doc is not None:
        yield f',"doc":{json_text(type_.doc)}'
    if type_.kind == "record":
        yield ',"fields":['
        for number, each in enumerate(type_.fields):
            yield "," if number else ""
            yield from _field(each, own, known)
        yield "]"
    elif type_.kind == "enum":
        yield f',"symbols":{json_text(type_.symbols)}'
        if type_.default is not None:
            yield f',"default":{json_text(type_.default)}'
    else:
        yield f',"size":{type_.size}'
    aliases = [_relative(alias, own) for alias in type_.aliases]
    yield _members(type_.props) + (f',"aliases":{json_text(aliases)}' if aliases else "") + "}"


def _field(each: AvroField, space: str | None, known: set[str]) -> Iterator[str]:
    yield f'{{"name":{json_text(each.name)},"type":'
    yield from _pieces(each.type, space, known)
    if each.doc is not None:
        yield f',"doc":{json_text(each.doc)}'
    if each.default is not NO_DEFAULT:
        yield f',"default":{json_text(each.default)}'
    if each.order != "ascending":
        yield f',"order":{json_text(each.order)}'
    if each.aliases:
        yield f',"aliases":{json_text(each.aliases)}'
    yield f"{_members(each.props)}}}"


def _members(props: dict[str, Any]) -> str:
    return "".join([f",{json_text(name)}:{json_text(value)}" for name, value in props.items()])


def _relative(name: str, space: str | None) -> str:
    own, _, short = name.rpartition(".")
    return short if own == (space or "") else name

"""Avro schemas: what they consist of, and their text as Avro 1.12.1 prints it.

Members stand in the order in which that prints them, without spaces; a name that was printed before is only named
again. So the text of a schema is letter by letter that of the Java class, which is what registries compare.
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
"""What a field has that has no default; None is one."""
_SCRUB = "Avro takes letters, digits and _ in names; scrub.invalid.names=true changes others to these"
_ESCAPED = re.compile('["\\\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class AvroSchemaError(DataError):
    """A schema is not one that Avro allows."""

    code = "data.avro_schema"
    java_name = "org.apache.avro.SchemaParseException"


class Float32(float):
    """A number of 32 bits in JSON, which has fewer digits than one of 64."""


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
    """A schema of Avro; it may hold itself, so two are the same only if they are one object.

    `kind` is the word of Avro's JSON. The other attributes belong to some kinds only: `name` (with its namespace),
    `aliases`, `doc` and `size` to those that have names, `fields` to records, `symbols` and `default` to enums,
    `items` to arrays and maps (whose values they are), `branches` to unions.
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
        """Return what stands before the last dot of the name."""
        return self.name.rpartition(".")[0]

    @property
    def short_name(self) -> str:
        """Return what stands behind the last dot of the name."""
        return self.name.rpartition(".")[2]

    @property
    def full_name(self) -> str:
        """Return the name, or the kind of what has none: by this a union knows its branches."""
        return self.name if self.kind in NAMED else self.kind

    @property
    def logical(self) -> str | None:
        """Return the logical type, if one is written there as a text."""
        word = self.props.get("logicalType")
        return word if isinstance(word, str) else None

    @property
    def is_nullable(self) -> bool:
        """Tell whether a null is a value."""
        return self.kind == "null" or any(branch.kind == "null" for branch in self.branches)

    def find(self, name: str) -> AvroField | None:
        """Return the field of that name of a record, or None."""
        number = self._numbers.get(name)
        return None if number is None else self.fields[number]

    def place(self, name: str) -> int | None:
        """Return the number of the field of a record that is meant by a name, its own or else an alias."""
        return self._numbers.get(name, self._aliased.get(name))

    def add(self, *new: AvroField) -> None:
        """Add fields to a record, which may have none of their names."""
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
    """Return the schema of values of one of several types; two of the same name raise an AvroSchemaError."""
    seen: set[str] = set()
    for branch in branches:
        if branch.kind == "union":
            raise AvroSchemaError(f"Nested union: {text_of(AvroType('union', branches=branches))}")
        if branch.full_name in seen:
            raise AvroSchemaError(f"Duplicate in union:{branch.full_name}")
        seen.add(branch.full_name)
    return AvroType("union", branches=branches)


def checked(name: str) -> str:
    """Return a name without dots, or raise an AvroSchemaError if Avro does not take it as one."""
    if not isinstance(name, str) or not name:
        raise AvroSchemaError("Empty name")
    if not (name[0].isalpha() or name[0] == "_"):
        raise AvroSchemaError(f"Illegal initial character: {name}", hint=_SCRUB)
    if not all(char.isalnum() or char == "_" for char in name):
        raise AvroSchemaError(f"Illegal character in: {name}", hint=_SCRUB)
    return name


def symbols_of(symbols: Iterable[str], default: str | None) -> tuple[str, ...]:
    """Return the symbols of an enum, if all are names, none stands there twice, and the default is one of them."""
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
    """Return a JSON value without spaces, numbers as Java prints them and no letter escaped that need not be."""
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
    """Yield the text of a schema inside of a namespace; None stands for none."""
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

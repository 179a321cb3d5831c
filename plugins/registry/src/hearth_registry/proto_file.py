"""The model of Protobuf files: messages, enums, and the resolved types of fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from hearth_registry.schema_format import PayloadError

PROTO2, PROTO3 = "proto2", "proto3"
SCALARS = frozenset(
    ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
     "sfixed64", "bool", "string", "bytes")
)  # fmt: skip
OPTIONAL, REQUIRED, REPEATED = "optional", "required", "repeated"


@dataclass(eq=False)
class ProtoEnum:
    """An enum with its values in declaration order."""

    name: str
    values: list[tuple[str, int]] = field(default_factory=list)
    full_name: str = ""
    is_closed: bool = False
    """Whether an unknown number leaves the field unset, as in proto2."""


@dataclass(eq=False)
class ProtoField:
    """A field of a message."""

    name: str
    type: str
    number: int
    label: str | None = None
    """`optional`, `required` or `repeated`; empty in a oneof, and where proto3 needs no label."""
    oneof: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    """The parameters in `(confluent.field_meta)`."""
    json_name: str | None = None
    default: str | None = None
    is_packed: bool | None = None
    kind: Kind = ""
    """The resolved type: the name of a scalar, a message or an enum."""
    has_presence: bool = False
    """Whether a default value is distinguished from an unset field."""


@dataclass(eq=False)
class ProtoMessage:
    """A message with its nested messages."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    oneofs: list[str] = field(default_factory=list)
    messages: list[ProtoMessage] = field(default_factory=list)
    enums: list[ProtoEnum] = field(default_factory=list)
    entries: list[ProtoMessage] = field(default_factory=list)
    """The entry messages of `map<K, V>` fields, which have no index."""
    full_name: str = ""

    def find(self, name: str) -> ProtoField | None:
        """Return the field with a name; no fields may be added after the first call."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ProtoField]:
        return {each.name: each for each in self.fields}


Kind: TypeAlias = "str | ProtoMessage | ProtoEnum"


@dataclass(eq=False)
class ProtoFile:
    """A file; `resolve` must be called before field types are used."""

    syntax: str = PROTO2
    package: str | None = None
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    messages: list[ProtoMessage] = field(default_factory=list)
    enums: list[ProtoEnum] = field(default_factory=list)

    def resolve(self, imported: Iterable[ProtoFile] = ()) -> ProtoFile:
        """Resolve the types of all fields in this and imported files, and return the file."""
        types: dict[str, ProtoMessage | ProtoEnum] = {}
        for file in (*imported, self):
            types.update(_named(file.package or "", file.messages, file.enums, file.syntax == PROTO2))
        for message in _all(self.messages):
            for each in message.fields:
                self._resolve(each, message, types)
        return self

    def message_at(self, indexes: tuple[int, ...]) -> ProtoMessage:
        """Return a message by its indexes; `()` is the first one."""
        messages, found = self.messages, None
        for index in indexes or (0,):
            if not 0 <= index < len(messages):
                raise PayloadError(f"Protobuf schema has no message at the indexes {list(indexes)}")
            found = messages[index]
            messages = found.messages
        assert found is not None
        return found

    def indexes_of(self, full_name: str) -> tuple[int, ...] | None:
        """Return the indexes of a message by name, None if it does not exist."""

        def search(messages: list[ProtoMessage], path: tuple[int, ...]) -> tuple[int, ...] | None:
            for index, message in enumerate(messages):
                if message.full_name == full_name:
                    return (*path, index)
                found = search(message.messages, (*path, index))
                if found is not None:
                    return found
            return None

        return search(self.messages, ())

    def _resolve(self, each: ProtoField, message: ProtoMessage, types: dict[str, ProtoMessage | ProtoEnum]) -> None:
        kind: Kind | None = each.type if each.type in SCALARS else _found(each.type, message.full_name, types)
        if kind is None:
            raise PayloadError(f'"{message.full_name}.{each.name}": "{each.type}" is not defined')
        each.kind = kind
        is_tracked = each.label == OPTIONAL or self.syntax == PROTO2 or each.oneof is not None
        each.has_presence = each.label != REPEATED and (is_tracked or isinstance(kind, ProtoMessage))
        if each.is_packed is None:
            each.is_packed = self.syntax != PROTO2


def _named(
    scope: str, messages: list[ProtoMessage], enums: list[ProtoEnum], is_closed: bool
) -> Iterator[tuple[str, ProtoMessage | ProtoEnum]]:
    """Return all types by full name, and set their full names."""
    prefix = f"{scope}." if scope else ""
    for enum in enums:
        enum.full_name, enum.is_closed = prefix + enum.name, is_closed
        yield enum.full_name, enum
    for message in messages:
        message.full_name = prefix + message.name
        yield message.full_name, message
        yield from _named(message.full_name, message.messages + message.entries, message.enums, is_closed)


def _all(messages: list[ProtoMessage]) -> Iterator[ProtoMessage]:
    for message in messages:
        yield message
        yield from _all(message.messages)
        yield from _all(message.entries)


def _found(name: str, scope: str, types: Mapping[str, ProtoMessage | ProtoEnum]) -> ProtoMessage | ProtoEnum | None:
    """Resolve a type name in a scope and its enclosing scopes."""
    if name.startswith("."):
        return types.get(name[1:])
    while True:
        found = types.get(f"{scope}.{name}" if scope else name)
        if found is not None or not scope:
            return found
        scope = scope.rpartition(".")[0]

"""Parses the JSON text of Avro schemas, with the names that referenced schemas declare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hearth_registry.avro_type import (
    NO_DEFAULT,
    PRIMITIVES,
    AvroField,
    AvroSchemaError,
    AvroType,
    array_of,
    checked,
    json_text,
    map_of,
    symbols_of,
    union_of,
)

MOST_LETTERS = 4 << 20
"""Maximum length of a text: a registry stores a schema in a Kafka record, by default at most one megabyte."""
MOST_LEVELS = 100
"""Maximum nesting depth of a schema."""
MOST_PARTS = 100_000
"""Maximum expanded parts of a schema: a short text can name a record twice that names another one twice."""
MOST_BRANCHES = 1_000
"""Maximum branches of a union, since its struct has a field for each."""
_MOST_SHOWN = 200
_RESERVED = frozenset(("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"))
_RESERVED_OF_ENUM = _RESERVED | {"default"}
_RESERVED_OF_FIELD = frozenset(("default", "doc", "name", "order", "type", "aliases"))


def parse(text: str, references: Mapping[str, str] | None = None) -> AvroType:
    """Parse a schema; referenced schemas are given by name.

    Raises AvroSchemaError for an invalid schema.
    """
    found = _Reader({}, dict(references or {})).type(_tree(text), "", 0)
    if (parts := _parts(found, {})) > MOST_PARTS:
        raise AvroSchemaError(f"a schema of {parts} parts is too large, the most are {MOST_PARTS}")
    return found


def _parts(type_: AvroType, known: dict[int, int]) -> int:
    """Count the parts of a schema, once for each reference; recursive references are not counted."""
    if id(type_) not in known:
        known[id(type_)] = 1
        inner = [*type_.branches, *(each.type for each in type_.fields)]
        inner += [type_.items] if type_.kind in ("array", "map") else []
        known[id(type_)] = 1 + sum([_parts(each, known) for each in inner])
    return known[id(type_)]


def _tree(text: str) -> Any:
    if len(text) > MOST_LETTERS:
        raise AvroSchemaError(f"a schema of {len(text)} letters is too long, the most are {MOST_LETTERS}")
    try:
        return json.loads(text)
    except ValueError as error:
        # A primitive type may be written without quotes.
        if text.strip() in PRIMITIVES:
            return text.strip()
        raise AvroSchemaError(f"not the JSON of a schema: {error}") from error
    except RecursionError as error:
        raise AvroSchemaError(f"a schema of more than {MOST_LEVELS} levels") from error


class _Reader:
    """Turns JSON trees into types; a named type is known while its fields are parsed, so it may be recursive."""

    def __init__(self, names: dict[str, AvroType], texts: dict[str, str]) -> None:
        self._names, self._texts = names, texts

    def type(self, tree: Any, space: str, level: int) -> AvroType:
        """Return the type of a tree in a namespace."""
        if level > MOST_LEVELS:
            raise AvroSchemaError(f"a schema of more than {MOST_LEVELS} levels")
        if isinstance(tree, str):
            return self._by_name(tree, space)
        if isinstance(tree, list):
            if len(tree) > MOST_BRANCHES:
                raise AvroSchemaError(f"a union of {len(tree)} types is too large, the most are {MOST_BRANCHES}")
            return union_of(*[self.type(each, space, level + 1) for each in tree])
        if not isinstance(tree, dict) or "type" not in tree:
            raise _bad("No type", tree)
        return self._object(tree, space, level)

    def _by_name(self, name: str, space: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        for full in (_full(name, space), name):
            if full in self._texts:
                self.type(_tree(self._texts.pop(full)), "", 0)
            if full in self._names:
                return self._names[full]
        if not self._texts:
            raise AvroSchemaError(f'Undefined schema: "{_full(name, space)}"')
        # A text may declare more names than the one it is referenced by.
        self.type(_tree(self._texts.pop(next(iter(self._texts)))), "", 0)
        return self._by_name(name, space)

    def _object(self, tree: dict[str, Any], space: str, level: int) -> AvroType:
        kind = tree["type"]
        if not isinstance(kind, str):
            return self.type(kind, space, level + 1)
        if kind in PRIMITIVES:
            made = AvroType(kind)
        elif kind in ("record", "error", "enum", "fixed"):
            made = self._named("record" if kind == "error" else kind, tree, space, level)
        elif kind == "array":
            made = array_of(self.type(_member(tree, "items", "Array has no items type"), space, level + 1))
        elif kind == "map":
            made = map_of(self.type(_member(tree, "values", "Map has no values type"), space, level + 1))
        else:
            return self._by_name(kind, space)
        reserved = _RESERVED_OF_ENUM if kind == "enum" else _RESERVED
        made.props = {name: value for name, value in tree.items() if name not in reserved}
        return made

    def _named(self, kind: str, tree: dict[str, Any], space: str, level: int) -> AvroType:
        name = _full(_text(tree, "name"), _word(tree, "namespace") or "" if "namespace" in tree else space)
        checked(name.rpartition(".")[2])
        made = AvroType(kind, name, _word(tree, "doc"))
        made.aliases = tuple([_full(alias, made.namespace) for alias in _aliases(tree)])
        if name in self._names:
            raise AvroSchemaError(f"Can't redefine: {name}")
        self._names[name] = made
        if kind == "fixed":
            made.size = _size(tree)
        elif kind == "enum":
            made.default = _word(tree, "default")
            made.symbols = symbols_of(_list(tree, "symbols", "Enum has no symbols"), made.default)
        else:
            for each in _list(tree, "fields", "Record has no fields"):
                made.add(self._field(each, made.namespace, level))
        return made

    def _field(self, tree: Any, space: str, level: int) -> AvroField:
        if not isinstance(tree, dict):
            raise _bad("Field has no name", tree)
        return AvroField(
            checked(_text(tree, "name")),
            self.type(_member(tree, "type", "Field has no type"), space, level + 1),
            _word(tree, "doc"),
            tree.get("default", NO_DEFAULT),
            _word(tree, "order") or "ascending",
            tuple(_aliases(tree)),
            {name: value for name, value in tree.items() if name not in _RESERVED_OF_FIELD},
        )


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _bad(complaint: str, tree: Any) -> AvroSchemaError:
    return AvroSchemaError(f"{complaint}: {json_text(tree)[:_MOST_SHOWN]}")


def _member(tree: dict[str, Any], name: str, complaint: str) -> Any:
    if name not in tree:
        raise _bad(complaint, tree)
    return tree[name]


def _text(tree: dict[str, Any], name: str) -> str:
    text = _member(tree, name, f"No {name} in schema")
    if not isinstance(text, str):
        raise _bad(f"No {name} in schema", tree)
    return text


def _word(tree: dict[str, Any], name: str) -> str | None:
    """Return an optional string; None if it is missing or of another type."""
    word = tree.get(name)
    return word if isinstance(word, str) else None


def _aliases(tree: dict[str, Any]) -> list[str]:
    aliases = tree.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise _bad("aliases not an array", tree)
    return aliases


def _list(tree: dict[str, Any], name: str, complaint: str) -> list[Any]:
    found = _member(tree, name, complaint)
    if not isinstance(found, list):
        raise _bad(complaint, tree)
    return found


def _size(tree: dict[str, Any]) -> int:
    size = tree.get("size")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise _bad("Invalid or no size", tree)
    return size

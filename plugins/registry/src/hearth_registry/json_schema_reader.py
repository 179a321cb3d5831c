"""Converts JSON Schemas to Connect schemas with the choices and losses of the Java converter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import BYTES_SCHEMA, STRING_SCHEMA, DataError, Schema, SchemaBuilder, SchemaBuilderError, Type
from hearth_registry import json_schema_word as word
from hearth_registry.json_payload_reader import JsonPayloadReader
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.json_schema_tree import PARTS_AT_MOST, Node, SchemaTree

_NUMBER_TYPES = {
    type_.value: type_
    for type_ in (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BYTES)
}
_UNION_NAME = "connect_union_"
_UNION_FIELD = f"{_UNION_NAME}field_"
_DEEPEST = 100
_EVERIT = "org.everit.json.schema."


def connect_schema(
    tree: SchemaTree, settings: JsonSchemaSettings, values: JsonPayloadReader, version: int | None
) -> Schema:
    """Return the Connect schema of a JSON Schema; raise DataError if there is none.

    `version` is the registry's version, for a root without one; `values` reads defaults.
    """
    try:
        return _Reader(tree, settings, values).schema(tree.root, version)
    except RecursionError as error:
        raise DataError("JSON schema is nested too deep, or refers to itself without an object between") from error


class _Reader:
    """Reads one schema and keeps its objects for references to them."""

    def __init__(self, tree: SchemaTree, settings: JsonSchemaSettings, values: JsonPayloadReader) -> None:
        self._tree, self._settings, self._values = tree, settings, values
        self._objects: dict[int, Schema] = {}
        """The schemas of objects before they were made optional."""
        self._open: dict[int, SchemaBuilder] = {}
        """The schemas of objects in progress."""
        self._unions = self._references = self._count = 0

    def schema(self, node: Node, version: int | None = None, is_optional: bool = False) -> Schema:
        """Return the Connect schema of a node, optional if requested or by its own definition."""
        self._count += 1
        if self._count > PARTS_AT_MOST:
            raise DataError(f"JSON schema refers to itself so often that it has more than {PARTS_AT_MOST} parts")
        if node.kind == "combined":
            return self._combined(node, version, is_optional)
        if node.kind == "reference":
            return self._referred(self._tree.target(node), version, is_optional)
        return self._finished(self._builder(node), node, version, is_optional)

    def _finished(self, builder: SchemaBuilder, node: Node, version: int | None, is_optional: bool) -> Schema:
        """Return a schema with the common keywords, and keep it if it is an object's."""
        words = node.words
        if node.title is not None and builder.build().name is None:
            builder.name(node.title)
        own = words.get(word.VERSION)
        builder.version(own if isinstance(own, int) else version)
        if isinstance(words.get("description"), str):
            builder.doc(words["description"])
        if isinstance(words.get(word.PARAMETERS), Mapping):
            builder.parameters({name: str(text) for name, text in words[word.PARAMETERS].items()})
        if "default" in words:
            builder.default(self._default(builder.build(), words["default"]))
        if node.kind == "object":
            self._objects[id(node)] = builder.build()
            self._open.pop(id(node), None)
        return builder.optional().build() if is_optional else builder.build()

    def _default(self, schema: Schema, form: Any) -> Any:
        default = self._values.value(schema, form)
        if schema.type is Type.STRUCT and default is not None:
            # Kafka Connect's struct never has the schema with the default.
            raise SchemaBuilderError("Invalid default value")
        return default

    def _builder(self, node: Node) -> SchemaBuilder:
        kind = node.kind
        if kind == "boolean":
            return SchemaBuilder.boolean()
        if kind == "number":
            return SchemaBuilder(_number_type(node))
        if kind == "string":
            return SchemaBuilder(Type.BYTES if node.words.get(word.TYPE) == word.BYTES else Type.STRING)
        if kind in ("enum", "const"):
            return self._enum(node.symbols)
        if kind == "array":
            return self._array(node)
        if kind == "empty":
            return _variant()
        if kind == "object":
            is_map = node.words.get(word.TYPE) == word.MAP
            return self._map(node) if is_map else self._struct(node)
        raise DataError(f"Unsupported schema type {_EVERIT}{kind.capitalize()}Schema")

    def _enum(self, symbols: tuple[Any, ...]) -> SchemaBuilder:
        is_general = self._settings.generalized_sum_type_support
        name = word.ANY_ENUM if is_general else word.ENUM
        builder = SchemaBuilder.string().parameter(name, "")
        for index, symbol in enumerate(symbols):
            text = word.NULL_MARKER if symbol is None else _symbol(symbol)
            builder.parameter(f"{name}.{text}", str(index) if is_general else text)
        return builder

    def _array(self, node: Node) -> SchemaBuilder:
        items = node.items
        if items is None:
            raise DataError("Array schema did not specify the items type")
        if node.words.get(word.TYPE) != word.MAP or items.kind != "object":
            return SchemaBuilder.array(self.schema(items))
        key, value = items.members.get(word.KEY_MEMBER), items.members.get(word.VALUE_MEMBER)
        if key is None or value is None:
            raise DataError("Map schema did not specify the type of its keys and values")
        return SchemaBuilder.map(self.schema(key), self.schema(value))

    def _map(self, node: Node) -> SchemaBuilder:
        if node.others is None:
            raise DataError("Map schema did not specify the type of its values")
        return SchemaBuilder.map(STRING_SCHEMA, self.schema(node.others))

    def _struct(self, node: Node) -> SchemaBuilder:
        if len(self._open) >= _DEEPEST:
            raise DataError(f"JSON schema has more than {_DEEPEST} objects within each other")
        builder = self._open[id(node)] = SchemaBuilder.struct()
        has_extras = self._settings.preserve_additional_properties and node.permits_others
        if has_extras and word.EXTRAS in node.members:
            raise DataError(
                f"JSON Schema property name '{word.EXTRAS}' collides with the reserved field name for"
                " preserve.additional.properties=true. Rename the property or disable the config."
            )
        for name in _by_index(node.members):
            builder.field(name, self._member(node.members[name], name in node.required))
        if has_extras:
            builder.field(word.EXTRAS, _EXTRAS)
        return builder

    def _member(self, node: Node, is_required: bool) -> Schema:
        return self.schema(node, None, self._settings.optional_for_nonrequired and not is_required)

    def _referred(self, node: Node, version: int | None, is_optional: bool) -> Schema:
        """Return the schema of a reference's target; a repeated object gets Java's id."""
        known, builder = self._objects.get(id(node)), self._open.get(id(node))
        if known is None and builder is None:
            return self.schema(node, version, is_optional)
        self._references += 1
        id_ = f"#id{self._references}"
        if builder is not None:
            return builder.parameter(word.ID, id_).itself(is_optional)
        assert known is not None
        return known.replaced(optional=is_optional, parameters={**(known.parameters or {}), word.ID: id_})

    def _combined(self, node: Node, version: int | None, is_optional: bool) -> Schema:
        if len(node.parts) == 1 and self._settings.flatten_singleton_unions:
            return self.schema(node.parts[0])
        if node.criterion == "allOf":
            return self._all_of(node, version, is_optional)
        is_general = self._settings.generalized_sum_type_support
        name = word.ONE_OF
        if is_general:
            name, self._unions = f"{_UNION_NAME}{self._unions}", self._unions + 1
        others = [part for part in node.parts if part.kind != "null"]
        if len(node.parts) == 2 and len(others) < 2:
            if not others:
                raise DataError("JSON schema allows nothing but null")
            return self.schema(others[0], version, True)
        builder = SchemaBuilder.struct().name(name)
        if is_general:
            builder.parameter(word.ANY_UNION, name)
        for index, part in enumerate(others):
            field = f"{_UNION_FIELD}{index}" if is_general else f"{name}.field.{index}"
            builder.field(field, self.schema(part, None, True))
        if len(others) < len(node.parts):
            builder.optional()
        return self._finished(builder, node, version, is_optional)

    def _all_of(self, node: Node, version: int | None, is_optional: bool) -> Schema:
        members: dict[str, Node] = {}
        required: dict[str, bool] = {}
        self._collect(node, members, required, set())
        if members:
            builder = SchemaBuilder.struct()
            for name, member in members.items():
                builder.field(name, self._member(member, required[name]))
            return builder.optional().build() if is_optional else builder.build()
        chosen = _chosen({part.kind: part for part in node.parts})
        if chosen is None:
            raise DataError("Unsupported criterion allOf for a JSON schema without objects")
        return self.schema(chosen, version, is_optional)

    def _collect(self, node: Node, members: dict[str, Node], required: dict[str, bool], seen: set[int]) -> None:
        """Collect the members of an object, or of all objects of an `allOf`."""
        if id(node) in seen:
            return
        seen.add(id(node))
        if node.kind == "combined" and node.criterion == "allOf":
            for part in node.parts:
                self._collect(part, members, required, seen)
        elif node.kind == "object":
            members.update(node.members)
            required.update((name, name in node.required) for name in node.members)
        elif node.kind == "reference":
            self._collect(self._tree.target(node), members, required, seen)


def _chosen(parts: Mapping[str, Node]) -> Node | None:
    """Return the schema of an `allOf` without members that determines the type; of one kind the last one."""
    string, number = parts.get("string"), parts.get("number")
    if "combined" in parts:
        return parts["combined"]
    if "const" in parts:
        return string or number
    if "enum" in parts:
        return parts["enum"] if string is not None else number
    if string is not None:
        return number or string
    return parts.get("reference")


def _by_index(members: Mapping[str, Node]) -> list[str]:
    """Return the names in index order; of two names with one index only the last is kept."""
    places: dict[int, str] = {}
    for name, node in members.items():
        index = node.words.get(word.INDEX)
        places[index if isinstance(index, int) else len(places)] = name
    return [places[index] for index in sorted(places)]


def _number_type(node: Node) -> Type:
    name = node.words.get(word.TYPE)
    if name is None:
        return Type.INT64 if node.is_integer else Type.FLOAT64
    type_ = _NUMBER_TYPES.get(name) if isinstance(name, str) else None
    if type_ is None:
        raise DataError(f"Unsupported type {name}")
    return type_


def _symbol(symbol: Any) -> str:
    return ("true" if symbol else "false") if isinstance(symbol, bool) else str(symbol)


def _variant() -> SchemaBuilder:
    """Return the builder of a variant schema."""
    return SchemaBuilder.struct().name(word.VARIANT).field("metadata", BYTES_SCHEMA).field("value", BYTES_SCHEMA)


_EXTRAS = SchemaBuilder.map(STRING_SCHEMA, _variant()).optional().build()

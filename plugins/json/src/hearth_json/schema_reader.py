"""Reads schemas from JSON with Kafka Connect's leniency and error messages."""

from __future__ import annotations

from typing import Any

from hearth_api import DataError, Schema, SchemaBuilder, SchemaBuilderError, Type
from hearth_api.java import wrap
from hearth_json.schema_writer import NAME_OF_TYPE
from hearth_json.value_reader import ValueReader

_TYPE_OF_NAME = {name: type_ for type_, name in NAME_OF_TYPE.items()}


class SchemaReader:
    """Turns JSON trees into schemas."""

    def __init__(self, values: ValueReader) -> None:
        """Use the given reader for defaults."""
        self._values = values

    def schema(self, tree: Any) -> Schema | None:
        """Return the schema of a tree, None for JSON null; raise DataError for an invalid schema.

        Members of the wrong type, other than the type and its parts, are ignored.
        """
        if tree is None:
            return None
        builder = self._builder(tree)
        if tree.get("optional") is True:
            builder.optional()
        if isinstance(tree.get("name"), str):
            builder.name(tree["name"])
        version = tree.get("version")
        if isinstance(version, int) and not isinstance(version, bool):
            builder.version(wrap(version, 32))
        if isinstance(tree.get("doc"), str):
            builder.doc(tree["doc"])
        if isinstance(tree.get("parameters"), dict):
            builder.parameters(_parameters(tree["parameters"]))
        if "default" in tree:
            builder.default(self._default(builder.build(), tree["default"]))
        return builder.build()

    def _default(self, schema: Schema, tree: Any) -> Any:
        default = self._values.value(schema, tree)
        if schema.type is Type.STRUCT and default is not None:
            # Kafka Connect can neither read nor write one: the struct never has the schema with the default.
            raise SchemaBuilderError("Invalid default value")
        return default

    def _builder(self, tree: Any) -> SchemaBuilder:
        name = tree.get("type") if isinstance(tree, dict) else None
        if not isinstance(name, str):
            raise DataError("Schema must contain 'type' field")
        type_ = _TYPE_OF_NAME.get(name)
        if type_ is None:
            raise DataError(f"Unknown schema type: {name}")
        if type_ is Type.ARRAY:
            return self._array(tree)
        if type_ is Type.MAP:
            return self._map(tree)
        if type_ is Type.STRUCT:
            return self._struct(tree)
        return SchemaBuilder(type_)

    def _array(self, tree: dict[str, Any]) -> SchemaBuilder:
        items = self.schema(tree.get("items"))
        if items is None:
            raise DataError("Array schema did not specify the element type")
        return SchemaBuilder.array(items)

    def _map(self, tree: dict[str, Any]) -> SchemaBuilder:
        if "keys" not in tree:
            raise DataError("Map schema did not specify the key type")
        if "values" not in tree:
            raise DataError("Map schema did not specify the value type")
        # The builder refuses a null for either.
        return SchemaBuilder.map(self.schema(tree["keys"]), self.schema(tree["values"]))  # type: ignore[arg-type]

    def _struct(self, tree: dict[str, Any]) -> SchemaBuilder:
        fields = tree.get("fields")
        if not isinstance(fields, list):
            raise DataError('Struct schema\'s "fields" argument is not an array.')
        builder = SchemaBuilder.struct()
        for field in fields:
            name = field.get("field") if isinstance(field, dict) else None
            if not isinstance(name, str):
                raise DataError("Struct schema's field name not specified properly")
            builder.field(name, self.schema(field))  # type: ignore[arg-type]
        return builder


def _parameters(tree: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(text, str) for text in tree.values()):
        raise DataError("Schema parameters must have string values.")
    return tree

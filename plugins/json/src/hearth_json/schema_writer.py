"""Writes schemas as JSON text with members in Kafka Connect's order."""

from __future__ import annotations

from functools import lru_cache

from hearth_api import DataError, Schema, Type
from hearth_api.java import schema_to_json
from hearth_json.literal import string_literal
from hearth_json.value_writer import ValueWriter

NAME_OF_TYPE: dict[Type, str] = {type_: schema_to_json(Schema(type_))["type"] for type_ in Type}


class SchemaWriter:
    """Writes schemas as JSON text and caches the most recent ones."""

    def __init__(self, values: ValueWriter, cache_size: int) -> None:
        """Use the given writer for defaults."""
        self._values = values
        self.text = lru_cache(maxsize=max(cache_size, 0))(self._text)

    def _text(self, schema: Schema | None) -> str:
        """Return a schema as a JSON object, None as JSON null."""
        return "null" if schema is None else f"{{{','.join(self._members(schema))}}}"

    def _members(self, schema: Schema) -> list[str]:
        members = [f'"type":"{NAME_OF_TYPE[schema.type]}"', *self._parts(schema)]
        members.append(f'"optional":{"true" if schema.optional else "false"}')
        if schema.name is not None:
            members.append(f'"name":{string_literal(schema.name)}')
        if schema.version is not None:
            members.append(f'"version":{schema.version}')
        if schema.doc is not None:
            members.append(f'"doc":{string_literal(schema.doc)}')
        if schema.parameters is not None:
            pairs = [f"{string_literal(key)}:{string_literal(text)}" for key, text in schema.parameters.items()]
            members.append(f'"parameters":{{{",".join(pairs)}}}')
        if schema.default is not None:
            members.append(f'"default":{self._values.text(schema, schema.default)}')
        return members

    def _parts(self, schema: Schema) -> list[str]:
        if schema.is_reference:
            raise DataError(
                f"a recursive schema has no JSON form: {schema.name}",
                hint="schemas.enable=false leaves schemas out",
            )
        if schema.type is Type.STRUCT:
            fields = [
                f'{{{",".join(self._members(field.schema))},"field":{string_literal(field.name)}}}'
                for field in schema.fields
            ]
            return [f'"fields":[{",".join(fields)}]']
        if schema.type is Type.ARRAY:
            return [f'"items":{self._text(schema.value_schema)}']
        if schema.type is Type.MAP:
            return [f'"keys":{self._text(schema.key_schema)}', f'"values":{self._text(schema.value_schema)}']
        return []

"""The JSON Schema converter."""

from __future__ import annotations

from hearth_registry.json_schema_format import JsonSchemaFormat
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.schema_format import SchemaFormat


class JsonSchemaConverter(RegistryConverter):
    """Confluent's `io.confluent.connect.json.JsonSchemaConverter`."""

    settings_type = JsonSchemaSettings

    def make_format(self, settings: JsonSchemaSettings) -> SchemaFormat:
        """Return the JSON Schema format with these settings."""
        return JsonSchemaFormat(settings)

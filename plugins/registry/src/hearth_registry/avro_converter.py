"""Confluent's AvroConverter."""

from __future__ import annotations

from typing import Any

from hearth_registry.avro_format import AvroFormat
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.schema_format import SchemaFormat


class AvroConverter(RegistryConverter):
    """Confluent's `io.confluent.connect.avro.AvroConverter`."""

    settings_type = AvroSettings

    def make_format(self, settings: Any) -> SchemaFormat:
        """Return the Avro format with these settings."""
        return AvroFormat(settings)

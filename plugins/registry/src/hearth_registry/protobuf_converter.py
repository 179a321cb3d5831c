"""The Protobuf converter."""

from __future__ import annotations

from hearth_registry.protobuf_format import ProtobufFormat
from hearth_registry.protobuf_setting import ProtobufSettings
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.schema_format import SchemaFormat


class ProtobufConverter(RegistryConverter):
    """Confluent's `io.confluent.connect.protobuf.ProtobufConverter`."""

    settings_type = ProtobufSettings

    def make_format(self, settings: ProtobufSettings) -> SchemaFormat:
        """Return the Protobuf format with these settings."""
        return ProtobufFormat(settings)

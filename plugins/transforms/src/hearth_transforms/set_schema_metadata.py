"""SetSchemaMetadata: sets the name or version of the key's or value's schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import ConfigError, DataError, Importance, Schema, Settings, Struct, Type, key
from hearth_api.batch import Batch, BatchTransformation, Declined, PartlyFailed
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.side import KEY, VALUE, R, Side


class SetSchemaMetadataConfig(Settings):
    """Settings of SetSchemaMetadata."""

    schema_name: str | None = key(
        "schema.name", default=None, importance=Importance.HIGH, doc="The new name of the schema."
    )
    schema_version: int | None = key(
        "schema.version", default=None, importance=Importance.HIGH, doc="The new version of the schema."
    )
    replace_null_with_default: bool = null_to_default()


class SetSchemaMetadata(KafkaPlugin, BatchTransformation):
    """Sets the name and version of the key's or value's struct schema; Kafka Connect refuses other schemas."""

    settings = SetSchemaMetadataConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the name, the version or both."""
        config = SetSchemaMetadataConfig(configs)
        self._name, self._version = config.schema_name, config.schema_version
        if self._name is None and self._version is None:
            raise ConfigError("Neither schema name nor version configured")
        self._with_default = config.replace_null_with_default
        self._updated = lru_cache(maxsize=1000)(self._make_updated)

    def apply(self, record: R) -> R:
        """Set the schema of a record, also for a null."""
        schema, value = self.side.schema(record), self.side.value(record)
        if schema is None and value is None:
            return record
        if schema is None:
            raise DataError("Schema required for [updating schema metadata]")
        updated = self._updated(schema)
        if isinstance(value, Struct):
            renewed = Struct(updated)
            for field in updated.fields:
                renewed.put(field, value.get(field) if self._with_default else value.get_without_default(field))
            value = renewed
        return self.side.replaced(record, updated, value)

    def apply_batch(self, batch: Batch) -> list[Batch] | PartlyFailed | Declined:
        """Set the schema of the column; only nulls with a default change their value."""
        from hearth_transforms import struct_column as columns

        schema = self.side.schema(batch)
        if schema is None or schema.type is not Type.STRUCT:
            return NotImplemented
        parts = columns.with_structs(self.side, batch, self._renewed)
        if not isinstance(parts, list):
            return parts
        updated = self._updated(schema)
        return [self.side.replaced_column(each, updated, columns.side_column(self.side, each)) for each in parts]

    def _renewed(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        from hearth_transforms import struct_column as columns

        found = columns.field_columns(schema, column, self._with_default)
        return None if found is None else (self._updated(schema), found)

    def _make_updated(self, schema: Schema) -> Schema:
        return Schema(
            schema.type,
            schema.optional,
            schema.default,
            schema.name if self._name is None else self._name,
            schema.version if self._version is None else self._version,
            schema.doc,
            schema.parameters,
            schema.fields,
        )


class SetSchemaMetadataKey(SetSchemaMetadata):
    """Sets the schema metadata of the key."""

    side = KEY


class SetSchemaMetadataValue(SetSchemaMetadata):
    """Sets the schema metadata of the value."""

    side = VALUE

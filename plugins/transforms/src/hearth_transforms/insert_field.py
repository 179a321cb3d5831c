"""InsertField: topic, partition, offset, timestamp or a fixed text become fields of the key or value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from hearth_api import ConfigError, Importance, Schema, SchemaBuilder, Settings, Struct, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.attribute import OFFSET, PARTITION, PURPOSE, TIMESTAMP, TOPIC, Attribute, fixed_text
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_SUFFIX = " A ! at its end makes the field required, a ? optional, which it is without either."


def _field_key(name: str, doc: str) -> Any:
    return key(name, default=None, importance=Importance.MEDIUM, doc=doc + _SUFFIX)


class InsertFieldConfig(Settings):
    """Settings of InsertField."""

    topic_field: str | None = _field_key("topic.field", "Name of the field for the topic.")
    partition_field: str | None = _field_key("partition.field", "Name of the field for the Kafka partition.")
    offset_field: str | None = _field_key(
        "offset.field", "Name of the field for the Kafka offset, which only records of sinks have."
    )
    timestamp_field: str | None = _field_key("timestamp.field", "Name of the field for the record's timestamp.")
    static_field: str | None = _field_key("static.field", "Name of the field for the text of `static.value`.")
    static_value: str | None = key(
        "static.value", default=None, importance=Importance.MEDIUM, doc="Text for the field of `static.field`."
    )
    replace_null_with_default: bool = null_to_default()


class Insertion(NamedTuple):
    """One field to insert."""

    name: str
    is_optional: bool
    attribute: Attribute

    @property
    def schema(self) -> Schema:
        """Return the schema of the field."""
        return self.attribute.optional_schema if self.is_optional else self.attribute.schema


class InsertField(KafkaPlugin, BatchTransformation):
    """Adds fields to one side of a record; a null side stays as it is."""

    settings = InsertFieldConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the names of the fields, at least one."""
        config = InsertFieldConfig(configs)
        self._insertions = _insertions(config)
        self._with_default = config.replace_null_with_default
        self._extended = lru_cache(maxsize=16)(self._make_extended)

    def apply(self, record: R) -> R:
        """Insert the fields into one record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None:
            return record
        if schema is None:
            inserted = {each.name: found for each, found in self._values(record)}
            present = require_map(value, PURPOSE)
            return self.side.replaced(record, None, hash_ordered({**present, **inserted}, copied=len(present)))
        struct = require_struct(value, PURPOSE, schema)
        updated = Struct(self._extended(struct.schema))
        for field in struct.schema.fields:
            updated.put(field.name, struct.get(field) if self._with_default else struct.get_without_default(field))
        for each, found in self._values(record):
            updated.put(each.name, found if found is None else each.attribute.logical(found))
        return self.side.replaced(record, updated.schema, updated)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Put the columns of the fields beside those that are there."""
        from hearth_transforms import struct_column as columns

        if any(each.attribute is TIMESTAMP for each in self._insertions):
            batch = batch.stamped()
        return columns.with_structs(self.side, batch, self._inserted)

    def _inserted(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, list[Any]] | None:
        from hearth_transforms import struct_column as columns

        present = columns.field_columns(schema, column, self._with_default)
        inserted = [columns.attribute_column(each.attribute, batch) for each in self._insertions]
        if present is None or any(each is None for each in inserted):
            return None
        return self._extended(schema), [*present, *inserted]

    def _values(self, record: Any) -> Iterator[tuple[Insertion, Any]]:
        for each in self._insertions:
            found = each.attribute.of_record(record)
            if found is not None or each.attribute.is_needed:
                yield each, found

    def _make_extended(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            builder.field(field.name, field.schema)
        for each in self._insertions:
            builder.field(each.name, each.schema)
        return builder.build()


class InsertFieldKey(InsertField):
    """Inserts into the key."""

    side = KEY


class InsertFieldValue(InsertField):
    """Inserts into the value."""

    side = VALUE


def _insertions(config: InsertFieldConfig) -> list[Insertion]:
    named = (
        (config.topic_field, TOPIC),
        (config.partition_field, PARTITION),
        (config.offset_field, OFFSET),
        (config.timestamp_field, TIMESTAMP),
        (config.static_field, fixed_text(config.static_value or "")),
    )
    insertions = [_insertion(text, attribute) for text, attribute in named if text is not None]
    if not insertions:
        raise ConfigError("No field insertion configured")
    if config.static_field is not None and config.static_value is None:
        raise ConfigError("static.value", None, f"No value specified for static field: {config.static_field}")
    return insertions


def _insertion(text: str, attribute: Attribute) -> Insertion:
    name = text[:-1] if text.endswith(("!", "?")) else text
    return Insertion(name, not text.endswith("!"), attribute)

"""InsertField: inserts the topic, partition, offset, timestamp or a fixed string into the key or value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hearth_api import ConfigError, ConnectRecord, Importance, Schema, SchemaBuilder, Settings, Struct, key
from hearth_api.batch import Batch, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.attribute import OFFSET, PARTITION, PURPOSE, TIMESTAMP, TOPIC, Attribute, fixed_text
from hearth_transforms.field_path import FieldPath
from hearth_transforms.nesting import Alteration, FieldTransformation, Place
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.side import KEY, VALUE

if TYPE_CHECKING:
    from hearth_api.layout import Moves
    from hearth_transforms.plain_making import AddedColumns

_SUFFIX = " A ! at its end makes the field required, a ? optional, the default."


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
        "static.value", default=None, importance=Importance.MEDIUM, doc="The text in the field `static.field`."
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class Insertion(NamedTuple):
    """A field to insert."""

    name: str
    is_optional: bool
    attribute: Attribute

    @property
    def schema(self) -> Schema:
        """Return the schema of the field."""
        return self.attribute.optional_schema if self.is_optional else self.attribute.schema


class _Inserting(Alteration):
    """Adds fields."""

    def __init__(self, insertions: list[Insertion], with_default: bool) -> None:
        self._insertions, self._with_default = insertions, with_default

    def schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            builder.field(field.name, field.schema)
        for each in self._insertions:
            builder.field(each.name, each.schema)
        return builder.build()

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        extended = Struct(updated)
        for field in struct.schema.fields:
            extended.put(field.name, struct.get(field) if self._with_default else struct.get_without_default(field))
        for each, found in self._values(record):
            extended.put(each.name, found if found is None else each.attribute.logical(found))
        return extended

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        extended = value.copy()
        for each, found in self._values(record):
            extended[each.name] = found
        return hash_ordered(extended, copied=len(value))

    def moves(self, record: Any) -> Moves | None:
        from hearth_api.layout import Moves

        if not all(each.attribute.is_shared for each in self._insertions):
            return None
        return Moves(added={each.name: found for each, found in self._values(record)}, is_copied=True)

    @property
    def touched(self) -> Collection[str]:
        return [each.name for each in self._insertions]

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        present = columns.field_columns(schema, column, self._with_default)
        inserted = [columns.attribute_column(each.attribute, batch) for each in self._insertions]
        if present is None or any(each is None for each in inserted):
            return None
        return [*present, *inserted]

    def _values(self, record: Any) -> Iterator[tuple[Insertion, Any]]:
        for each in self._insertions:
            found = each.attribute.of_record(record)
            if found is not None or each.attribute.is_needed:
                yield each, found


class InsertField(FieldTransformation):
    """Adds fields to the key or value; a null stays null."""

    settings = InsertFieldConfig
    purpose = PURPOSE
    keeps_null = True

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names of the fields, at least one."""
        config = InsertFieldConfig(configs)
        insertions = _insertions(config)
        self._is_timed = any(each.attribute is TIMESTAMP for _, each in insertions)
        self._needs_offset = any(each.attribute is OFFSET for _, each in insertions)
        places: dict[Place, list[Insertion]] = {}
        for place, each in insertions:
            places.setdefault(place, []).append(each)
        with_default = config.replace_null_with_default
        self._alter_with({place: _Inserting(found, with_default) for place, found in places.items()})

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Add the columns of the fields to the existing ones."""
        return super().apply_batch(batch.stamped() if self._is_timed else batch)

    def _added(self, batch: Batch) -> AddedColumns | None:
        from hearth_transforms.row_column import RowColumns

        is_lacking = batch.column("offset") is None and self._needs_offset
        return None if is_lacking else RowColumns(batch)


class InsertFieldKey(InsertField):
    """Inserts into the key."""

    side = KEY


class InsertFieldValue(InsertField):
    """Inserts into the value."""

    side = VALUE


def _insertions(config: InsertFieldConfig) -> list[tuple[Place, Insertion]]:
    named = (
        (config.topic_field, TOPIC),
        (config.partition_field, PARTITION),
        (config.offset_field, OFFSET),
        (config.timestamp_field, TIMESTAMP),
        (config.static_field, fixed_text(config.static_value or "")),
    )
    version = config.field_syntax_version
    insertions = [_insertion(text, version, attribute) for text, attribute in named if text is not None]
    if not insertions:
        raise ConfigError("No field insertion configured")
    if config.static_field is not None and config.static_value is None:
        raise ConfigError("static.value", None, f"No value specified for static field: {config.static_field}")
    return insertions


def _insertion(text: str, version: str, attribute: Attribute) -> tuple[Place, Insertion]:
    path = FieldPath(text[:-1] if text.endswith(("!", "?")) else text, version)
    return path.place, Insertion(path.name, not text.endswith("!"), attribute)

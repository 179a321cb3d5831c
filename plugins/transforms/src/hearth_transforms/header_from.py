"""HeaderFrom: fields of the key or value become headers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import (
    ConfigError,
    DataError,
    Field,
    Headers,
    Importance,
    Lambda,
    Schema,
    SchemaBuilder,
    Settings,
    Struct,
    ValidString,
    key,
)
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side


def _ensure_not_empty(name: str, value: list[str] | None) -> None:
    if not value:
        raise ConfigError(name, value, "Empty list")


_NON_EMPTY_LIST = Lambda(_ensure_not_empty, "non-empty list")


class HeaderFromConfig(Settings):
    """Settings of HeaderFrom."""

    fields: list[str] = key(
        "fields", check=_NON_EMPTY_LIST, importance=Importance.HIGH, doc="Names of the fields that become headers."
    )
    headers: list[str] = key(
        "headers",
        check=_NON_EMPTY_LIST,
        importance=Importance.HIGH,
        doc="Names of the headers, as many as there are fields and in the same order.",
    )
    operation: str = key(
        "operation",
        check=ValidString("move", "copy"),
        importance=Importance.HIGH,
        doc="Whether the fields are taken out (move) or stay where they are as well (copy).",
    )
    replace_null_with_default: bool = null_to_default()


class HeaderFrom(KafkaPlugin, BatchTransformation):
    """Appends headers that hold what fields of one side of a record hold."""

    settings = HeaderFromConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the names, a header for each field."""
        config = HeaderFromConfig(configs)
        if len(config.headers) != len(config.fields):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._names = list(zip(config.fields, config.headers))
        self._moved = set(config.fields) if config.operation == "move" else set()
        self._purpose = f"header {config.operation}"
        self._with_default = config.replace_null_with_default
        self._reduced = lru_cache(maxsize=16)(self._make_reduced)

    def apply(self, record: R) -> R:
        """Make headers of the fields of one record."""
        schema, value = self.side.schema(record), self.side.value(record)
        headers = record.headers.duplicate()
        if schema is None:
            rest = self._apply_to_map(require_map(value, self._purpose), headers)
            return self.side.replaced(record, None, rest).new_record(headers=headers)
        struct = self._apply_to_struct(require_struct(value, self._purpose, schema), schema, headers)
        new_schema = struct.schema if self._moved else schema
        return self.side.replaced(record, new_schema, struct).new_record(headers=headers)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Leave it to the records: in a column every header carries the text of its own schema."""
        return NotImplemented

    def _apply_to_map(self, present: dict[str, Any], headers: Headers) -> dict[str, Any]:
        for name, header in self._names:
            headers.add(header, None, present.get(name))
        rest = {name: value for name, value in present.items() if name not in self._moved}
        return hash_ordered(rest, copied=len(present))

    def _apply_to_struct(self, present: Struct, schema: Schema, headers: Headers) -> Struct:
        rest = present
        if self._moved:
            rest = Struct(self._reduced(schema))
            for field in rest.schema.fields:
                rest.put(field, self._value(present, field))
        for name, header in self._names:
            found = schema.field(name)
            if found is None:
                raise DataError(f"Unknown field: {name}")
            headers.add(header, found.schema, self._value(present, found))
        return rest

    def _value(self, struct: Struct, field: Field) -> Any:
        return struct.get(field.name) if self._with_default else struct.get_without_default(field.name)

    def _make_reduced(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            if field.name not in self._moved:
                builder.field(field.name, field.schema)
        return builder.build()


class HeaderFromKey(HeaderFrom):
    """Makes headers of fields of the key."""

    side = KEY


class HeaderFromValue(HeaderFrom):
    """Makes headers of fields of the value."""

    side = VALUE

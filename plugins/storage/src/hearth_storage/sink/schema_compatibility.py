"""Whether a record fits a file of another schema, and its projection; as Confluent's `StorageSchemaCompatibility`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import pyarrow as pa

from hearth_api import DataError, Schema, Type
from hearth_api.batch import arrow_type, fill_nulls, values_to_column

_WIDENING = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_DOCUMENTING = ("connect.record.doc", "connect.record.aliases", "connect.record.namespace")
_FIELD_DOC = "io.confluent.connect.avro.field.doc."
_ENUMS = (
    "org.apache.kafka.connect.data.Enum", "io.confluent.connect.avro.Enum", "io.confluent.connect.protobuf.Enum",
)  # fmt: skip


class SchemaCompatibility(str, Enum):
    """Which changes of a value's schema end the files of a Kafka partition."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"

    def fits(self, schema: Schema | None, current: Schema | None) -> bool:
        """Return whether a record of a schema can be written to a file of the current one.

        Raises a `DataError` for a switch between a schema and none, and for a schema without version unless NONE.
        """
        if schema is current:
            return True
        if schema is None or current is None:
            raise DataError("Switch between schema-based and schema-less data is not supported")
        if self is SchemaCompatibility.NONE:
            return schema == current
        if schema.version is None or current.version is None:
            raise DataError(f"Schema version required for {self.value} compatibility")
        if self is SchemaCompatibility.FORWARD:
            return _is_projectable(schema, current) and schema.version >= current.version
        return _is_projectable(schema, current) and schema.version <= current.version


def projected(schema: Schema, column: Any, target: Schema) -> Any:
    """Return a column of a schema as one of the target, which `fits` accepts.

    Numbers are widened; fields that the schema lacks are null or have the target's default.
    """
    if schema == target:
        return column
    if schema.optional and not target.optional and target.default is not None:
        column = fill_nulls(schema, column, target.default)
    if target.type is Type.STRUCT:
        fields = [_field(schema, column, each.name, each.schema) for each in target.fields]
        names = [each.name for each in target.fields]
        mask = column.is_null() if column.null_count else None
        kinds = [pa.field(name, each.type) for name, each in zip(names, fields)]
        return pa.StructArray.from_arrays(fields, fields=kinds, mask=mask)
    if target.type is Type.ARRAY:
        column = pa.concat_arrays([column])
        values = _inner(schema.value_schema, column.values, target.value_schema)
        mask = column.is_null() if column.null_count else None
        return pa.ListArray.from_arrays(column.offsets, values, mask=mask)
    if target.type is Type.MAP:
        return _map(schema, pa.concat_arrays([column]), target)
    return column if schema.type is target.type else column.cast(arrow_type(target))


def _inner(schema: Schema | None, column: Any, target: Schema | None) -> Any:
    return column if schema is None or target is None else projected(schema, column, target)


def _field(schema: Schema, column: Any, name: str, target: Schema) -> Any:
    source = schema.field(name)
    if source is not None:
        return projected(source.schema, column.field(name), target)
    default = values_to_column(target, [target.default])
    return pa.repeat(default[0], len(column)) if target.default is not None else pa.nulls(len(column), default.type)


def _map(schema: Schema, column: Any, target: Schema) -> Any:
    keys = _inner(schema.key_schema, column.keys, target.key_schema)
    items = _inner(schema.value_schema, column.items, target.value_schema)
    starts = column.offsets.to_pylist()
    present = column.is_valid().to_pylist()
    offsets = [start if is_valid else None for start, is_valid in zip(starts, present)]
    return pa.MapArray.from_arrays(pa.array([*offsets, starts[-1]], pa.int32()), keys, items)


def _is_projectable(schema: Schema, current: Schema) -> bool:
    if schema.type is not current.type and not _is_widening(schema.type, current.type):
        return False
    if schema.name != current.name or not _have_equal_parameters(schema, current):
        return False
    if schema.optional and not current.optional and current.default is None:
        return False
    if schema.type is Type.STRUCT:
        return _are_fields_projectable(schema, current)
    inner = [(schema.value_schema, current.value_schema)] if schema.type in (Type.ARRAY, Type.MAP) else []
    if schema.type is Type.MAP:
        inner.append((schema.key_schema, current.key_schema))
    return all(a is not None and b is not None and _is_projectable(a, b) for a, b in inner)


def _are_fields_projectable(schema: Schema, current: Schema) -> bool:
    for field in current.fields:
        source = schema.field(field.name)
        if source is None and not field.schema.optional and field.schema.default is None:
            return False
        if source is not None and not _is_projectable(source.schema, field.schema):
            return False
    return True


def _is_widening(source: Type, target: Type) -> bool:
    return source in _WIDENING and target in _WIDENING and _WIDENING.index(source) < _WIDENING.index(target)


def _have_equal_parameters(schema: Schema, current: Schema) -> bool:
    own, others = _parameters(schema.parameters), _parameters(current.parameters)
    if any(name in (schema.parameters or {}) for name in _ENUMS) and any(
        name in (current.parameters or {}) for name in _ENUMS
    ):
        return own.items() <= others.items()
    return own == others


def _parameters(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """Return the parameters that do not only document."""
    return {
        name: value
        for name, value in (parameters or {}).items()
        if name not in _DOCUMENTING and not name.startswith(_FIELD_DOC)
    }

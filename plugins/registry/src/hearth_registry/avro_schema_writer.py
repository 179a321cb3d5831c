"""Converts Connect schemas to Avro schemas like Confluent's AvroData."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hearth_api import DataError, Date, Decimal, Field, Schema, Struct, Time, Timestamp, Type
from hearth_api.java import java_class, to_physical
from hearth_registry import avro_name as an
from hearth_registry.avro_anything import anything
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import (
    NO_DEFAULT,
    AvroField,
    AvroSchemaError,
    AvroType,
    Float32,
    array_of,
    checked,
    map_of,
    symbols_of,
    union_of,
)

KIND_OF = {
    Type.INT8: "int", Type.INT16: "int", Type.INT32: "int", Type.INT64: "long", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "boolean", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_LOGICAL = {
    Decimal.LOGICAL_NAME: "decimal", Date.LOGICAL_NAME: "date", Time.LOGICAL_NAME: "time-millis",
    Timestamp.LOGICAL_NAME: "timestamp-millis",
}  # fmt: skip


class AvroSchemaWriter:
    """Converts Connect schemas to Avro schemas."""

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings

    def avro_type(self, schema: Schema | None) -> AvroType:
        """Return the Avro schema; raise AvroSchemaError for a name that Avro does not allow."""
        return _Making(self._settings).type(schema)


class _Making:
    """Builds one schema; a repeated type is only referenced by name."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._is_old = settings.discard_type_doc_default
        self._known: dict[Schema, AvroType] = {}
        self._records: dict[str, AvroType] = {}
        self._structs: dict[tuple[Field, ...], AvroType] = {}
        self._seen: set[str] = set()
        self._unnamed = 0
        self._anything = anything()

    def type(self, schema: Schema | None, ignore_optional: bool = False) -> AvroType:
        """Return the type of a schema: a union if it is optional, unless that is ignored."""
        if schema is None:
            return self._anything
        if schema.is_reference and (record := self._structs.get(schema.fields)) is not None:
            return record if ignore_optional else _maybe_optional(schema, record)
        is_union = an.is_union(schema)
        if not is_union and not schema.optional and schema in self._known:
            return self._known[schema]
        if is_union:
            made = self._union(schema)
        elif schema.type is Type.STRUCT and schema.optional and not an.is_variant(schema):
            made = union_of(AvroType("null"), self._inner(required(schema)))
        else:
            made = self._base(schema)
            self._annotate(made, schema)
            if not ignore_optional:
                made = _maybe_optional(schema, made)
        if not schema.optional:
            self._known[schema] = made
        return made

    def _inner(self, schema: Schema | None, ignore_optional: bool = False) -> AvroType:
        """Return the type of a part that is not a field; a struct in progress or complete is referenced by name."""
        record = None if schema is None or schema.name is None else self._records.get(schema.name)
        if schema is None or record is None:
            return self.type(schema, ignore_optional)
        return record if ignore_optional else _maybe_optional(schema, record)

    def _base(self, schema: Schema) -> AvroType:
        if an.is_variant(schema):
            return _variant()
        if schema.type is Type.STRUCT:
            return self._record(schema)
        if schema.type is Type.ARRAY:
            return array_of(self._inner(schema.value_schema))
        if schema.type is Type.MAP:
            return self._map(schema)
        if schema.type is Type.STRING and self._is_enum(schema):
            return self._enum(schema)
        if an.is_fixed(schema):
            return AvroType("fixed", self._name(schema.name), size=an.number(schema, an.FIXED_SIZE, 0) or 0)
        return AvroType(KIND_OF[schema.type])

    def _union(self, schema: Schema) -> AvroType:
        branches = [AvroType("null")] if schema.optional else []
        branches += [self._inner(required(field.schema), ignore_optional=True) for field in schema.fields]
        return union_of(*branches)

    def _record(self, schema: Schema) -> AvroType:
        made = AvroType("record", self._name(schema.name))
        made.doc = an.parameter(schema, an.OLD_RECORD_DOC if self._is_old else an.RECORD_DOC)
        if schema.name is not None:
            self._records[schema.name] = made
        self._structs[schema.fields] = made
        for field in schema.fields:
            name = self._field_name(field)
            doc = None if self._is_old else an.parameter(schema, an.FIELD_DOC + field.name)
            made.add(self._field(name, field.schema, doc))
        return made

    def _field(self, name: str, schema: Schema | None, doc: str | None) -> AvroField:
        if schema is None:
            return AvroField(checked(name), self._anything, doc)
        default: Any = None if schema.optional else NO_DEFAULT
        if schema.default is not None:
            default = self._own_default(schema)
        is_seen = schema.name is not None and self._scrubbed(schema.name) in self._seen
        if schema.name is not None:
            self._seen.add(self._scrubbed(schema.name))
        type_ = self.type(schema)
        made = AvroField(checked(name), type_, schema.doc if self._is_old else doc, default)
        if self._settings.connect_meta_data and is_seen and _has_name(type_):
            self._put_parameters(made.props, schema)
        return made

    def _map(self, schema: Schema) -> AvroType:
        if is_plain_map(schema, self._settings):
            return map_of(self._inner(schema.value_schema))
        if schema.name is None:
            entry = AvroType("record", f"{an.NAMESPACE}.{an.MAP_ENTRY}")
        else:
            entry = AvroType("record", self._name(schema.name), props={an.INTERNAL_TYPE_PROP: an.MAP_ENTRY})
        parts = zip(("key", "value"), (schema.key_schema, schema.value_schema))
        entry.add(*[self._field(name, inner, None) for name, inner in parts])
        return array_of(entry)

    def _is_enum(self, schema: Schema) -> bool:
        return (
            self._settings.generalized_sum_type_support or self._settings.enhanced_avro_schema_support
        ) and an.is_enum(schema)

    def _enum(self, schema: Schema) -> AvroType:
        parameters = schema.parameters or {}
        prefix = an.GENERAL_ENUM if self._settings.generalized_sum_type_support else an.ENUM
        symbols = [name[len(prefix) + 1 :] for name in parameters if name.startswith(f"{prefix}.")]
        short = self._name(schema.name).rpartition(".")[2]
        doc = an.OLD_ENUM_DOC if self._is_old else an.ENUM_DOC + short
        default = None if self._is_old else parameters.get(an.ENUM_DEFAULT + short)
        made = AvroType("enum", _checked_full(parameters.get(prefix)), parameters.get(doc))
        made.symbols, made.default = symbols_of(symbols, default), default
        return made

    def _name(self, name: str | None) -> str:
        """Return the full name of a type; unnamed types are numbered."""
        if name is None:
            self._unnamed += 1
            return an.DEFAULT_NAME + (str(self._unnamed) if self._unnamed > 1 else "")
        return _checked_full(self._scrubbed(name))

    def _field_name(self, field: Field) -> str:
        return an.scrubbed(field.name) if self._settings.scrub_invalid_names else field.name

    def _scrubbed(self, name: str) -> str:
        return an.scrubbed_full(name) if self._settings.scrub_invalid_names else name

    def _annotate(self, made: AvroType, schema: Schema) -> None:
        """Add the properties that preserve the Connect schema, and the logical type."""
        if schema.name == Decimal.LOGICAL_NAME:
            precision = an.number(schema, an.PRECISION, 1)
            made.props["scale"] = Decimal.scale(schema)
            made.props["precision"] = an.DEFAULT_PRECISION if precision is None else precision
        if self._settings.connect_meta_data:
            self._annotate_connect(made.props, schema)
        if schema.name in _LOGICAL:
            if schema.name == Decimal.LOGICAL_NAME:
                _check_precision(made)
            made.props["logicalType"] = _LOGICAL[schema.name]
        for name, value in (schema.parameters or {}).items():
            if name.startswith("avro"):
                made.props[name] = value

    def _annotate_connect(self, props: dict[str, Any], schema: Schema) -> None:
        if schema.doc is not None:
            props[an.DOC_PROP] = schema.doc
        if schema.version is not None:
            props[an.VERSION_PROP] = schema.version
        self._put_parameters(props, schema)
        has_own = self._is_old or an.parameter(schema, an.FIELD_DEFAULT) is None
        if schema.default is not None and has_own:
            props[an.DEFAULT_PROP] = self._own_default(schema)
        if schema.name is not None:
            props[an.NAME_PROP] = schema.name
        if schema.type is Type.INT8 or schema.type is Type.INT16:
            props[an.TYPE_PROP] = schema.type.value

    def _put_parameters(self, props: dict[str, Any], schema: Schema) -> None:
        hidden = () if self._is_old else (an.FIELD_DEFAULT,)
        shown = {name: value for name, value in (schema.parameters or {}).items() if name not in hidden}
        if shown:
            props[an.PARAMETERS_PROP] = shown

    def _own_default(self, schema: Schema) -> Any:
        """Return the default of a schema as JSON; raise DataError if it is not valid for the schema."""
        try:
            return self._default(schema, schema.default)
        except (AttributeError, TypeError, ValueError) as error:
            found = f"class {java_class(schema.default)}"
            raise DataError(f"Invalid type used for default value of {schema.type} field: {found}") from error

    def _default(self, schema: Schema | None, value: Any) -> Any:
        """Return a default as JSON."""
        if value is None or schema is None:
            return None
        if schema.type is Type.STRUCT:
            return self._struct_default(schema, value)
        if schema.type is Type.ARRAY:
            return [self._default(schema.value_schema, item) for item in value]
        if schema.type is Type.MAP:
            return self._map_default(schema, value)
        physical = to_physical(schema, value)
        if schema.type is Type.BYTES:
            return bytes(physical).decode("latin-1")
        return Float32(physical) if schema.type is Type.FLOAT32 else physical

    def _struct_default(self, schema: Schema, value: Struct) -> Any:
        pairs = [(field, self._default(field.schema, value.get(field))) for field in schema.fields]
        if an.is_union(schema) and pairs:
            return pairs[0][1]  # as in Java, whichever of the fields is set
        return {
            an.scrubbed(field.name) if self._settings.scrub_invalid_names else field.name: item
            for field, item in pairs
        }

    def _map_default(self, schema: Schema, value: Mapping[Any, Any]) -> Any:
        keys, items = schema.key_schema, schema.value_schema
        if is_plain_map(schema, self._settings):
            return {key: self._default(items, item) for key, item in value.items()}
        return [[self._default(keys, key), self._default(items, item)] for key, item in value.items()]


def required(schema: Schema) -> Schema:
    """Return a schema made required."""
    if not schema.optional:
        return schema
    return schema.replaced(optional=False)


def is_plain_map(schema: Schema, settings: AvroSettings) -> bool:
    """Return whether a map is an Avro map, which requires string keys."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and (not keys.optional or settings.allow_optional_map_keys)


def _variant() -> AvroType:
    made = AvroType("record", an.VARIANT_RECORD, props={"logicalType": an.VARIANT_WORD})
    made.add(AvroField("metadata", AvroType("bytes")), AvroField("value", AvroType("bytes")))
    return made


def _maybe_optional(schema: Schema, made: AvroType) -> AvroType:
    if not schema.optional:
        return made
    null = AvroType("null")
    return union_of(null, made) if schema.default is None else union_of(made, null)


def _has_name(type_: AvroType) -> bool:
    return any(each.name for each in (type_, *type_.branches))


def _checked_full(name: str | None) -> str:
    if name is None:
        raise AvroSchemaError("Null name")
    checked(name.rpartition(".")[2])
    return name


def _check_precision(made: AvroType) -> None:
    """Refuse a fixed type that cannot hold the precision, unless Avro does not support the scale."""
    scale, precision = made.props["scale"], made.props["precision"]
    most = math.floor(math.log10(2) * (8 * made.size - 1)) if made.size else 0
    if made.kind == "fixed" and 0 <= scale <= precision and precision > most:
        raise DataError(f"fixed({made.size}) cannot store {precision} digits (max {most})")

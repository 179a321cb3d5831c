"""Converts Avro schemas to Connect schemas like Confluent's AvroData."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from hearth_api import (
    BYTES_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    SchemaReference,
    Struct,
    Time,
    Timestamp,
    Type,
)
from hearth_api.java import from_physical, wrap
from hearth_registry import avro_name as an
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import NO_DEFAULT, AvroField, AvroType, json_text

_TYPE_OF = {
    "boolean": Type.BOOLEAN, "bytes": Type.BYTES, "fixed": Type.BYTES, "double": Type.FLOAT64, "float": Type.FLOAT32,
    "int": Type.INT32, "long": Type.INT64, "string": Type.STRING, "enum": Type.STRING, "record": Type.STRUCT,
}  # fmt: skip
_SMALL = {"int8": Type.INT8, "int16": Type.INT16}
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_NUMBER = (int, float)
_JSON_OF: dict[str, Any] = {
    "int": _NUMBER, "long": _NUMBER, "float": _NUMBER, "double": _NUMBER, "string": str, "enum": str, "bytes": str,
    "fixed": str, "array": list, "map": dict, "record": dict,
}  # fmt: skip
_ENTRY_FIELDS = {"key", "value"}


class AvroSchemaReader:
    """Converts Avro schemas to Connect schemas."""

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._unions = 0

    def schema(self, type_: AvroType, version: int | None = None) -> Schema:
        """Return the Connect schema; `version` applies to a root without a version that is not a union."""
        return _Reading(self._settings, self).schema(type_, version=version)

    def next_union(self) -> int:
        """Return the next union number, which continues across schemas as in Java."""
        self._unions += 1
        return self._unions - 1


class _Reading:
    """Reads a schema; a recursive record, and each later use of it, becomes a reference, as in Java."""

    def __init__(self, settings: AvroSettings, reader: AvroSchemaReader) -> None:
        self._settings, self._reader = settings, reader
        self._records: dict[AvroType, SchemaBuilder] = {}
        self._cyclic: set[AvroType] = set()

    def schema(
        self, type_: AvroType, optional: bool = False, field: AvroField | None = None, version: int | None = None,
        field_doc: str | None = None,
    ) -> Schema:  # fmt: skip
        """Return the schema of a type, optionally with a field's default."""
        if type_.kind == "union" and (single := self._single(type_)) is not None:
            is_optional = len(type_.branches) == 2
            return self.schema(single, is_optional, field_doc=field.doc if field else field_doc)
        if (record := self._records.get(type_)) is not None:
            self._cyclic.add(type_)
            return record.itself(optional)
        builder = self._builder(type_)
        doc = field.doc if field is not None else field_doc
        self._annotate(builder, type_, version, doc)
        self._set_name(builder, type_)
        self._set_default(builder, type_, field)
        if optional:
            builder.optional()
        if type_ not in self._cyclic:
            self._records.pop(type_, None)
        return builder.build()

    def _single(self, type_: AvroType) -> AvroType | None:
        """Return the only non-null type of a union, if the union is read as that type."""
        branches = [each for each in type_.branches if each.kind != "null"]
        if len(type_.branches) == 1:
            return type_.branches[0] if self._settings.flatten_singleton_unions else None
        return branches[0] if len(type_.branches) == 2 and len(branches) == 1 else None

    def _builder(self, type_: AvroType) -> SchemaBuilder:
        if type_.kind == "null":
            raise DataError("Standalone null schemas are not supported by this converter")
        if type_.kind == "union":
            return self._union(type_)
        if type_.kind == "array":
            return self._array(type_)
        if type_.kind == "map":
            return SchemaBuilder.map(STRING_SCHEMA, self.schema(type_.items))
        if is_variant(type_):
            return SchemaBuilder.struct().name(an.VARIANT).field("metadata", BYTES_SCHEMA).field("value", BYTES_SCHEMA)
        if type_.kind == "record":
            return self._record(type_)
        if type_.kind == "enum":
            return self._enum(type_)
        if type_.kind == "bytes" or type_.kind == "fixed":
            return self._bytes(type_)
        return self._plain(type_)

    def _plain(self, type_: AvroType) -> SchemaBuilder:
        word, own = type_.logical, type_.props.get(an.TYPE_PROP)
        word = None if word is None else word.lower()
        if type_.kind == "long":
            return Timestamp.builder() if word == "timestamp-millis" else SchemaBuilder.int64()
        if type_.kind != "int":
            return SchemaBuilder.type(_TYPE_OF[type_.kind])
        if word is not None:
            builders = {"date": Date.builder, "time-millis": Time.builder}
            return builders.get(word, SchemaBuilder.int32)()
        if not isinstance(own, str):
            return SchemaBuilder.int32()
        if own not in _SMALL:
            raise DataError("Connect type annotation for Avro int field is null")
        return SchemaBuilder.type(_SMALL[own])

    def _bytes(self, type_: AvroType) -> SchemaBuilder:
        if (type_.logical or "").lower() == "decimal":
            scale, precision = type_.props.get("scale"), type_.props.get("precision")
            builder = Decimal.builder(int(scale) if _is_number(scale) else 0)
            if precision is not None and not _is_number(precision):
                raise DataError(
                    "precision property must be a JSON Integer. https://avro.apache.org/docs/1.9.1/spec.html#Decimal"
                )
            if precision is not None and int(precision) != an.DEFAULT_PRECISION:
                builder.parameter(an.PRECISION, str(int(precision)))
        else:
            builder = SchemaBuilder.bytes()
        if type_.kind == "fixed":
            builder.parameter(an.FIXED_SIZE, str(type_.size))
        return builder

    def _array(self, type_: AvroType) -> SchemaBuilder:
        items = type_.items
        if not is_map_entry(items):
            return SchemaBuilder.array(self.schema(items))
        if {each.name for each in items.fields} != _ENTRY_FIELDS:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        key, value = (items.find(name) for name in ("key", "value"))
        assert key is not None
        assert value is not None
        return SchemaBuilder.map(self.schema(key.type), self.schema(value.type))

    def _record(self, type_: AvroType) -> SchemaBuilder:
        builder = self._records[type_] = SchemaBuilder.struct()
        tells_docs = self._settings.connect_meta_data and not self._settings.discard_type_doc_default
        if tells_docs and type_.doc is not None:
            builder.parameter(an.RECORD_DOC, type_.doc)
        for field in type_.fields:
            if tells_docs and field.doc is not None:
                builder.parameter(an.FIELD_DOC + field.name, field.doc)
            schema = self.schema(field.type, field=field)
            parameters = field.props.get(an.PARAMETERS_PROP)
            if self._settings.connect_meta_data and isinstance(parameters, dict):
                schema = _with_parameters(schema, parameters)
            builder.field(field.name, schema)
        return builder

    def _enum(self, type_: AvroType) -> SchemaBuilder:
        builder, settings = SchemaBuilder.string(), self._settings
        old, is_general = settings.discard_type_doc_default, settings.generalized_sum_type_support
        if settings.connect_meta_data:
            if type_.doc is not None:
                builder.parameter(an.OLD_ENUM_DOC if old else an.ENUM_DOC + type_.short_name, type_.doc)
            if not old and type_.default is not None:
                builder.parameter(an.ENUM_DEFAULT + type_.short_name, type_.default)
        prefix = an.GENERAL_ENUM if is_general else an.ENUM
        builder.parameter(prefix, type_.name)
        for number, symbol in enumerate(type_.symbols):
            builder.parameter(f"{prefix}.{symbol}", str(number) if is_general else symbol)
        return builder

    def _union(self, type_: AvroType) -> SchemaBuilder:
        is_general = self._settings.generalized_sum_type_support
        name = f"connect_union_{self._reader.next_union()}" if is_general else an.UNION
        builder = SchemaBuilder.struct().name(name)
        if is_general:
            builder.parameter(an.GENERAL_UNION, name)
        seen: set[str] = set()
        for number, branch in enumerate(type_.branches):
            if branch.kind == "null":
                builder.optional()
                continue
            field = branch_name(branch, number, self._settings)
            if field in seen:
                raise DataError("Multiple union schemas map to the Connect union field name")
            seen.add(field)
            builder.field(field, self.schema(branch, optional=True))
        return builder

    def _annotate(self, builder: SchemaBuilder, type_: AvroType, version: int | None, field_doc: str | None) -> None:
        meta, doc = self._settings.connect_meta_data, type_.props.get(an.DOC_PROP)
        doc = doc if isinstance(doc, str) else None
        if self._settings.discard_type_doc_default:
            own = type_.doc if type_.kind in ("record", "enum", "fixed") else None
            builder.doc(next((each for each in (field_doc, own, doc) if each is not None), None))
            if meta and own is not None:
                builder.parameter(an.OLD_RECORD_DOC, own)
        elif meta and doc is not None:
            builder.doc(doc)
        _set_version(builder, type_.props.get(an.VERSION_PROP), version)
        parameters = type_.props.get(an.PARAMETERS_PROP)
        if meta and parameters is not None:
            _put_parameters(builder, parameters)
        for name, value in type_.props.items():
            if name.startswith("avro"):
                builder.parameter(name, value if isinstance(value, str) else str(value))

    def _set_default(self, builder: SchemaBuilder, type_: AvroType, field: AvroField | None) -> None:
        default = NO_DEFAULT if field is None or not _fits(field.type, field.default) else field.default
        own = type_.props.get(an.DEFAULT_PROP, NO_DEFAULT)
        if default is NO_DEFAULT:
            default = own
        elif own is NO_DEFAULT and self._settings.connect_meta_data and not self._settings.discard_type_doc_default:
            builder.parameter(an.FIELD_DEFAULT, "true")
        if default is NO_DEFAULT or default is None:
            return
        try:
            builder.default(default_of(builder.build(), type_, default, self._settings))
        except (DataError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
            return  # as in Java, an invalid default is ignored

    def _set_name(self, builder: SchemaBuilder, type_: AvroType) -> None:
        name, present = type_.props.get(an.NAME_PROP), builder.build().name
        if name is not None and not isinstance(name, str):
            raise DataError(f"Invalid schema name: {name}")
        if name is None and type_.kind in ("record", "enum", "fixed"):
            is_logical = present == an.VARIANT or (type_.kind == "fixed" and present == Decimal.LOGICAL_NAME)
            name = None if is_logical else type_.name
        if name is None or name.startswith(an.DEFAULT_NAME):
            return
        if present is not None and present != name:
            raise DataError(
                f"Mismatched names: name already added to SchemaBuilder ({present}) differs from name in source schema"
                f" ({name})"
            )
        builder.name(name)


def is_map_entry(items: AvroType) -> bool:
    """Return whether an array of these items represents a map with non-string keys."""
    is_marked = items.props.get(an.INTERNAL_TYPE_PROP) == an.MAP_ENTRY
    return items.kind == "record" and (items.name == f"{an.NAMESPACE}.{an.MAP_ENTRY}" or is_marked)


def is_variant(type_: AvroType) -> bool:
    """Return whether a record is a variant."""
    parts = {each.name: each.type.kind for each in type_.fields}
    is_fit = type_.kind == "record" and parts == {"metadata": "bytes", "value": "bytes"}
    return is_fit and type_.logical == an.VARIANT_WORD


def branch_name(branch: AvroType, number: int, settings: AvroSettings) -> str:
    """Return the Connect field name of a union branch."""
    if settings.generalized_sum_type_support:
        return f"connect_union_field_{number}"
    if branch.kind in ("record", "enum", "fixed"):
        return branch.name if settings.enhanced_avro_schema_support else branch.short_name
    return branch.kind


def default_of(schema: Schema, type_: AvroType, default: Any, settings: AvroSettings) -> Any:
    """Convert a JSON default to a Connect value; raises for a value that does not fit."""
    if default is None:
        return None
    if an.is_union(schema) and type_.kind == "union":
        branch, field = type_.branches[0], schema.fields[0]
        return Struct(schema).put(field, default_of(field.schema, branch, default, settings))
    if type_.kind == "union":
        return default_of(schema, next(each for each in type_.branches if each.kind != "null"), default, settings)
    if schema.type is Type.STRUCT:
        struct = Struct(schema)
        for field in schema.fields:
            name = an.scrubbed(field.name) if settings.scrub_invalid_names else field.name
            inner = type_.find(name)
            assert inner is not None
            struct.put(field, default_of(field.schema, inner.type, default.get(name, field.schema.default), settings))
        return struct
    if schema.type is Type.ARRAY and isinstance(default, list):
        assert schema.value_schema is not None
        return [default_of(schema.value_schema, type_.items, item, settings) for item in default]
    if schema.type is Type.MAP:
        assert schema.value_schema is not None
        return {name: default_of(schema.value_schema, type_.items, item, settings) for name, item in default.items()}
    return from_physical(schema, _physical(schema, default))


def _fits(type_: AvroType, default: Any) -> bool:
    """Return whether a field's default matches its type, or the first type of its union; otherwise it is ignored."""
    if default is None or isinstance(default, bool) or default is NO_DEFAULT:
        return True
    kind = type_.branches[0].kind if type_.branches else type_.kind
    return isinstance(default, _JSON_OF.get(kind, ()))


def _physical(schema: Schema, default: Any) -> Any:
    """Convert a default to a schema's type; as in Java, a value that is not a number becomes 0."""
    if schema.type in _BITS:
        return wrap(int(_number(default)), _BITS[schema.type])
    if schema.type is Type.FLOAT32 or schema.type is Type.FLOAT64:
        return float(_number(default))
    if schema.type is Type.BYTES:
        return default.encode("latin-1")
    if schema.type is Type.BOOLEAN and not isinstance(default, bool):
        return default == "true" if isinstance(default, str) else bool(_number(default))
    return json_text(default) if schema.type is Type.STRING and not isinstance(default, str) else default


def _number(default: Any) -> int | float:
    return default if _is_number(default) else 0


def _is_number(value: Any) -> TypeGuard[int | float]:
    """Return whether a JSON value is a number; Python's parser also accepts Infinity and NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _with_parameters(schema: Schema, parameters: Mapping[str, Any]) -> Schema:
    """Return a schema with the parameters of a field added."""
    texts = {key: str(value) for key, value in parameters.items()}
    if isinstance(schema, SchemaReference):
        return schema.with_parameters(texts)
    return schema.replaced(parameters={**(schema.parameters or {}), **texts})


def _set_version(builder: SchemaBuilder, own: Any, version: int | None) -> None:
    if own is not None and not _is_number(own):
        raise DataError(f"Invalid Connect version found: {own}")
    number = version if own is None else int(own)
    if number is None or number < 0:
        return
    present = builder.build().version
    if present is not None and present != number:
        raise DataError(
            f"Mismatched versions: version already added to SchemaBuilder ({present}) differs from version in source"
            f" schema ({number})"
        )
    builder.version(number)


def _put_parameters(builder: SchemaBuilder, parameters: Any) -> None:
    if not isinstance(parameters, dict):
        raise DataError(f"Expected JSON object for schema parameters but found: {parameters}")
    for name, value in parameters.items():
        if not isinstance(value, str):
            raise DataError(f"Expected schema parameter values to be strings but found: {value}")
        builder.parameter(name, value)

"""Schemas as JSON, in the form of Kafka Connect's JSON converter.

A reference to an enclosing struct is written as `"reference": NUMBER`, and that struct has `"number"`; a struct that
does not enclose it is written by the first reference, as `"of"`. Kafka Connect's JSON has no form for recursion.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api.errors import DataError
from hearth_api.java.physical import from_physical, to_physical
from hearth_api.schema import Field, Schema, Type
from hearth_api.schema_reference import Numbers, RecursiveStruct, SchemaReference

_JSON_NAME = {type_: type_.value for type_ in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPE_OF_NAME = {name: type_ for type_, name in _JSON_NAME.items()}
_CACHED = 1000


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as a JSON object, its members in Kafka Connect's order."""
    return _to_json(schema, Numbers(schema))


def _to_json(schema: Schema, known: Numbers) -> dict[str, Any]:
    form: dict[str, Any] = {"type": _JSON_NAME[schema.type]}
    if isinstance(schema, SchemaReference):
        return {**form, **_reference_to_json(schema, known)}
    if schema.type is Type.STRUCT and (number := known.of_struct(schema)) is not None:
        form["number"] = number
    form.update(_parts_to_json(schema, known))
    form["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            form[name] = getattr(schema, name)
    if schema.parameters is not None:
        form["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        # The struct of a default has the schema without that default.
        form["default"] = _default_to_json(schema, to_physical(schema.replaced(default=None), schema.default))
    return form


def _reference_to_json(schema: SchemaReference, known: Numbers) -> dict[str, Any]:
    form: dict[str, Any] = {"optional": schema.optional}
    if schema.own_parameters:
        form["parameters"] = schema.own_parameters
    form["reference"], is_first = known.of_reference(schema)
    return {**form, "of": _to_json(schema.target, known)} if is_first else form


def schema_from_json(form: Mapping[str, Any]) -> Schema:
    """Return the schema of a JSON object; an invalid one raises a DataError."""
    return _from_json(form, {})


def _from_json(form: Mapping[str, Any], known: dict[int, RecursiveStruct]) -> Schema:
    if not isinstance(form, Mapping) or not isinstance(form.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    type_ = _TYPE_OF_NAME.get(form["type"])
    if type_ is None:
        raise DataError(f"Unknown schema type: {form['type']}")
    if "reference" in form and type_ is Type.STRUCT:
        return _reference_from_json(form, known)
    recursive_struct = known.setdefault(form["number"], RecursiveStruct()) if "number" in form else RecursiveStruct()
    schema = Schema(
        type_,
        bool(form.get("optional", False)),
        None,
        form.get("name"),
        form.get("version"),
        form.get("doc"),
        form.get("parameters"),
        _fields(form, known) if type_ is Type.STRUCT else (),
        _inner(form, "keys", known) if type_ is Type.MAP else None,
        _inner(form, "values" if type_ is Type.MAP else "items", known) if not type_.is_primitive else None,
    )
    recursive_struct.schema = schema
    if form.get("default") is not None:
        recursive_struct.schema = schema.replaced(
            default=from_physical(schema, _default_from_json(schema, form["default"]))
        )
    return recursive_struct.schema


def _reference_from_json(form: Mapping[str, Any], known: dict[int, RecursiveStruct]) -> Schema:
    number = form["reference"]
    if number not in known and not isinstance(form.get("of"), Mapping):
        raise DataError(f"Schema refers to {number!r}, which is not in it")
    if number not in known:
        # Registered before its fields are read, since they refer to it.
        recursive_struct = known[number] = RecursiveStruct()
        recursive_struct.schema = _from_json(form["of"], known)
    return SchemaReference(known[number], bool(form.get("optional", False)), form.get("parameters"))


@lru_cache(maxsize=_CACHED)
def schema_to_text(schema: Schema) -> str:
    """Return a schema as JSON text, from a cache."""
    return json.dumps(schema_to_json(schema), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=_CACHED)
def schema_from_text(text: str) -> Schema:
    """Return the schema of a JSON text; the same text gives the same object while it is cached."""
    return schema_from_json(json.loads(text))


def _parts_to_json(schema: Schema, known: Numbers) -> dict[str, Any]:
    if schema.type is Type.STRUCT:
        return {"fields": [{**_to_json(field.schema, known), "field": field.name} for field in schema.fields]}
    parts: dict[str, Schema | None] = {}
    if schema.type is Type.ARRAY:
        parts = {"items": schema.value_schema}
    elif schema.type is Type.MAP:
        parts = {"keys": schema.key_schema, "values": schema.value_schema}
    # Arrays and maps of mixed types have no inner schema, so the member is omitted.
    return {name: _to_json(inner, known) for name, inner in parts.items() if inner is not None}


def _fields(form: Mapping[str, Any], known: dict[int, RecursiveStruct]) -> list[Field]:
    forms = form.get("fields")
    if not isinstance(forms, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    if not all(isinstance(part, Mapping) and isinstance(part.get("field"), str) for part in forms):
        raise DataError("Struct schema's field name not specified properly")
    return [Field(part["field"], index, _from_json(part, known)) for index, part in enumerate(forms)]


def _inner(form: Mapping[str, Any], name: str, known: dict[int, RecursiveStruct]) -> Schema | None:
    return None if form.get(name) is None else _from_json(form[name], known)


def _default_to_json(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.type is Type.BYTES:
        return base64.b64encode(value).decode()
    if schema.type in (Type.FLOAT32, Type.FLOAT64) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if schema.type is Type.STRUCT:
        return {field.name: _default_to_json(field.schema, value[field.name]) for field in schema.fields}
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        return [_default_to_json(schema.value_schema, item) for item in value]
    if schema.type is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
        return _default_map_to_json(schema.key_schema, schema.value_schema, value)
    return value


def _default_map_to_json(keys: Schema, items: Schema, value: Mapping[Any, Any]) -> Any:
    pairs = [[_default_to_json(keys, key), _default_to_json(items, item)] for key, item in value.items()]
    return dict(pairs) if keys.type is Type.STRING else pairs


def _default_from_json(schema: Schema, form: Any) -> Any:
    if form is None:
        return None
    if schema.type is Type.BYTES:
        return _bytes(form)
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return float(form)
    if schema.type is Type.STRUCT:
        return {field.name: _default_from_json(field.schema, form.get(field.name)) for field in schema.fields}
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        return [_default_from_json(schema.value_schema, item) for item in form]
    if schema.type is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
        pairs = form.items() if isinstance(form, Mapping) else form
        keys, items = schema.key_schema, schema.value_schema
        return {_default_from_json(keys, key): _default_from_json(items, item) for key, item in pairs}
    return form


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise DataError("Invalid bytes field") from error

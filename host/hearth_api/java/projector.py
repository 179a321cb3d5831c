"""Projects values from the schema they were written with onto a reader's schema."""

from __future__ import annotations

from typing import Any

from hearth_api.errors import SchemaProjectorError
from hearth_api.java.conversion import convert_to
from hearth_api.schema import Field, Schema, Type
from hearth_api.struct import Struct

_WIDENING = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def project(source: Schema, value: Any, target: Schema) -> Any:
    """Return a value of the source schema projected onto the target schema.

    Numbers are widened, and missing struct fields get their default or None. Incompatible schemas raise a
    SchemaProjectorError: types, names and parameters must match, and a target for an optional source must be optional
    or have a default.
    """
    _check(source, target)
    if source.optional and not target.optional and target.default is None:
        raise SchemaProjectorError(
            "Writer schema is optional, however, target schema does not provide a default value."
        )
    if value is None:
        return target.default if source.optional and not target.optional else None
    if target.type is Type.STRUCT:
        return _struct(source, value, target)
    if target.type is Type.ARRAY:
        return [_inner(source.value_schema, item, target.value_schema) for item in value]
    if target.type is Type.MAP:
        return {
            _inner(source.key_schema, key, target.key_schema): _inner(source.value_schema, item, target.value_schema)
            for key, item in value.items()
        }
    return value if source.type is target.type else convert_to(target, None, value)


def _check(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _is_widening(source.type, target.type):
        raise _mismatch("type mismatch", "type", source.type, target.type)
    if source.name != target.name:
        raise _mismatch("name mismatch", "name", source.name, target.name)
    if source.parameters != target.parameters:
        raise _mismatch("parameters not equal", "parameters", source.parameters, target.parameters)


def _is_widening(source: Type, target: Type) -> bool:
    both_numbers = source in _WIDENING and target in _WIDENING
    return both_numbers and _WIDENING.index(source) < _WIDENING.index(target)


def _mismatch(what: str, part: str, source: object, target: object) -> SchemaProjectorError:
    return SchemaProjectorError(f"Schema {what}. source {part}: {source} and target {part}: {target}")


def _struct(source: Schema, value: Struct, target: Schema) -> Struct:
    projected = Struct(target)
    for field in target.fields:
        found = source.field(field.name)
        if found is not None:
            projected.put(field, _field(found, value, field))
        elif field.schema.optional:
            continue
        elif field.schema.default is not None:
            projected.put(field, field.schema.default)
        else:
            raise SchemaProjectorError(f"Required field `{field.name}` is missing from source schema: {source}")
    return projected


def _field(source: Field, value: Struct, target: Field) -> Any:
    try:
        return project(source.schema, value.get(source), target.schema)
    except SchemaProjectorError as error:
        raise SchemaProjectorError(f"Error projecting {source.name}") from error


def _inner(source: Schema | None, value: Any, target: Schema | None) -> Any:
    return value if source is None or target is None else project(source, value, target)

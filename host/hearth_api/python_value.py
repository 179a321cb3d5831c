"""Values of structs from Python's own classes, and back to them.

What is nested too deep for Python's stack ends with a `RecursionError`: this is never compiled, nor is `validation`.
"""

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any
from uuid import UUID

from hearth_api.errors import DataError
from hearth_api.schema import Schema, Type
from hearth_api.struct_layout import is_struct

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact])

MakeStruct = Callable[[Schema, Mapping[str, Any]], Any]


def plain_of(value: Any) -> Any:
    """Return a value with dicts for its structs, at any depth; defaults stand in for unset fields."""
    if is_struct(value):
        return {name: plain_of(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_of(part) for part in value]
    if isinstance(value, dict):
        return {key: plain_of(part) for key, part in value.items()}
    return value


def fitted(schema: Schema, value: Any, make: MakeStruct) -> Any:
    """Return a value in the class that its schema has for it, at any depth; `make` makes structs.

    Mappings, instances of dataclasses and structs of another schema, as defaults are, become structs; sets and tuples
    lists; members of an Enum the text that they have or their name, a UUID its text, an int in a field of floats a
    float; a decimal gets the scale of its schema.
    Nothing is rounded. What does not fit stays as it is, for whoever checks it.
    """
    if value is None or (is_struct(value) and value.schema == schema):
        return value
    type_ = schema.type
    if type_ is Type.STRUCT:
        parts = members(value)
        return value if parts is None else make(schema, parts)
    if type_ is Type.ARRAY and isinstance(value, (list, tuple, Set)) and schema.value_schema is not None:
        inner = schema.value_schema
        return [fitted(inner, part, make) for part in value]
    if type_ is Type.MAP and isinstance(value, Mapping):
        return {_inner(schema.key_schema, key, make): _inner(schema.value_schema, value[key], make) for key in value}
    return _scalar(schema, value)


def members(value: Any) -> Mapping[str, Any] | None:
    """Return the members of a mapping or of an instance of a dataclass by their names, None for anything else."""
    if isinstance(value, Mapping) or is_struct(value):
        return value  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _inner(schema: Schema | None, value: Any, make: MakeStruct) -> Any:
    return value if schema is None else fitted(schema, value, make)


def _scalar(schema: Schema, value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value if not isinstance(value.value, str) and schema.type is not Type.STRING else text_of(value)
    if schema.type is Type.STRING:
        return str(value) if isinstance(value, UUID) else value
    if type(value) is int and (schema.type is Type.FLOAT64 or schema.type is Type.FLOAT32):
        return float(value)
    if schema.name == _DECIMAL and isinstance(value, (decimal.Decimal, int)) and not isinstance(value, bool):
        return _scaled(schema, decimal.Decimal(value))
    return value


def text_of(member: Enum) -> str:
    """Return the text of a member of an Enum: its value, or its name where the value is no text."""
    return member.value if isinstance(member.value, str) else member.name


def _scaled(schema: Schema, value: decimal.Decimal) -> decimal.Decimal:
    scale = (schema.parameters or {}).get("scale")
    if scale is None or not value.is_finite():
        return value
    try:
        return value.quantize(decimal.Decimal(1).scaleb(-int(scale)), context=_EXACT)
    except decimal.Inexact:
        raise DataError(f"{value} has more digits than the scale {scale} of its schema", hint="round it") from None

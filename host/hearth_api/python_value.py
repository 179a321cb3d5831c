"""Converts Python values to values of structs, and back.

Values nested too deep for Python's stack raise a `RecursionError`: this module and `validation` are never compiled.
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
    """Return a value with its structs replaced by dicts, at any depth; unset fields get their defaults."""
    if is_struct(value):
        return {name: plain_of(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_of(part) for part in value]
    if isinstance(value, dict):
        return {key: plain_of(part) for key, part in value.items()}
    return value


def fitted(schema: Schema, value: Any, make: MakeStruct) -> Any:
    """Return a value converted to the class that its schema uses, at any depth; `make` builds structs.

    Mappings, dataclass instances and structs of another schema (such as defaults) become structs; sets and tuples
    become lists; Enum members their text value or name; UUIDs text; ints in float fields floats; decimals get the
    scale of the schema.

    Nothing is rounded. A value that does not fit is returned unchanged, for validation to report.
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
    """Return the members of a mapping or dataclass instance by name, or None for anything else."""
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
    """Return the text of an Enum member: its value, or its name if the value is not text."""
    return member.value if isinstance(member.value, str) else member.name


def _scaled(schema: Schema, value: decimal.Decimal) -> decimal.Decimal:
    scale = (schema.parameters or {}).get("scale")
    if scale is None or not value.is_finite():
        return value
    try:
        return value.quantize(decimal.Decimal(1).scaleb(-int(scale)), context=_EXACT)
    except decimal.Inexact:
        raise DataError(f"{value} has more digits than the scale {scale} of its schema", hint="round it") from None

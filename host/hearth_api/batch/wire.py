"""JSON forms of schemas and values, sent between processes and printed for `--json`.

Plain JSON holds null, booleans, numbers, strings, arrays and objects with string keys. Any other value is an object
with a single member, the tag: {"@bytes": base64}, {"@decimal": "1.50"}, {"@timestamp": ms}, {"@date": days}, {"@time":
ms}, {"@float": "NaN"}, {"@map": [[key, value], ...]} (for keys that are not strings, or a single key that looks like a
tag) and {"@struct": [schema as JSON text, object of physical values]}.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any, NoReturn

from hearth_api.batch.plain_value import is_plain
from hearth_api.errors import DataError
from hearth_api.java.physical import as_key, from_physical, to_physical
from hearth_api.java.schema_json import schema_from_json, schema_from_text, schema_to_json, schema_to_text
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.schema import Schema
from hearth_api.struct import Struct

__all__ = [
    "plain_from_json",
    "plain_to_json",
    "schema_from_json",
    "schema_from_text",
    "schema_to_json",
    "schema_to_text",
    "value_from_json",
    "value_to_json",
]

# Created once: json.dumps with arguments builds an encoder per call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_BETWEEN = math.nan
_SEPARATOR = ",NaN,"  # not valid JSON, so it never occurs as a value
_encode_apart = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_AS_THEY_ARE = frozenset((str, int, bool, type(None)))
_TEXTS = frozenset((str,))


def plain_to_json(value: Any) -> str:
    """Return a schemaless value as JSON text."""
    return _encode(value if type(value) in _AS_THEY_ARE else _tag(value))


def plain_texts(values: Sequence[Any]) -> list[str]:
    """Return the texts of several values as `plain_to_json` returns them, written at once."""
    tagged = [value if is_plain(None, value) else _tag(value) for value in values]
    apart = [_BETWEEN] * (2 * len(tagged))
    apart[::2] = tagged
    texts = _encode_apart(apart)[1:-5].split(_SEPARATOR)
    # A text may contain the separator.
    return texts if len(texts) == len(tagged) else [*map(_encode, tagged)]


def plain_from_json(text: str) -> Any:
    """Return the value of a text made by `plain_to_json`."""
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]
    return _decode(text) if '"@' in text else strict_json(text)


def plain_values(texts: Sequence[str]) -> list[Any]:
    """Return the values of several texts as `plain_from_json` returns them, parsed at once."""
    joined = _SEPARATOR.join(texts)
    if '"@' not in joined and joined.count("NaN") == len(texts) - 1:
        try:
            found: list[Any] = _decode_apart(f"[{joined}]")
        except (DataError, ValueError):
            found = []  # the code below reports the invalid text
        if len(found) == 2 * len(texts) - 1 and found[1::2].count(_BETWEEN) == len(texts) - 1:
            return found[::2]
    return [*map(plain_from_json, texts)]


def value_to_json(schema: Schema | None, value: Any) -> str:
    """Return a value as JSON text of its physical form; structs are objects, decimals bytes."""
    return plain_to_json(value if schema is None else to_physical(schema, value))


def value_from_json(schema: Schema | None, text: str) -> Any:
    """Return the value of a text made by `value_to_json`."""
    plain = plain_from_json(text)
    return plain if schema is None else from_physical(schema, plain)


def _tag(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return _tag_map(value)
    if kind is list:
        return [item if type(item) in _AS_THEY_ARE else _tag(item) for item in value]
    if kind is float:
        return value if math.isfinite(value) else {"@float": _float_name(value)}
    return _tag_other(value)


def _tag_map(value: Mapping[Any, Any]) -> Any:
    looks_tagged = len(value) == 1 and str(next(iter(value))).startswith("@")
    if looks_tagged or not _TEXTS.issuperset(map(type, value)):
        return {"@map": [[_tag(key), _tag(item)] for key, item in value.items()]}
    return {key: item if type(item) in _AS_THEY_ARE else _tag(item) for key, item in value.items()}


def _tag_other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"@bytes": base64.b64encode(value).decode()}
    if isinstance(value, PythonDecimal):
        return {"@decimal": str(value)}
    if isinstance(value, dt.datetime):
        return {"@timestamp": Timestamp.from_logical(Timestamp.SCHEMA, value)}
    if isinstance(value, dt.date):
        return {"@date": Date.from_logical(Date.SCHEMA, value)}
    if isinstance(value, dt.time):
        return {"@time": Time.from_logical(Time.SCHEMA, value)}
    if isinstance(value, Struct):
        return {"@struct": [schema_to_text(value.schema), _tag(to_physical(value.schema, value))]}
    return _tag_subclass(value)


def _tag_subclass(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _tag_map(value)
    if isinstance(value, (list, tuple)):
        return [_tag(item) for item in value]
    for kind in (int, float, str):
        if isinstance(value, kind):
            return _tag(kind(value))
    raise DataError(f"class {type(value).__qualname__} does not have corresponding schema type.")


def _float_name(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _struct(parts: list[Any]) -> Struct:
    struct: Struct = from_physical(schema_from_text(parts[0]), parts[1])
    return struct


_UNTAG: dict[str, Callable[[Any], Any]] = {
    "@bytes": base64.b64decode,
    "@decimal": PythonDecimal,
    "@timestamp": lambda millis: Timestamp.to_logical(Timestamp.SCHEMA, millis),
    "@date": lambda days: Date.to_logical(Date.SCHEMA, days),
    "@time": lambda millis: Time.to_logical(Time.SCHEMA, millis),
    "@float": float,
    "@map": lambda pairs: {as_key(key): item for key, item in pairs},
    "@struct": _struct,
}


SCALAR_TAGS = frozenset(_UNTAG) - {"@map", "@struct"}
"""The tags whose content is a JSON scalar."""


def _untag(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((key, item),) = value.items()
        if key.startswith("@"):
            if key not in _UNTAG:
                raise DataError(f"unknown kind of value in JSON: {key!r}")
            return _UNTAG[key](item)
    return value


def _refuse(constant: str) -> NoReturn:
    raise DataError(f"{constant} is no JSON")


def _between(constant: str) -> float:
    return _BETWEEN if constant == "NaN" else _refuse(constant)


_decode_apart = json.JSONDecoder(parse_constant=_between).decode
_decode = json.JSONDecoder(object_hook=_untag, parse_constant=_refuse).decode
_STRICT = json.JSONDecoder(parse_constant=_refuse)


def strict_json(text: str) -> Any:
    """Return the value of JSON text; Python's extensions to JSON raise a DataError that names them."""
    try:
        value, end = _STRICT.raw_decode(text)
    except ValueError:
        end = -1  # surrounding blanks are allowed
    return value if end == len(text) else _STRICT.decode(text)

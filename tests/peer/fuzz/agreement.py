"""Defines when Hearth's answer equals Java's: the parts that are compared, and their form."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.unit.plugins.golden import wording

Answer = dict[str, Any]
_CONTEXT = "errors.deadletterqueue.context.headers.enable"
_ERROR = tuple(f"__connect.errors.exception.{each}" for each in ("class.name", "message", "stacktrace"))
"""The headers that end a dead letter; of the last one only the first lines, which name the error, are compared."""
_TRACE = re.compile(r"\n(hint: |Caused by: |Traceback ).*", re.DOTALL)
"""The part of Hearth's traces after the error; Java's is compared without it."""
_KAFKAS = "org.apache.kafka."
"""Errors of these packages are raised on purpose, and their messages are an interface; of others the class is."""
_JSON = "json.JsonConverter"
_ADDRESS = re.compile(r"(\[B|HeapByteBuffer|SchemaBuilder)@[0-9a-f]+")
_REFUSED = re.compile(
    r"Failed to serialize to \w+ \(was class java\.lang\.(Long|Double)\)"  # Python numbers have no size
    r"|TimestampConverter does not support class java\.lang\.(Byte|Short|Integer)"  # likewise, without a schema
    r"|Decimal value has mismatching scale"  # a masked decimal
)
_NO_SCALE = "Invalid Decimal schema: scale parameter not found"
_OTHER_SCALE = "Decimal value has mismatching scale for given Decimal schema"
_MORE_DIGITS = "decimal has more digits than the scale of its schema"
_MASKED = re.compile(r"(?<![\w.])0(\.0+|E[-+]?\d+)(?![\w.])")
"""A masked decimal keeps the scale of its schema, as the README says; in Java it is 0, which some texts show."""
_ZERO_KEYS = tuple(tuple(f'[["{kind}", "{zero}"], ' for zero in ("-0.0", "0.0")) for kind in ("f32", "f64"))
"""How a map entry starts whose key is a zero; zeros of both signs are one key in Python, and two in Java."""
SIZE = 6
"""Bytes of a digest."""
_WIDE = {"i8": "i64", "i16": "i64", "i32": "i64", "f32": "f64"}


def java_form(result: Mapping[str, Any], config: Mapping[str, str]) -> Answer | None:
    """Return Java's answer in its compared form; None if Hearth has no such values to compare."""
    if "unheld" in result or _has_address(result) or _is_otherwise(result) or _has_two_zeros(result):
        return None
    if "failed" in result:
        failed = result["failed"]
        is_meant = failed["exception"].startswith(_KAFKAS)
        words = [failed["exception"], _worded(failed["message"] or "") if is_meant else None]
        answer = {"failed": [failed["stage"], failed["class"], *words]}
        return answer | _letter(result, config, is_meant=is_meant)
    if "end" in result:
        return {"end": result["end"]}
    return _form({key: part for key, part in result.items() if key != "why"}, config)


def our_forms(result: Answer, config: Mapping[str, str]) -> Iterator[Answer]:
    """Yield the forms of Hearth's answer that may equal Java's: Hearth words some internal errors differently."""
    if "failed" in result:
        phase, class_name, error, message = result["failed"]
        yield {"failed": [phase, class_name, error, _worded(message)], **_letter(result, config, is_meant=True)}
        yield {"failed": [phase, class_name, error, None], **_letter(result, config, is_meant=False)}
    else:
        yield _form(result, config)


def is_open(answer: Mapping[str, Any] | bytes, config: Mapping[str, str]) -> bool:
    """Return whether a Java answer, or its digest, is excluded from the comparison."""
    return answer == digest(None) if isinstance(answer, bytes) else java_form(answer, config) is None


def is_beyond_python(result: Answer) -> bool:
    """Return whether Hearth refused a documented unsupported value, so that there is nothing to compare.

    Such values are a date outside Python's years; a header whose value does not match its own schema; a date, time or
    decimal that is cast and keeps its schema's name; and a decimal, read or replaced, with more digits than its
    schema allows, or read with a schema that lacks the scale.
    """
    if "failed" not in result:
        return False
    phase, class_name, _, message = result["failed"]
    may_mismatch = phase == "HEADER_CONVERTER" or "transforms.Cast$" in class_name
    is_mismatch = may_mismatch and message.startswith(("Invalid Python object for schema", "Invalid value: "))
    is_masked = "transforms.MaskField$" in class_name and message.startswith(_OTHER_SCALE)
    is_unheld = "outside of the years 1 to 9999" in message or message.startswith((_MORE_DIGITS, _NO_SCALE))
    return is_mismatch or is_masked or is_unheld


def digest(answer: Answer | None) -> bytes:
    """Return the digest of an answer; all zero for one that is not compared."""
    if answer is None:
        return bytes(SIZE)
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).digest()[:SIZE]


def _form(result: Mapping[str, Any], config: Mapping[str, str]) -> Answer:
    if "put" in result:
        topic, partition, offset, timestamp, *sides, headers = result["put"]
        sides = [part for pair in (sides[:2], sides[2:]) for part in _typed(*pair)]
        return {
            "put": [topic, partition, offset, timestamp, *sides, [[each[0], *_typed(*each[1:])] for each in headers]]
        }
    if "sent" in result:
        topic, partition, timestamp, key, value, headers = result["sent"]
        texts = (_text(each, f"{side}.converter", config) for side, each in (("key", key), ("value", value)))
        own = [[name, _text(each, "header.converter", config)] for name, each in headers]
        return {"sent": [topic, partition, timestamp, *texts, own]}
    return dict(result)


def _letter(result: Mapping[str, Any], config: Mapping[str, str], *, is_meant: bool) -> Answer:
    """Return an answer's dead letter, with its last headers as texts, or without them after an internal error."""
    if "letter" not in result:
        return {}
    *whole, headers = result["letter"]
    if config[_CONTEXT] == "true":
        error = [(name, _begin(own)) for name, own in headers[-len(_ERROR) :]]
        assert tuple(name for name, _ in error) == _ERROR
        headers = [*headers[: -len(_ERROR)], *(error if is_meant else ())]
    return {"letter": [*whole, headers]}


def _begin(data: str | None) -> str | None:
    return None if data is None else _TRACE.sub("", _worded(base64.b64decode(data).decode()))


def _worded(text: str) -> str:
    return _MASKED.sub("0", wording(text))


def _typed(schema: Any, form: Any) -> list[Any]:
    return [schema, _widened(schema, form)]


def _widened(schema: Any, form: Any) -> Any:
    """Return a form with sorted maps, and without the sizes of numbers that have no schema.

    Python does not know the sizes there.
    """
    if form is None:
        return None
    kind, plain = form
    if kind == "s":
        return [kind, _MASKED.sub("0", plain)]
    inside = schema or {}
    if kind == "arr":
        plain = [_widened(inside.get("items"), each) for each in plain]
    elif kind == "map":
        pairs = ([_widened(inside.get(part), each) for part, each in zip(("keys", "values"), pair)] for pair in plain)
        plain = sorted(pairs, key=json.dumps)
    elif kind == "struct":
        plain = {each["field"]: _widened(each, plain.get(each["field"])) for each in inside["fields"]}
    return [_WIDE.get(kind, kind) if schema is None else kind, plain]


def _is_otherwise(result: Mapping[str, Any]) -> bool:
    """Return whether Java refused a number or decimal that Hearth accepts, as its plugins' READMEs document."""
    message = result.get("failed", {}).get("message") or ""
    return _REFUSED.search(message) is not None


def _has_address(result: Mapping[str, Any]) -> bool:
    """Return whether Java printed an object's address, which changes each time; Hearth prints the contents."""
    texts = [result["failed"]["message"] or ""] if "failed" in result else []
    if "sent" in result:
        *_, key, value, headers = result["sent"]
        texts = [base64.b64decode(each or "").decode("latin-1") for each in (key, value, *(own for _, own in headers))]
    return any(_ADDRESS.search(text.replace("\0", "")) for text in texts)


def _has_two_zeros(result: Mapping[str, Any]) -> bool:
    """Return whether Java has a map with floating point zeros of both signs as keys."""
    text = json.dumps(result)
    return any(minus in text and plus in text for minus, plus in _ZERO_KEYS)


def _text(data: str | None, converter: str, config: Mapping[str, str]) -> Any:
    """Return written bytes as text; JSON members are sorted, since Java's order is that of a hash table."""
    if data is None or not config.get(converter, "").endswith(_JSON):
        return data if data is None else _MASKED.sub("0", base64.b64decode(data).decode("latin-1"))
    text = base64.b64decode(data).decode()
    read = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    text = _MASKED.sub("0", json.dumps(read, sort_keys=True))
    for key, replacement in config.items():
        if key.endswith(".replacement"):
            begin = replacement if "." in replacement else f"{replacement}."
            plain = replacement.replace("\\", r"\\")
            text = re.sub(rf"(?<![\w.]){re.escape(begin)}0+(?![\w.])", plain, text)
    return text

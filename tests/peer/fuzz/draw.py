"""Random pipelines: a connector's converters and transformations, and records for them.

The same seed and number yield the same pipeline on every machine. Deliberate differences of Hearth, which its
plugins' READMEs document, are not drawn.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.unit.plugins import question

RECORDS = 40
"""How many records each pipeline has."""

Config = dict[str, str]
_CONNECT = "org.apache.kafka.connect."
_JSON = _CONNECT + "json.JsonConverter"
_STRING = _CONNECT + "storage.StringConverter"
_BYTES = _CONNECT + "converters.ByteArrayConverter"
_SIMPLE = _CONNECT + "storage.SimpleHeaderConverter"
_SIZED = ("Short", "Integer", "Long", "Float", "Double", "Boolean")
_ENCODINGS = ("UTF-8", "UTF-8", "ISO-8859-1", "UTF-16", "US-ASCII")
_FIELDS = ("a", "a", "b", "b", "\xe9", "zz")
_HEADERS = ("h1", "h2", "h3")
_CONSUMED = (*_HEADERS, *_HEADERS, "__connect.errors.stage", "\xe9")
"""Headers of a sink's input, which may be another sink's dead letters."""
_WHENS = (None, 0, 1, 86_399_999, 1_483_425_001_864, 1_700_000_000_123, 4_102_444_800_000)
_LITERALS = ("", "a", "12", "true", "1.5", "null", "[1,2]", '{"a":1}', "2019-08-23", "\xe9")


def pipeline(seed: int, number: int) -> dict[str, Any]:
    """Return one pipeline: ``config`` and ``records``, in their order.

    The topic of a sink may have records without timestamps.
    """
    draw = random.Random(f"{seed}:{number}")
    is_source = draw.random() < 0.5
    config = {
        "name": "c",
        "connector.class": "C",
        "errors.tolerance": "all" if draw.random() < 0.95 else "none",
        **({} if is_source else sink_keys(draw)),
        **_writer(draw, "key"),
        **_writer(draw, "value"),
        **_header_converter(draw),
    }
    config |= chain(draw, is_hoisted=config["value.converter"] != _JSON and draw.random() < 0.5)
    if is_source:
        return {"type": "source", "config": config, "records": [*_source(draw, config)]}
    has_times = draw.random() < 0.85
    return {"type": "sink", "has_times": has_times, "config": config, "records": [*_sink(draw, config, has_times)]}


def sink_keys(draw: random.Random) -> Config:
    letters = "errors.deadletterqueue"
    has_context = draw.choice(("true", "true", "false"))
    return {"topics": "topic-in", f"{letters}.topic.name": "dead", f"{letters}.context.headers.enable": has_context}


# Transformations --------------------------------------------------------------------------------------------------


def chain(draw: random.Random, *, is_hoisted: bool) -> Config:
    """Return the keys of transformations, often of none, and of their predicates.

    If there are any, a value that is neither struct nor map is hoisted first, so that the others find a field.
    """
    aliases = [f"t{number}" for number in range(draw.choice((0, 1, 1, 2, 2, 3, 4)))]
    rows = {"transforms": ",".join(aliases)} if aliases else {}
    predicates: Config = {}
    for number, alias in enumerate(aliases):
        if is_hoisted and number == 0:
            kind, own = "HoistField$Value", {"field": "a"}
        else:
            kind, own = draw.choice(_TRANSFORMATIONS)(draw)
        if kind == "Filter" or draw.random() < 0.25:
            predicates |= _predicate(draw, f"p{alias}")
            own |= {"predicate": f"p{alias}"} | ({"negate": "true"} if draw.random() < 0.4 else {})
        rows |= {f"transforms.{alias}.{key}": text for key, text in own.items()}
        rows[f"transforms.{alias}.type"] = f"{_CONNECT}transforms.{kind}"
    if predicates:
        rows["predicates"] = ",".join(key.split(".")[1] for key in predicates if key.endswith(".type"))
    return rows | predicates


def _predicate(draw: random.Random, alias: str) -> Config:
    kind, own = draw.choice(
        (
            ("TopicNameMatches", {"pattern": draw.choice(("topic.*", ".*-in", "other", "[a-z]+-\\w+", "t\\d"))}),
            ("HasHeaderKey", {"name": draw.choice(_HEADERS)}),
            ("RecordIsTombstone", {}),
        )
    )
    rows = {f"predicates.{alias}.{key}": text for key, text in own.items()}
    return {f"predicates.{alias}.type": f"{_CONNECT}transforms.predicates.{kind}", **rows}


def _side(draw: random.Random) -> str:
    return "$" + draw.choice(("Key", "Value", "Value", "Value"))


def _null(draw: random.Random) -> Config:
    return {"replace.null.with.default": "false"} if draw.random() < 0.25 else {}


def _fields(draw: random.Random, most: int = 2) -> list[str]:
    return draw.sample(sorted(set(_FIELDS)), draw.randint(1, most))


_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "string")


def _cast(draw: random.Random) -> tuple[str, Config]:
    whole = draw.choice(_TYPES)
    parts = ",".join(f"{field}:{draw.choice(_TYPES)}" for field in _fields(draw))
    return f"Cast{_side(draw)}", {"spec": whole if draw.random() < 0.3 else parts, **_null(draw)}


def _drop_headers(draw: random.Random) -> tuple[str, Config]:
    return "DropHeaders", {"headers": ",".join(draw.sample(_HEADERS, draw.randint(1, 2)))}


def _extract_field(draw: random.Random) -> tuple[str, Config]:
    path = ".".join(draw.choice(_FIELDS) for _ in range(draw.choice((1, 1, 2, 3))))
    version = {"field.syntax.version": draw.choice(("V1", "V2"))} if draw.random() < 0.6 else {}
    return f"ExtractField{_side(draw)}", {"field": path, **version, **_null(draw)}


def _filter(draw: random.Random) -> tuple[str, Config]:
    return "Filter", {}


def _flatten(draw: random.Random) -> tuple[str, Config]:
    return f"Flatten{_side(draw)}", {"delimiter": draw.choice(("_", "", "--"))} if draw.random() < 0.5 else {}


def _header_from(draw: random.Random) -> tuple[str, Config]:
    fields = _fields(draw)
    headers = [draw.choice(_HEADERS) for _ in fields]
    own = {"fields": ",".join(fields), "headers": ",".join(headers), "operation": draw.choice(("move", "copy"))}
    return f"HeaderFrom{_side(draw)}", {**own, **_null(draw)}


def _hoist_field(draw: random.Random) -> tuple[str, Config]:
    return f"HoistField{_side(draw)}", {"field": draw.choice(_FIELDS)}


def _insert_field(draw: random.Random) -> tuple[str, Config]:
    keys = draw.sample(("topic", "partition", "timestamp", "static", "offset"), draw.randint(1, 3))
    own = {f"{key}.field": draw.choice((*_FIELDS, "n")) + draw.choice(("", "", "!", "?")) for key in keys}
    return f"InsertField{_side(draw)}", {**own, "static.value": draw.choice(("s", "\xe9 ")), **_null(draw)}


def _insert_header(draw: random.Random) -> tuple[str, Config]:
    return "InsertHeader", {"header": draw.choice(_HEADERS), "value.literal": draw.choice(_LITERALS)}


def _mask_field(draw: random.Random) -> tuple[str, Config]:
    replacement = {"replacement": draw.choice(("x", "7", "-1", "1.5"))} if draw.random() < 0.4 else {}
    return f"MaskField{_side(draw)}", {"fields": ",".join(_fields(draw)), **replacement, **_null(draw)}


def _regex_router(draw: random.Random) -> tuple[str, Config]:
    regex, replacement = draw.choice(
        (("(.*)-in", "$1-out"), ("topic(.*)", "x$1"), ("other", "y"), (".*", "t1"), ("(t)(.*)", "$2-$1"))
    )
    return "RegexRouter", {"regex": regex, "replacement": replacement}


def _replace_field(draw: random.Random) -> tuple[str, Config]:
    kinds = draw.sample(("exclude", "include", "renames"), draw.choice((1, 1, 2)))
    own = {kind: ",".join(_fields(draw)) for kind in kinds if kind != "renames"}
    if "renames" in kinds:
        own["renames"] = ",".join(f"{field}:{draw.choice(('n', 'm'))}{field}" for field in _fields(draw))
    return f"ReplaceField{_side(draw)}", {**own, **_null(draw)}


def _set_schema_metadata(draw: random.Random) -> tuple[str, Config]:
    own = {"schema.name": "s.Name", "schema.version": str(draw.randint(1, 9))}
    chosen = {key: own[key] for key in draw.sample(sorted(own), draw.randint(1, 2))}
    return f"SetSchemaMetadata{_side(draw)}", {**chosen, **_null(draw)}


_FORMATS = (
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "yyyy-MM-dd",
    "HH:mm:ss",
    "EEE, d MMM yyyy",
    "yyyyMMdd HHmmss Z",
    "D k K a",
)


def _timestamp_converter(draw: random.Random) -> tuple[str, Config]:
    own = {"target.type": draw.choice(("string", "unix", "Date", "Time", "Timestamp"))}
    own["format"] = draw.choice(_FORMATS)
    if draw.random() < 0.75:
        own["field"] = draw.choice(_FIELDS)
    if draw.random() < 0.3:
        own["unix.precision"] = draw.choice(("seconds", "milliseconds", "microseconds", "nanoseconds"))
    return f"TimestampConverter{_side(draw)}", {**own, **_null(draw)}


def _timestamp_router(draw: random.Random) -> tuple[str, Config]:
    own = {"timestamp.format": draw.choice(("yyyyMMdd", "yyyy-MM", "HH", "yyyy.MM.dd-HH.mm.ss.SSS"))}
    if draw.random() < 0.5:
        own["topic.format"] = draw.choice(("${topic}-${timestamp}", "${timestamp}", "x-${topic}"))
    return "TimestampRouter", own


def _value_to_key(draw: random.Random) -> tuple[str, Config]:
    return "ValueToKey", {"fields": ",".join(_fields(draw)), **_null(draw)}


_TRANSFORMATIONS: tuple[Callable[[random.Random], tuple[str, Config]], ...] = (
    _cast, _drop_headers, _extract_field, _filter, _flatten, _header_from, _hoist_field, _insert_field, _insert_header,
    _mask_field, _regex_router, _replace_field, _set_schema_metadata, _timestamp_converter, _timestamp_router,
    _value_to_key,
)  # fmt: skip


# Schemas and values -----------------------------------------------------------------------------------------------


class _Side:
    """The keys, values or headers of a pipeline: mostly of one schema, or of none."""

    def __init__(self, draw: random.Random, among: tuple[str, ...], converter: str) -> None:
        """``among`` are the kinds of schemas, of which one is mostly left out if the converter has another type."""
        self._draw = draw
        self._among = among
        wanted = _WANTED.get(converter.rpartition(".")[2])
        self._usual = {"type": wanted, "optional": True} if wanted and draw.random() < 0.8 else self._schema()

    def schema(self) -> dict[str, Any] | None:
        """Return the schema of the next value."""
        return self._usual if self._draw.random() < 0.9 else self._schema()

    def _schema(self) -> dict[str, Any] | None:
        kind = self._draw.choice(self._among)
        if kind == "none":
            return None
        while True:
            found = question.schema_of(self._draw, 2)
            if kind == "any" or (found["type"] == "struct") is (kind == "struct"):
                return found


_KEYS = ("none", "plain", "any", "struct")
_VALUES = ("none", "struct", "struct", "struct", "any")
_HEADER_VALUES = ("none", "plain", "any")
_WANTED = {
    "ByteArrayConverter": "bytes",
    "ShortConverter": "int16",
    "IntegerConverter": "int32",
    "LongConverter": "int64",
    "FloatConverter": "float",
    "DoubleConverter": "double",
    "BooleanConverter": "boolean",
}


def form(draw: random.Random, schema: dict[str, Any] | None) -> Any:
    """Return the form of a value that matches its schema."""
    return _free(draw, 2) if schema is None else question.value_of(draw, schema, 2, sound=True)


def _free(draw: random.Random, depth: int) -> Any:
    """Return the form of a value without schema, mostly a map with the fields that transformations use."""
    kind = draw.random()
    if depth and kind < 0.8:
        names = draw.sample(sorted(set(_FIELDS)), draw.randint(0, 3))
        return ["map", [[["s", name], _free(draw, depth - 1)] for name in names]]
    if depth and kind < 0.85:
        return ["arr", [_free(draw, depth - 1) for _ in range(draw.randint(0, 2))]]
    return draw.choice(_FREE)


_FREE: tuple[Any, ...] = (
    None, ["b", True], ["i64", 1], ["i64", 1483425001864], ["i64", -(2**63)], ["f64", "-1.5"], ["f64", "1.0E10"],
    ["s", ""], ["s", "x"], ["s", "12"], ["s", "2017-01-03"], ["s", "\xe9"], ["bytes", "AAE="], ["dec", "1.50"],
    ["date", 1_483_425_001_864],
)  # fmt: skip


# Records of sources -----------------------------------------------------------------------------------------------


def _source(draw: random.Random, config: Config) -> Iterator[dict[str, Any]]:
    """Yield records for the converters: forms of values with the JSON forms of their schemas."""
    key = _Side(draw, _KEYS, config["key.converter"])
    value = _Side(draw, _VALUES, config["value.converter"])
    header = _Side(draw, _HEADER_VALUES, config.get("header.converter", _SIMPLE))
    topics = ("topic-in", "topic-in", draw.choice(("topic-in", "t2")))
    for _ in range(RECORDS):
        yield {
            "topic": draw.choice(topics),
            "partition": draw.choice((None, None, 0, 7)),
            "timestamp": draw.choice(_WHENS),
            "key": _typed(draw, key.schema()),
            "value": None if draw.random() < 0.03 else _typed(draw, value.schema()),
            "headers": [[draw.choice(_HEADERS), _typed(draw, header.schema())] for _ in range(_count(draw))],
        }


def _count(draw: random.Random) -> int:
    return draw.choice((0, 0, 0, 1, 2))


def _typed(draw: random.Random, schema: dict[str, Any] | None) -> list[Any]:
    return [schema, form(draw, schema)]


def _writer(draw: random.Random, side: str) -> Config:
    kind = draw.choice((*[_JSON] * 6, _STRING, _STRING, _sized(draw), _BYTES))
    return _converter(draw, f"{side}.converter", kind)


def _sized(draw: random.Random) -> str:
    return f"{_CONNECT}converters.{draw.choice(_SIZED)}Converter"


def _converter(draw: random.Random, role: str, kind: str) -> Config:
    own: Config = {}
    if kind == _JSON:
        own = question.config_of(draw)
    elif kind == _STRING:
        own = {"converter.encoding": draw.choice(_ENCODINGS)} if draw.random() < 0.3 else {}
    return {role: kind, **{f"{role}.{key}": text for key, text in own.items()}}


def _header_converter(draw: random.Random) -> Config:
    kind = draw.choice((_SIMPLE, _SIMPLE, _SIMPLE, _JSON, _STRING, _BYTES, _sized(draw)))
    return {} if kind == _SIMPLE and draw.random() < 0.5 else _converter(draw, "header.converter", kind)


# Records of sinks -------------------------------------------------------------------------------------------------


def _sink(draw: random.Random, config: Config, has_times: bool) -> Iterator[dict[str, Any]]:
    """Yield consumed records as base64, some of which are unreadable."""
    key, value, header = (_Bytes(draw, config, side) for side in ("key", "value", "header"))
    for _ in range(RECORDS):
        yield {
            "timestamp": draw.choice(_WHENS[1:]) if has_times else -1,
            "key": key.next(),
            "value": value.next(),
            "headers": [[draw.choice(_CONSUMED), header.next()] for _ in range(_count(draw))],
        }


class _Bytes:
    """Bytes for one converter, most of which it can read."""

    def __init__(self, draw: random.Random, config: Config, side: str) -> None:
        role = f"{side}.converter"
        self._draw = draw
        self._kind = config.get(role, _SIMPLE)
        self._is_enveloped = config.get(f"{role}.schemas.enable") != "false"
        among = {"key": _KEYS, "value": _VALUES, "header": _HEADER_VALUES}[side]
        self._side = _Side(draw, among, self._kind)
        if self._kind == _JSON and self._is_enveloped and draw.random() < 0.1:
            schema = self._side.schema()
            self._is_enveloped = schema is None
            config |= {} if schema is None else {f"{role}.schema.content": json.dumps(schema)}

    def next(self) -> str | None:
        """Return the next bytes in base64."""
        if self._draw.random() < 0.06:
            return None
        return base64.b64encode(self._data()).decode()

    def _data(self) -> bytes:
        draw = self._draw
        if self._kind == _JSON:
            return self._json().encode("utf-8", "surrogatepass")
        if self._kind == _SIMPLE:
            return draw.choice((question.noise, question.word, question.number, question.container))(draw).encode()
        if self._kind == _STRING:
            return question.word(draw).encode() if draw.random() < 0.9 else draw.randbytes(4)
        if self._kind == _BYTES:
            return draw.randbytes(draw.randint(0, 5))
        messages = question.messages(self._kind.rpartition(".")[2].removesuffix("Converter"))[1:]
        if draw.random() < 0.85:
            messages = [each for each in messages if each is not None and len(each) == len(messages[0] or b"")]
        return draw.choice(messages) or b""

    def _json(self) -> str:
        draw = self._draw
        schema = self._side.schema()
        if schema is None:
            payload = _document(draw)
        else:
            payload = question.payload_of(draw, schema, 2)
        if self._is_enveloped:
            payload = f'{{"schema":{json.dumps(schema)},"payload":{payload}}}'
        return question.slipped(draw, payload, 0.02)


def _document(draw: random.Random, depth: int = 2) -> str:
    """Return JSON without a schema, mostly an object with the fields that transformations use."""
    kind = draw.random()
    if depth and kind < 0.8:
        names = draw.sample(sorted(set(_FIELDS)), draw.randint(0, 3))
        return "{" + ",".join(f"{json.dumps(name)}:{_document(draw, depth - 1)}" for name in names) + "}"
    if depth and kind < 0.85:
        return "[" + ",".join(_document(draw, 0) for _ in range(draw.randint(0, 2))) + "]"
    return draw.choice(("null", "true", "1", "-1.5", "1483425001864", '"x"', '"2017-01-03"', '"\xe9"', "70000"))

"""Pipelines with real-world data: optional members, changing schemas, failing records, headers.

As in `draw`, the same seed and number yield the same pipeline on every machine.
"""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.peer.fuzz import draw as clean
from tests.unit.plugins import question

RECORDS = 200
"""How many records each pipeline has."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_THERE = (1.0, 0.99, 0.8, 0.5)
"""The probability that a member exists."""
_FAILING = (0.0, 0.001, 0.01, 0.1, 0.5)
_VERSIONS = (1, 2, 2, 10)
_TOPICS = (1, 1, 2, 20)
_START = datetime(2026, 1, 1, tzinfo=timezone.utc)
_MEMBERS = ("a", "b", "\xe9", "zz", "id", "name", "count", "price", "tags", "nested")
_HEADER_NAMES = ("h1", "h1", "h2", "h3", "trace", "at")
_NO_JSON = ("oops", "", '{"a":', "[1,2", "{'a':1}", '{"a":1}x', "nul", '"', "\ufeff{}", "NaN", '{"a":01}')

_HEADERS: dict[str, Callable[[random.Random, int], str]] = {
    "hex": lambda draw, row: f"{row * 2654435761 % 2**64:016x}",
    "counter": lambda draw, row: str(row * 37),
    "uuid": lambda draw, row: str(uuid.UUID(int=draw.getrandbits(128))),
    "date": lambda draw, row: (_START + timedelta(days=row)).strftime("%Y-%m-%d"),
    "moment": lambda draw, row: (_START + timedelta(seconds=row)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    "truth": lambda draw, row: "true" if row % 3 else "false",
    "json": lambda draw, row: json.dumps({"a": row, "b": [row, str(row)]}),
    "decimal": lambda draw, row: f"{row / 100:.2f}",
    "nothing": lambda draw, row: "" if row % 2 else "null",
    "words": lambda draw, row: f"service-{row % 5}",
    "other": lambda draw, row: draw.choice((question.noise, question.number, question.container))(draw),
}


def pipeline(seed: int, number: int) -> dict[str, Any]:
    """Return one pipeline: ``config`` and ``records``, in their order."""
    draw = random.Random(f"dirty:{seed}:{number}")
    is_source = draw.random() < 0.3
    config = {
        "name": "c",
        "connector.class": "C",
        "errors.tolerance": "all",
        **({} if is_source else clean.sink_keys(draw)),
        "key.converter": _STRING,
        "value.converter": _JSON,
        "value.converter.schemas.enable": draw.choice(("true", "false")),
    }
    config |= clean.chain(draw, is_hoisted=False) if draw.random() < 0.5 else {}
    made = _source if is_source else _sink
    drawn = {"type": "source" if is_source else "sink", "config": config, "records": [*made(draw, config)]}
    return drawn if is_source else {**drawn, "has_times": True}


def _sink(draw: random.Random, config: clean.Config) -> Iterator[dict[str, Any]]:
    """Yield consumed records, as base64: of alternating versions, some of which are not JSON."""
    failing, headers = draw.choice(_FAILING), _HeaderKinds(draw)
    documents = [_Documents(draw, config, version) for version in range(draw.choice(_VERSIONS))]
    is_in_turn = draw.random() < 0.7
    for row in range(RECORDS):
        chosen = documents[row % len(documents)] if is_in_turn else draw.choice(documents)
        value = draw.choice(_NO_JSON) if draw.random() < failing else chosen.next(row)
        yield {
            "timestamp": 1_700_000_000_123 + row,
            "key": None if draw.random() < 0.2 else _base64(f"k{row}"),
            "value": None if draw.random() < 0.03 else _base64(value),
            "headers": [[name, _base64(text)] for name, text in headers.next(row)],
        }


def _source(draw: random.Random, config: clean.Config) -> Iterator[dict[str, Any]]:
    """Yield records' forms, with alternating topics and schemas, some of which do not fit the pipeline."""
    count = draw.choice(_TOPICS)
    schemas = [None if draw.random() < 0.3 else _struct(draw, version) for version in range(draw.choice(_VERSIONS))]
    failing, headers = draw.choice(_FAILING), _HeaderKinds(draw)
    for row in range(RECORDS):
        schema = schemas[row % len(schemas)]
        value = clean.form(draw, schema) if draw.random() >= failing else ["s", f"no number {row}"]
        yield {
            "topic": f"t{row % count}",
            "partition": draw.choice((None, 0)),
            "timestamp": 1_700_000_000_123 + row,
            "key": None if draw.random() < 0.2 else [{"type": "string", "optional": True}, ["s", f"k{row}"]],
            "value": [schema, value] if schema is None or value[0] == "struct" else [{"type": "string"}, value],
            "headers": [[name, [{"type": "string"}, ["s", text]]] for name, text in headers.next(row)],
        }


class _Documents:
    """JSON of one version: members are optional, and some change their type."""

    def __init__(self, draw: random.Random, config: clean.Config, version: int) -> None:
        self._draw = draw
        self._is_enveloped = config["value.converter.schemas.enable"] == "true"
        self._there = draw.choice(_THERE)
        self._members = draw.sample(_MEMBERS, draw.randint(1, 8))
        self._kinds = {name: draw.choice((*_KINDS, "any")) for name in self._members}
        self._schema = _struct(draw, version)

    def next(self, row: int) -> str:
        """Return the next document."""
        if self._is_enveloped:
            return f'{{"schema":{json.dumps(self._schema)},"payload":{self._payload(row)}}}'
        names = [name for name in self._members if self._draw.random() < self._there]
        return json.dumps({name: self._value(self._kinds[name], row, 2) for name in names}, ensure_ascii=False)

    def _payload(self, row: int) -> str:
        fields = [each for each in self._schema["fields"] if not each["optional"] or self._draw.random() < self._there]
        drawn = random.Random(f"{row}:{self._draw.random()}")
        parts = {each["field"]: json.loads(question.payload_of(drawn, each, 1, sound=True)) for each in fields}
        return json.dumps(parts, ensure_ascii=False)

    def _value(self, kind: str, row: int, depth: int) -> Any:
        draw = self._draw
        kind = draw.choice(_KINDS) if kind == "any" else kind
        if kind in ("list", "object"):
            inner = [self._value("any", row, depth - 1) for _ in range(draw.randint(0, 3))] if depth else []
            return inner if kind == "list" else {f"m{place}": each for place, each in enumerate(inner)}
        return {
            "int": row,
            "large": 2**62 + row,
            "float": row / 4,
            "text": f"text {row}",
            "unicode": f"\xe9\U0001f600 {row}",
            "number": str(row),
            "date": "2017-01-03",
            "truth": row % 2 == 0,
            "null": None,
        }[kind]


_KINDS = (
    "int",
    "int",
    "large",
    "float",
    "text",
    "text",
    "unicode",
    "number",
    "date",
    "truth",
    "null",
    "list",
    "object",
)


class _HeaderKinds:
    """Header names of no, one or several kinds, a few for each record; names repeat."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._kinds = draw.sample(sorted(_HEADERS), draw.choice((0, 1, 1, 3, len(_HEADERS))))
        self._most = draw.choice((1, 1, 2, 10))

    def next(self, row: int) -> list[tuple[str, str]]:
        """Return the names and texts of the headers of the next record."""
        if not self._kinds:
            return []
        draw = self._draw
        kinds = [draw.choice(self._kinds) for _ in range(draw.randint(0, self._most))]
        return [(draw.choice(_HEADER_NAMES), _HEADERS[kind](draw, row)) for kind in kinds]


def _struct(draw: random.Random, version: int) -> dict[str, Any]:
    """Return the schema of a version: it has one field more than the previous one; most are optional."""
    kinds = ("int32", "int64", "string", "string", "boolean", "double")
    names = ("a", "b", "\xe9", *(f"more{place}" for place in range(version)))
    fields = [
        {"type": draw.choice(kinds), "optional": draw.random() < 0.8, "field": name} for name in names
    ]  # fmt: skip
    return {"type": "struct", "fields": fields, "optional": False, "name": f"v{version}"}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()

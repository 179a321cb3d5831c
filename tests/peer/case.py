"""The parts of a comparison between Java Connect and Hearth; `cases.py` has the cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.peer.topic import Record

SOURCE_CLASS = "FileStreamSource"
SINK_CLASS = "FileStreamSink"
_CONVERTERS = {
    "string": "org.apache.kafka.connect.storage.StringConverter",
    "json": "org.apache.kafka.connect.json.JsonConverter",
    "bytes": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "simple": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
}
_TRANSFORMS = "org.apache.kafka.connect.transforms."
WHEN = 1700000000123
"""The first record's timestamp, in milliseconds since 1970."""
LINES = b"".join(b"line %d of the peer test\n" % number for number in range(50))


@dataclass(frozen=True)
class Case:
    """One configuration that must have the same outcome on both sides.

    A source reads a file with the content `text`; a sink reads `records` from the topics `reads`, which are created
    with `partitions`; `both` is a source and a sink with a topic between them. The comparison covers the topics in
    `writes`, the sink's file and the states of the tasks. A side is complete after `expected` outputs: records of a
    source, lines of a sink. Topic names may contain {name}, the name of the case.
    """

    name: str
    kind: Literal["source", "sink", "both"]
    config: Mapping[str, str] = field(default_factory=dict)
    worker: str = "json"
    text: bytes = LINES
    records: tuple[Record, ...] = ()
    sink_config: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ("{name}",)
    writes: tuple[str, ...] = ("{name}",)
    partitions: int = 1
    expected: int = -1
    fails: bool = False
    ordered: bool = True

    @property
    def group(self) -> str:
        """Return the consumer group of the case's sink."""
        return f"connect-{self.sink}"

    @property
    def source(self) -> str:
        """Return the name of the case's source connector."""
        return f"{self.name}-source"

    @property
    def sink(self) -> str:
        """Return the name of the case's sink connector."""
        return f"{self.name}-sink"

    @property
    def topics_read(self) -> list[str]:
        """Return the topics that are filled before the case starts."""
        return [topic.format(name=self.name) for topic in self.reads] if self.kind == "sink" else []

    @property
    def topics_written(self) -> list[str]:
        """Return the topics whose contents are compared."""
        if self.kind == "sink" and self.writes == ("{name}",):
            return []
        return [topic.format(name=self.name) for topic in self.writes]

    @property
    def outputs(self) -> int:
        """Return how many records or lines the case must produce."""
        if self.expected >= 0:
            return self.expected
        return len(self.records) if self.kind == "sink" else self.text.count(b"\n")


def converter(role: Literal["key", "value", "header"], kind: str, **settings: object) -> dict[str, str]:
    """Return the keys that set a converter; settings are written with underscores for dots."""
    rows = {f"{role}.converter": _CONVERTERS[kind]}
    rows.update({f"{role}.converter.{name.replace('_', '.')}": _text(value) for name, value in settings.items()})
    return rows


def transforms(**chain: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of a chain of transformations; each one's `type` is given without its package."""
    return _plugins("transforms", _TRANSFORMS, chain)


def predicates(**named: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of predicates; each one's `type` is given without its package."""
    return _plugins("predicates", _TRANSFORMS + "predicates.", named)


def _plugins(prefix: str, package: str, named: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    rows = {prefix: ",".join(named)}
    for alias, settings in named.items():
        for key, value in settings.items():
            rows[f"{prefix}.{alias}.{key}"] = package + value if key == "type" else value
    return rows


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def enveloped(schema: Mapping[str, Any], payload: Any) -> bytes:
    """Return a value as JsonConverter writes it with its schema."""
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def struct(*fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the JSON form of a struct schema."""
    return {"type": "struct", "fields": list(fields), "optional": False, **more}


def of(kind: str, column: str, **more: Any) -> dict[str, Any]:
    """Return the JSON form of a field's schema."""
    return {"type": kind, "optional": True, "field": column, **more}


def texts(*values: bytes | str | None) -> tuple[Record, ...]:
    """Return records with these values, numbered keys and growing timestamps."""
    rows = ((i, each.encode() if isinstance(each, str) else each) for i, each in enumerate(values))
    return tuple(Record(b"k%d" % i, value, timestamp=WHEN + i) for i, value in rows)


def objects(*values: object) -> tuple[Record, ...]:
    """Return records with the JSON of these values."""
    return texts(*(json.dumps(value) for value in values))


def structs(schema: Mapping[str, Any], *payloads: object) -> tuple[Record, ...]:
    """Return records with these values in the envelope of a schema."""
    return texts(*(enveloped(schema, payload) for payload in payloads))

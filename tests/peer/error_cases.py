"""Records that fail in each stage: their outcome, and the contents of their dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.peer.case import WHEN, Case, converter, of, predicates, struct, structs, texts, transforms
from tests.peer.topic import Record

DEAD_LETTERS = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "{name}-dead",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
_STRINGS = {**converter("key", "string"), **converter("value", "string")}
_PLAIN = {**converter("key", "string"), **converter("value", "json", schemas_enable=False)}
_WITH_SCHEMAS = {**converter("key", "string"), **converter("value", "json")}
_PERSON = struct(of("string", "name"), of("int32", "age", optional=False), of("int64", "born"))
_NAMED = struct(of("string", "name"), of("string", "nobody"))
_NESTED = struct(of("string", "a.b"), struct(of("string", "b"), field="a"))


def _dead(name: str, records: tuple[Record, ...], config: Mapping[str, str], good: int = 1, **rest: Any) -> Case:
    """Return a case that ends with good records: a side is complete when those are written."""
    config = {**_STRINGS, **DEAD_LETTERS, **config}
    return Case(f"dead-{name}", "sink", config, writes=("{name}-dead",), records=records, expected=good, **rest)


def _transformed(name: str, records: tuple[Record, ...], good: int = 1, **chain: Mapping[str, str]) -> Case:
    return _dead(name, records, {**_WITH_SCHEMAS, **transforms(**chain)}, good)


_BOB = {"name": "Bob", "age": 7, "born": 5}
_HEADERS = (("h", b'{"a":1}'), ("bad", b"{"), ("h", None))
_MIXED = (Record(b"k", b"{", (("h", b"1"), ("h", None))), Record(None, b"]"), Record(b"k", b"2"))
_NUMBERS = {"Integer": 4, "Boolean": 1}

ERRORS = (
    _dead("json", texts("{broken", "nul", "", "[1", '{"a":1}'), _PLAIN, good=2),
    _dead(
        "json-schema",
        (
            *texts('{"a":1}', "1", '{"schema":{"type":"int32"},"payload":1,"more":2}'),
            *texts('{"schema":{},"payload":1}', '{"schema":{"type":"int3"},"payload":1}'),
            *texts('{"schema":{"type":"array"},"payload":[]}', '{"schema":{"type":"int32"},"payload":null}'),
            *texts('{"schema":{"type":"map","keys":{"type":"string"}},"payload":{}}'),
            *texts('{"schema":{"type":"struct","fields":[{"type":"int32"}]},"payload":{}}'),
            *texts('{"schema":{"type":"struct","fields":1},"payload":{}}'),
            *structs(_PERSON, [1], {"name": "x"}, {"name": "x", "age": None}),
            *structs({"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"}, "AQ=="),
            *structs({"type": "int32", "name": "org.apache.kafka.connect.data.Date"}, "x"),
            *structs(_PERSON, _BOB),
        ),
        _WITH_SCHEMAS,
    ),
    _dead(
        "key",
        (Record(b"{", b"v", timestamp=WHEN), Record(b"1", b"w", timestamp=WHEN)),
        converter("key", "json", schemas_enable=False),
    ),
    _dead(
        "key-and-value",
        (Record(b"{", b"{", timestamp=WHEN), Record(b"1", b"2", timestamp=WHEN)),
        {**converter("key", "json", schemas_enable=False), **converter("value", "json", schemas_enable=False)},
    ),
    _dead(
        "header",
        (Record(b"k", b"v", _HEADERS, timestamp=WHEN), Record(b"k", b"w", timestamp=WHEN)),
        converter("header", "json", schemas_enable=False),
    ),
    *(
        _dead(
            kind.lower(),
            texts(b"123", b"\x07" if size == 1 else b"", bytes(size)),
            {"value.converter": f"org.apache.kafka.connect.converters.{kind}Converter"},
        )
        for kind, size in _NUMBERS.items()
    ),
    _dead("not-tolerated", texts("{broken"), {**_PLAIN, "errors.tolerance": "none"}, good=0, fails=True),
    _dead("without-context", _MIXED, {**_PLAIN,
          "errors.deadletterqueue.context.headers.enable": "false"}),
    _dead("null-key-and-value", (Record(None, b"{", timestamp=WHEN), Record(None, None), Record(None, b"1")), _PLAIN,
          good=2),
    _transformed("unknown-field", structs(_PERSON, _BOB) + texts(None),
                 e={"type": "ExtractField$Value", "field": "no"}),
    _transformed("not-a-struct", structs(of("string", "s"), "text") + structs(_PERSON, _BOB),
                 i={"type": "InsertField$Value", "static.field": "f", "static.value": "v"}),
    _transformed("field-there-twice", structs(_PERSON, _BOB) + texts(None),
                 i={"type": "InsertField$Value", "static.field": "name", "static.value": "v"}),
    _transformed("second-of-a-chain", structs(_PERSON, _BOB, {**_BOB, "name": "9"}),
                 h={"type": "HoistField$Key", "field": "key"}, c={"type": "Cast$Value", "spec": "name:int32"}),
    _transformed("cast-out-of-range", structs(_PERSON, {**_BOB, "age": 300}, _BOB), good=2,
                 c={"type": "Cast$Value", "spec": "age:int8"}, d={"type": "Cast$Value", "spec": "name:boolean"}),
    _transformed("no-time", structs(_PERSON, _BOB) + texts(None),
                 t={"type": "TimestampConverter$Value", "target.type": "unix", "field": "name", "format": "yyyy"}),
    _transformed("flattened", structs(_NESTED, {"a.b": "1", "a": {"b": "2"}}) + texts(None),
                 f={"type": "Flatten$Value"}),
    _transformed("value-to-key", structs(_PERSON, _BOB) + structs(_NAMED, {"name": "x", "nobody": "y"}),
                 v={"type": "ValueToKey", "fields": "name,nobody"}),
    _transformed("masked", structs(_NESTED, {"a.b": "1", "a": {"b": "2"}}) + texts(None)
                 + structs(struct(of("string", "a")), {"a": "x"}), m={"type": "MaskField$Value", "fields": "a"}),
    _dead(
        "chosen",
        (*texts("1"), Record(b"k", b'{"b":2}', (("marked", b"1"),), timestamp=WHEN), *texts('{"a":1}')),
        {**_PLAIN, **transforms(m={"type": "MaskField$Value", "fields": "a", "predicate": "p", "negate": "true"}),
         **predicates(p={"type": "HasHeaderKey", "name": "marked"})},
        good=2,
    ),
    _dead("partition", tuple(Record(b"k", value, partition=1, timestamp=WHEN) for value in (b"{", b"1")), _PLAIN,
          partitions=2),
)  # fmt: skip

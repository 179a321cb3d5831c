"""Comparisons of whole connectors with transformations of every kind; the fuzz tests compare single records."""

from __future__ import annotations

from tests.peer.case import Case, converter, objects, of, predicates, struct, structs, texts, transforms
from tests.peer.topic import Record

_STRINGS = {**converter("key", "string"), **converter("value", "string")}
_SCHEMALESS = {**converter("key", "string"), **converter("value", "json", schemas_enable=False)}
_KEYS = converter("key", "string")
_TOLERANT = {"errors.tolerance": "all"}
_HOIST = {"type": "HoistField$Value", "field": "line"}
_LINES = b"1\n22\nthree\n4\n"
_TIMES = b"2017-01-03\n1969-12-31\n2020-02-29\n"
_ORDER = struct(
    of("string", "id", optional=False),
    of("int32", "count"),
    of("int64", "when", name="org.apache.kafka.connect.data.Timestamp", version=1),
    struct(of("string", "street"), of("string", "city"), field="home", optional=True),
    of("string", "note", default="none"),
)
_ORDERS = structs(
    _ORDER,
    {"id": "a", "count": 1, "when": 1483425001864, "home": {"street": "s", "city": "c"}, "note": "n"},
    {"id": "b", "count": None, "when": None, "home": None, "note": None},
    {"id": "", "count": -7, "when": 0, "home": {"street": None, "city": "\u00e9"}},
)
_HEADED = (
    Record(b"k", b"one", (("a", b"1"), ("b", b"x"), ("a", b"[1]")), timestamp=1),
    Record(b"k", b"two", (), timestamp=2),
    Record(None, b"three", (("c", None),), timestamp=3),
)

SOURCES = (
    Case("chain-long", "source", transforms(
        hoist=_HOIST,
        time={"type": "TimestampConverter$Value", "field": "line", "target.type": "Timestamp", "format": "yyyy-MM-dd"},
        outer={"type": "HoistField$Value", "field": "outer"},
        flat={"type": "Flatten$Value", "delimiter": "-"},
        text={"type": "InsertField$Value", "static.field": "n", "static.value": "7"},
        number={"type": "Cast$Value", "spec": "n:int16"},
        header={"type": "HeaderFrom$Value", "fields": "n", "headers": "n", "operation": "copy"},
        more={"type": "InsertHeader", "header": "m", "value.literal": "[1,2]"},
        key={"type": "ValueToKey", "fields": "n,outer-line"},
        half={"type": "ReplaceField$Key", "exclude": "n", "renames": "outer-line:when"},
        whole={"type": "ExtractField$Key", "field": "when"},
        named={"type": "SetSchemaMetadata$Value", "schema.name": "a.Line", "schema.version": "3"},
    ), text=_TIMES),
    Case("chain-cast-fails", "source", transforms(c={"type": "Cast$Value", "spec": "int8"}), text=_LINES, expected=2,
         fails=True),
    Case("chain-cast-tolerated", "source", {**_TOLERANT, **transforms(c={"type": "Cast$Value", "spec": "int8"})},
         text=_LINES, expected=3),
    Case("chain-headers-as-text", "source", {
        **_STRINGS, **converter("header", "string"), **transforms(
            a={"type": "InsertHeader", "header": "a", "value.literal": "1.50"},
            b={"type": "InsertHeader", "header": "b", "value.literal": "{x:1}"})}),
    Case("chain-headers-as-json", "source", {
        **_STRINGS, **converter("header", "json"), **transforms(
            a={"type": "InsertHeader", "header": "a", "value.literal": "true"},
            b={"type": "InsertHeader", "header": "b", "value.literal": "2017-01-03"})}),
)  # fmt: skip

SINKS = (
    Case("chain-long-orders", "sink", {**_KEYS, **transforms(
        fewer={"type": "ReplaceField$Value", "exclude": "none", "replace.null.with.default": "false"},
        flat={"type": "Flatten$Value", "delimiter": "_"},
        days={"type": "TimestampConverter$Value", "field": "when", "target.type": "string",
              "format": "EEE yyyy-MM-dd HH:mm:ss.SSS"},
        cast={"type": "Cast$Value", "spec": "count:float64"},
        key={"type": "ValueToKey", "fields": "id"})}, records=_ORDERS),
    Case("chain-routed-by-time", "sink", {**_STRINGS, **transforms(
        r={"type": "TimestampRouter", "topic.format": "t-${timestamp}", "timestamp.format": "yyyyMMddHH"},
        h=_HOIST, i={"type": "InsertField$Value", "topic.field": "topic"})}, records=texts("a", "b")),
    Case("chain-filters-headed", "sink", {**_STRINGS, **transforms(f={"type": "Filter", "predicate": "p"}),
         **predicates(p={"type": "HasHeaderKey", "name": "a"})}, records=_HEADED, expected=2),
    Case("chain-filters-tombstones", "sink", {**_STRINGS, **transforms(f={"type": "Filter", "predicate": "p"}),
         **predicates(p={"type": "RecordIsTombstone"})}, records=texts("a", None, "b", None), expected=2),
    Case("chain-fails-after-some", "sink", {**_SCHEMALESS, **transforms(c={"type": "Cast$Value", "spec": "int8"}),
         "consumer.override.max.poll.records": "1"},
         records=objects("1", "2", "three", "4"), expected=2, fails=True),
    Case("chain-nothing-tolerated-but-logged", "sink", {**_SCHEMALESS, "errors.log.enable": "true",
         "errors.log.include.messages": "true", "errors.tolerance": "all"},
         records=texts("1", "{", "2"), expected=2),
)  # fmt: skip

CHAINED_CASES = (*SOURCES, *SINKS)

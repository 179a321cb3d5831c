"""The comparisons, as data. A new plugin only adds rows here."""

from __future__ import annotations

from tests.peer.case import WHEN, Case, converter, objects, of, predicates, struct, structs, texts, transforms
from tests.peer.chained_cases import CHAINED_CASES
from tests.peer.distributed import GROUP, cluster_settings
from tests.peer.error_cases import ERRORS
from tests.peer.topic import Record

# Worker settings, by the name a case uses.
WORKERS = {
    "json": {},
    "plain": {
        **converter("key", "string"),
        **converter("value", "json", schemas_enable=False),
        **converter("header", "simple"),
    },
    "cluster": cluster_settings(GROUP),
}

_STRINGS = {**converter("key", "string"), **converter("value", "string")}
_SCHEMALESS = converter("value", "json", schemas_enable=False)
_HOIST = {"type": "HoistField$Value", "field": "line"}
_STATIC = {"type": "InsertField$Value", "static.field": "source", "static.value": "a file"}
_MASK = {"type": "MaskField$Value", "fields": "source"}
_EXTRACT = {"type": "ExtractField$Value", "field": "line"}
_ROUTE = {"type": "RegexRouter", "regex": "(.*)-in", "replacement": "$1-out"}
_PERSON = struct(of("string", "name"), of("int32", "age"), of("string", "line"))
_PERSONS = structs(
    _PERSON,
    {"name": "Ada", "age": 36, "line": "first"},
    {"name": "Grace", "age": None, "line": "second"},
    {"name": "Åsa 🦀", "age": -1, "line": None},
)
_NUMBERS = struct(
    of("int8", "i8"), of("int16", "i16"), of("int32", "i32"), of("int64", "i64"),
    of("float", "f32"), of("double", "f64"), of("boolean", "b"), of("string", "s"),
)  # fmt: skip
_NUMBER_RECORDS = structs(
    _NUMBERS,
    {"i8": 1, "i16": 2, "i32": 3, "i64": 4, "f32": 1.5, "f64": 0.1, "b": True, "s": ""},
    {"i8": -128, "i16": -32768, "i32": -2147483648, "i64": -9223372036854775808, "f32": 1e10, "f64": 1e-7,
     "b": False, "s": "x"},
    {"i8": 127, "i16": 32767, "i32": 2147483647, "i64": 9223372036854775807, "f32": 3.4028235e38, "f64": 1e21,
     "b": None, "s": None},
    {"i8": 0, "i16": 0, "i32": 0, "i64": 0, "f32": 0.1, "f64": 123456789.125, "b": None, "s": "a,b={}"},
    {"i8": 0, "i16": 0, "i32": 0, "i64": 0, "f32": 16777216, "f64": 1e7, "b": None, "s": None},
)  # fmt: skip
_NESTED = struct(
    {"type": "array", "items": {"type": "int32", "optional": False}, "optional": True, "field": "list"},
    {"type": "map", "keys": {"type": "string", "optional": False},
     "values": {"type": "int32", "optional": False}, "optional": True, "field": "map"},
    struct(of("string", "line"), field="inner"),
)  # fmt: skip
_NESTED_RECORDS = structs(
    _NESTED,
    {"list": [1, 2, 3], "map": {"a": 1}, "inner": {"line": "deep"}},
    {"list": [], "map": {}, "inner": {"line": None}},
    {"list": None, "map": None, "inner": {"line": "x"}},
)
_LOGICAL = struct(
    of("int32", "date", name="org.apache.kafka.connect.data.Date", version=1),
    of("int32", "time", name="org.apache.kafka.connect.data.Time", version=1),
    of("int64", "moment", name="org.apache.kafka.connect.data.Timestamp", version=1),
    of("bytes", "price", name="org.apache.kafka.connect.data.Decimal", version=1, parameters={"scale": "2"}),
)
_LOGICAL_RECORDS = structs(
    _LOGICAL,
    {"date": 19000, "time": 3600123, "moment": WHEN, "price": "AJY="},
    {"date": 0, "time": 0, "moment": 0, "price": "AA=="},
    {"date": None, "time": None, "moment": None, "price": "/w=="},
)
_DEFAULTS = struct(
    {"type": "string", "optional": True, "default": "nobody", "field": "name"},
    {"type": "int32", "optional": True, "default": 7, "field": "age"},
)
_DEFAULT_RECORDS = structs(_DEFAULTS, {"name": None, "age": None}, {"name": "Ada", "age": 36}, {"age": 1})
_HEADED = (
    Record(b"a", b"with", (("marked", b"yes"), ("n", b"12")), timestamp=WHEN),
    Record(b"b", b"without", (), timestamp=WHEN),
    Record(b"c", b"twice", (("marked", b"1.5"), ("marked", b"[1,2]")), timestamp=WHEN),
    Record(b"d", b"null header", (("marked", None),), timestamp=WHEN),
    Record(b"e", b"other", (("other", b"{}"),), timestamp=WHEN),
)
_TOMBSTONES = texts("one", None, "two", None)
_TEXTS = texts("one", "", None, "zwei ß", "🦀", "tab\there", " spaces ", "null")
_UNTIDY = b"\n\nfirst after empty\r\nwindows\r\nold mac\rnext\n\ttab\n \nno end"
_UNICODE = "ASCII\nÅÄÖ ß €\n🦀 crab\n\u2028separator\u0085next\n\ufeffbom\n\x00nul\x1f\n".encode()
_BROKEN = b"cut \xc3\nlone \x80\nlong \xf0\x9f\nsurrogate \xed\xa0\x80\nover \xc0\xaf\nend \xff\n"
_LONG = b"".join(b"x" * length + b"\n" for length in (1022, 1023, 1024, 1025, 2048, 9000, 70000, 1))

SOURCES = (
    Case("source-string", "source", _STRINGS),
    Case("source-plain-of-worker", "source", worker="plain"),
    Case("source-json-of-worker", "source"),
    Case("source-json-schemaless", "source", _SCHEMALESS),
    Case("source-connector-before-worker", "source", converter("value", "json"), worker="plain"),
    Case("source-tasks-and-batches", "source", {**_STRINGS, "batch.size": "99", "tasks.max": "3"}),
    Case("source-untidy-lines", "source", _STRINGS, text=_UNTIDY, expected=8),
    Case("source-unicode", "source", _STRINGS, text=_UNICODE),
    Case("source-unicode-json", "source", text=_UNICODE),
    Case("source-broken-utf8", "source", _STRINGS, text=_BROKEN),
    Case("source-long-lines", "source", _STRINGS, text=_LONG),
    Case("source-hoist", "source", transforms(h=_HOIST)),
    Case("source-hoist-schemaless", "source", {**_SCHEMALESS, **transforms(h=_HOIST)}),
    Case("source-hoist-string", "source", {**_STRINGS, **transforms(h=_HOIST)}),
    Case("source-hoist-key", "source", transforms(h={"type": "HoistField$Key", "field": "k"})),
    Case("source-chain", "source", transforms(h=_HOIST, i=_STATIC, m=_MASK)),
    Case("source-chain-schemaless", "source", {**_SCHEMALESS, **transforms(h=_HOIST, i=_STATIC, m=_MASK)}),
    Case(
        "source-insert-required-fields",
        "source",
        transforms(
            h=_HOIST,
            i={**_STATIC, "static.field": "origin!", "topic.field": "topic!", "partition.field": "part?"},
        ),
    ),
    Case(
        "source-mask-with-replacement",
        "source",
        transforms(h=_HOIST, m={"type": "MaskField$Value", "fields": "line", "replacement": "secret"}),
    ),
    Case("source-there-and-back", "source", {**_STRINGS, **transforms(h=_HOIST, e=_EXTRACT)}),
    Case(
        "source-nested-path",
        "source",
        transforms(
            h=_HOIST,
            o={"type": "HoistField$Value", "field": "outer"},
            e={"type": "ExtractField$Value", "field": "outer.line", "field.syntax.version": "V2"},
        ),
    ),
    Case("source-route", "source", {**transforms(r=_ROUTE), "topic": "{name}-in"}, writes=("{name}-out",)),
    Case("source-route-no-match", "source", transforms(r={**_ROUTE, "regex": "other"})),
    Case(
        "source-predicate",
        "source",
        {
            **transforms(
                h=_HOIST,
                i={**_STATIC, "predicate": "p"},
                m={**_MASK, "fields": "line", "predicate": "p", "negate": "true"},
            ),
            **predicates(p={"type": "TopicNameMatches", "pattern": "source-pred.*"}),
        },
    ),
    Case(
        "source-predicate-negated",
        "source",
        {
            **transforms(h=_HOIST, i={**_STATIC, "predicate": "p", "negate": "true"}),
            **predicates(p={"type": "TopicNameMatches", "pattern": "source-pred.*"}),
        },
    ),
    Case(
        "source-topic-created",
        "source",
        {
            **_STRINGS,
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
        },
    ),
    Case(
        "source-topic-of-group",
        "source",
        {
            **transforms(k={"type": "HoistField$Key", "field": "k"}),
            "topic.creation.groups": "other,parted",
            "topic.creation.other.include": "none-.*",
            "topic.creation.other.partitions": "9",
            "topic.creation.parted.include": r"x,source-topic-\p{Lower}+-(?=g)\w+",
            "topic.creation.parted.exclude": ".*-excluded",
            "topic.creation.parted.partitions": "5",
            "topic.creation.parted.cleanup.policy": "compact",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "-1",
        },
    ),
    Case(
        "source-topic-not-created-fails",
        "source",
        {
            **_STRINGS,
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "3",
        },
        expected=0,
        fails=True,
    ),
    Case("source-bytes-fails", "source", converter("value", "bytes"), expected=0, fails=True),
    Case("source-insert-into-string-fails", "source", transforms(i=_STATIC), expected=0, fails=True),
    Case(
        "source-insert-offset-fails",
        "source",
        transforms(h=_HOIST, i={"type": "InsertField$Value", "offset.field": "o"}),
        expected=0,
        fails=True,
    ),
)  # fmt: skip

SINKS = (
    Case("sink-string", "sink", _STRINGS, records=_TEXTS),
    Case("sink-plain-of-worker", "sink", worker="plain", records=objects({"a": 1}, "text", None)),
    Case("sink-bytes-key", "sink", {**converter("key", "bytes"), **converter("value", "string")},
         records=_TEXTS),
    Case("sink-bytes-null", "sink", {**converter("key", "bytes"), **converter("value", "bytes")},
         records=texts(None, None, None)),
    Case("sink-latin1", "sink", {**_STRINGS, "value.converter.encoding": "ISO-8859-1"}, records=_TEXTS),
    Case("sink-json-scalars", "sink", {**_STRINGS, **_SCHEMALESS},
         records=objects("text", 1, -2.5, True, False, None, [1, "a", None], 12345678901234)),
    Case("sink-json-one-field", "sink", {**_STRINGS, **_SCHEMALESS},
         records=objects({"a": 1}, {"a": None}, {"a": [1, {"b": 2}]}, {})),
    Case("sink-json-many-fields", "sink", {**_STRINGS, **_SCHEMALESS},
         records=objects({"name": "Ada", "age": 36, "zebra": 1, "id": 7, "line": "x", "Aa": 1, "BB": 2},
                          {f"field{number}": number for number in range(30)})),
    Case("sink-json-large-map", "sink", {**converter("key", "string")}, records=structs(
        struct(*(
            {"type": "map", "keys": {"type": kind, "optional": False}, "field": kind,
             "values": {"type": "int32", "optional": False}, "optional": True}
            for kind in ("string", "int32", "int64", "double", "boolean"))),
        {"string": {f"key{number}": number for number in range(20)},
         "int32": [[number * 7919 - 60000, number] for number in range(20)],
         "int64": [[number * -1234567890123, number] for number in range(15)],
         "double": [[number / 4, number] for number in range(15)],
         "boolean": [[True, 1], [False, 2]]})),
    Case("sink-json-of-worker", "sink", {**converter("key", "string")}, records=_PERSONS),
    Case("sink-json-numbers", "sink", {**converter("key", "string")}, records=_NUMBER_RECORDS),
    Case("sink-json-nested", "sink", {**converter("key", "string")}, records=_NESTED_RECORDS),
    Case("sink-json-logical", "sink", {**converter("key", "string")}, records=_LOGICAL_RECORDS),
    Case("sink-json-defaults", "sink", {**converter("key", "string")}, records=_DEFAULT_RECORDS),
    Case("sink-json-defaults-kept-null", "sink",
         {**converter("key", "string"), **converter("value", "json", replace_null_with_default=False)},
         records=_DEFAULT_RECORDS),
    Case("sink-extract", "sink", {**converter("key", "string"), **transforms(e=_EXTRACT)}, records=_PERSONS),
    Case("sink-extract-schemaless", "sink", {**_STRINGS, **_SCHEMALESS, **transforms(e=_EXTRACT)},
         records=objects({"line": "a", "n": 1}, {"n": 1}, {"line": None}, {"line": {"deep": True}})),
    Case("sink-extract-null", "sink", {**_STRINGS, **_SCHEMALESS, **transforms(e=_EXTRACT)},
         records=(*objects({"line": "a"}), *_TOMBSTONES[1:2], *objects({"line": "b"}))),
    Case("sink-insert-everything", "sink",
         {**_STRINGS, **_SCHEMALESS, **transforms(
             t={"type": "InsertField$Value", "topic.field": "f"},
             a={"type": "ExtractField$Value", "field": "f"},
             h=_HOIST, o={"type": "InsertField$Value", "offset.field": "offset!"})},
         records=objects({"n": 1}, {"n": 2}, {"n": 3})),
    Case("sink-insert-and-mask-many", "sink",
         {**_STRINGS, **_SCHEMALESS, **transforms(
             i={**_STATIC, "topic.field": "topic", "timestamp.field": "when"},
             o={**_STATIC, "static.field": "alpha"},
             m={"type": "MaskField$Value", "fields": "zebra,missing,when", "replacement": "7"},
             d={"type": "MaskField$Value", "fields": "when,other,deep"})},
         records=objects({}, {"n": 1}, {"zebra": 1.5, "id": 7}, {"a": 1, "b": 2, "c": 3},
                          {"deep": {"x": 1, "y": [{"line": 1, "field": 2, "name": 3}], "z": None}, "other": "o"},
                          {f"field{number}": number for number in range(11)})),
    Case("sink-insert-with-schema", "sink",
         {**converter("key", "string"), **transforms(i={
             **_STATIC, "topic.field": "topic", "partition.field": "partition", "offset.field": "offset!",
             "timestamp.field": "when"})},
         records=_PERSONS),
    Case("sink-mask", "sink", {**converter("key", "string"), **transforms(
        m={"type": "MaskField$Value", "fields": "i8,i16,i32,i64,f32,f64,b,s"})}, records=_NUMBER_RECORDS),
    Case("sink-mask-number", "sink", {**converter("key", "string"), **transforms(
        m={"type": "MaskField$Value", "fields": "i8,i16,i32,i64,f32,f64,s", "replacement": "42"})},
        records=_NUMBER_RECORDS),
    Case("sink-mask-logical", "sink", {**converter("key", "string"), **transforms(
        m={"type": "MaskField$Value", "fields": "date,time,moment"})}, records=_LOGICAL_RECORDS),
    Case("sink-hoist", "sink", {**_STRINGS, **transforms(h=_HOIST)}, records=_TEXTS),
    Case("sink-hoist-key", "sink", {**_STRINGS, **transforms(
        h={"type": "HoistField$Key", "field": "k"}, i={"type": "InsertField$Key", "topic.field": "t"})},
        records=_TEXTS),
    Case("sink-header-predicate", "sink", {**_STRINGS, **transforms(h={**_HOIST, "predicate": "marked"}),
         **predicates(marked={"type": "HasHeaderKey", "name": "marked"})}, records=_HEADED, worker="plain"),
    Case("sink-headers-as-json", "sink", {**_STRINGS, **converter("header", "json", schemas_enable=False),
         **transforms(h={**_HOIST, "predicate": "marked"}),
         **predicates(marked={"type": "HasHeaderKey", "name": "n"})},
         records=(Record(b"k", b"v", (("n", b'{"a":1}'),)), Record(b"k", b"w"))),
    Case("sink-tombstone-predicate", "sink",
         {**_STRINGS, **transforms(h={**_HOIST, "predicate": "gone", "negate": "true"}),
          **predicates(gone={"type": "RecordIsTombstone"})}, records=_TOMBSTONES),
    Case("sink-route", "sink", {**_STRINGS, **transforms(
        r={**_ROUTE, "regex": ".*", "replacement": "new"}, h=_HOIST,
        i={"type": "InsertField$Value", "topic.field": "topic"})}, records=texts("a", "b")),
    Case("sink-topics-regex", "sink", {**_STRINGS, "topics.regex": "{name}-[0-9]", "topics": ""},
         reads=("{name}-1",), records=_TEXTS),
    Case("sink-two-topics", "sink", {**_STRINGS, "topics": "{name}-1,{name}-2"},
         reads=("{name}-1", "{name}-2"), records=_TEXTS, expected=2 * len(_TEXTS), ordered=False),
    Case("sink-topics-java-regex", "sink",
         {**_STRINGS, "topics.regex": r"(?i){name}-\d+(?<!3)|\Qnone\E", "topics": ""},
         reads=("{name}-1", "{name}-X", "{name}-22", "{name}-3"), ordered=False, expected=8,
         records=texts("one", "two", "three", "four")),
    Case("sink-three-partitions", "sink", {**_STRINGS, "tasks.max": "2"}, partitions=3, ordered=False,
         records=tuple(Record(None, b"value %d" % n, partition=n % 3) for n in range(60))),
    Case("sink-bad-json-tolerated", "sink", {**_STRINGS, **_SCHEMALESS, "errors.tolerance": "all"},
         records=texts('{"a":1}', "{broken", '"ok"', "", "nul", "1 2"), expected=4),
    Case("sink-bad-json-fails", "sink", {**_STRINGS, **_SCHEMALESS}, records=texts("{broken"), expected=0,
         fails=True),
    Case("sink-no-envelope-fails", "sink", converter("key", "string"), records=texts('{"a":1}'), expected=0,
         fails=True),
    Case("sink-unknown-field-fails", "sink", {**converter("key", "string"), **transforms(
        e={"type": "ExtractField$Value", "field": "nope"})}, records=_PERSONS, expected=0, fails=True),
)  # fmt: skip

PIPELINES = (
    Case("pipe-json", "both", {}),
    Case("pipe-plain", "both", worker="plain", text=_UNICODE),
    Case(
        "pipe-transformed",
        "both",
        transforms(h=_HOIST, i=_STATIC, m=_MASK),
        sink_config=transforms(e=_EXTRACT),
    ),
)

CASES = (*SOURCES, *SINKS, *PIPELINES, *ERRORS, *CHAINED_CASES)

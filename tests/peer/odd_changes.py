"""Odd configurations to validate, as data: frequent mistakes and unlikely ones."""

from __future__ import annotations

from typing import Any

_CONNECT = "org.apache.kafka.connect."
_SMT = _CONNECT + "transforms."
_FILTER = {"transforms.a.type": f"{_SMT}Filter"}
_ONE_FILTER = {"transforms": "a", **_FILTER}
_TOMBSTONES = {"predicates": "p", "predicates.p.type": f"{_SMT}predicates.RecordIsTombstone"}
_REPLICAS = "topic.creation.default.replication.factor"
_CREATION = {"topic.creation.default.partitions": "1", _REPLICAS: "1", "topic.creation.groups": "g"}
Change = dict[str, Any]
"""Keys with their new values; `...` removes a key."""


def _smt(kind: str, **settings: str | None) -> Change:
    """Return the keys of one transformation; underscores stand for dots."""
    return {
        "transforms": "t",
        "transforms.t.type": _SMT + kind,
        **{f"transforms.t.{name.replace('_', '.')}": text for name, text in settings.items()},
    }


def _matching(pattern: str) -> Change:
    return {
        "predicates": "p",
        "predicates.p.type": f"{_SMT}predicates.TopicNameMatches",
        "predicates.p.pattern": pattern,
    }


def _of(name: str, *values: Any) -> tuple[Change, ...]:
    return tuple({name: value} for value in values)


def _converters(role: str) -> tuple[Change, ...]:
    key = f"{role}.converter"
    json = {key: f"{_CONNECT}json.JsonConverter"}
    odd = {f"{key}.converter.type": "zz", f"{key}.encoding": "", f"{key}.schemas.cache.size": "-1"}
    return (
        *({key: f"{_CONNECT}converters.{kind}Converter", **odd} for kind in ("Long", "Float", "ByteArray")),
        *({key: f"{_CONNECT}storage.{kind}Converter", **odd} for kind in ("String", "SimpleHeader")),
        {**json, **odd, f"{key}.decimal.format": "numeric", f"{key}.converter.type": "value"},
        *({**json, f"{key}.schemas.cache.size": size} for size in ("1.5", "")),
        {**json, f"{key}.schemas.enable": "TRUE ", f"{key}.replace.null.with.default": "nah"},
        *({**json, f"{key}.schema.content": text} for text in ('{"type":"int32"}', " ", "nope")),
        *_of(key, "JsonConverter", "json", f"{_SMT}Filter", "x y"),
    )


ODD_SOURCES: dict[str, tuple[Change, ...]] = {
    "odd-aliases": (
        {"transforms": "a b", "transforms.a b.type": f"{_SMT}Filter"},
        {"transforms": "a.b", "transforms.a.b.type": f"{_SMT}Filter"},
        {"transforms": "A,a", "transforms.A.type": f"{_SMT}Filter", **_FILTER},
        *({"transforms": text, **_FILTER} for text in (",a", "a,", "a,,b", ["a"], 5)),
        {"transforms": "\xfc", "transforms.\xfc.type": f"{_SMT}Filter"},
        {"transforms": "type", "transforms.type.type": f"{_SMT}Filter"},
        {"transforms": True, "transforms.true.type": f"{_SMT}Filter"},
        *({**_ONE_FILTER, **_TOMBSTONES, "transforms.a.predicate": text} for text in ("  ", "P", "p,q")),
        {**_ONE_FILTER, **_TOMBSTONES, "transforms.a.predicate": "p", "transforms.a.negate": "TRUE"},
        {**_ONE_FILTER, "transforms.a.negate": "1"},
        {**_ONE_FILTER, "predicates": "p"},
        {**_TOMBSTONES, "predicates.p.name": "x"},
        *(_matching(text) for text in ("", " ", "(?<a>x)\\k<a>", "[", "*", "a{2,1}", "\\p{IsNope}", "\\", "(?x")),
        *(_matching(text) for text in ("a++b*+(?>c)", "[a-z&&[^bc]]")),
        *(_smt(kind) for kind in ("Nope", "", "Cast")),
    ),
    "odd-transformations": (
        *(_smt("Cast$Value", spec=text) for text in (
            "a:int8,a:int16", " a : int8 ", "a:INT8", "string,", "a", "a:", "a:int8:b", "a:array", "a:Date", ",",
            ":int8", "a:int8,,b:int8", "  ")),
        _smt("Cast$Key", spec="int8", replace_null_with_default="x"),
        *(_smt("DropHeaders", headers=text) for text in ("", " ", "a,,b", "a,a", ",")),
        *(_smt("ExtractField$Value", field=text, field_syntax_version="V2") for text in (
            "", "`a", "a`", "`a``b`", "`a`b", "``", ".", "a.", "a..b", "\\`a", "`a\\``.b")),
        *(_smt("ExtractField$Value", field="a", field_syntax_version=text) for text in ("v2", "V1 ", "", "2")),
        *(_smt("Flatten$Value", delimiter=text) for text in ("", " ", "..", None)),
        *(_smt("HeaderFrom$Value", fields="a", headers="b", operation=text) for text in ("MOVE", "", " move")),
        *(_smt("HeaderFrom$Value", fields=fields, headers=headers, operation="move") for fields, headers in (
            ("", ""), ("a,a", "b,c"), ("a", "b,"))),
        _smt("InsertField$Value", static_field="a"),
        _smt("InsertField$Value", static_value="a"),
        *(_smt("InsertField$Value", topic_field=text) for text in ("", "!", "a!!", "a?!", " a ")),
        _smt("InsertField$Key", offset_field="o"),
        *(_smt("InsertHeader", header=name, value_literal="{") for name in ("", " ", "a\nb")),
        *(_smt("MaskField$Value", fields="a,,b", replacement=text) for text in ("", " ", "x")),
        _smt("RegexRouter", regex="a", replacement=""),
        _smt("RegexRouter", regex="a", replacement="$9"),
        *(_smt("ReplaceField$Value", renames=text) for text in ("a:b:c", ":b", "a:", "a:b,a:c", "a:b,c:b", ",")),
        _smt("ReplaceField$Value", whitelist="a", blacklist="b"),
        *(_smt("SetSchemaMetadata$Value", schema_version=text) for text in ("1.0", " 1 ", "99999999999")),
        *(_smt("TimestampConverter$Value", target_type=text) for text in ("UNIX", "date", "", " ")),
        *(_smt("TimestampConverter$Value", target_type="string", format=text) for text in ("", " ", "''", "yyyy[")),
        *(_smt("TimestampConverter$Value", target_type="unix", unix_precision=text) for text in ("", "SECONDS")),
        *(_smt("TimestampRouter", topic_format=text) for text in ("", "${x}", None)),
        *(_smt("ValueToKey", fields=text) for text in (" , ", "a,a", "a,,b")),
    ),
    "odd-converters": (*_converters("key"), *_converters("value"), *_converters("header")),
    "odd-keys": (
        *_of("tasks.max", "1e3", "1_000", "--1", "true", "[]", 1.0, 1.5, 10**30, True),
        *_of("errors.retry.timeout", "-2", "1L", "9223372036854775807", "9223372036854775808", " "),
        *_of("errors.log.enable", "t", "on", True),
        *_of("errors.tolerance", "All ", " none", 5),
        *_of("config.action.reload", "none", "RESTART", "restart "),
        *_of("exactly.once.support", " requested"),
        *_of("transaction.boundary", "poll", "INTERVAL "),
        *_of("offsets.storage.topic", " ", "a b"),
        *_of("topic.creation.groups", "default", "a.b", " a , b ", "a,"),
        *({"topic.creation.default.partitions": count, _REPLICAS: replicas} for count, replicas in (
            ("-1", "-1"), ("-2", "1"), ("1", "-2"), ("1", "32768"), ("2147483648", "1"), ("", " "))),
        *({**_CREATION, f"topic.creation.{key}": value} for key, value in (
            ("g.include", ""), ("g.include", "["), ("g.include", "a,,b"), ("G.include", "a"), ("g.exclude", "["))),
        {**_CREATION, "topic.creation.g.include": "a", "topic.creation.g.partitions": "0"},
        {**_CREATION, "topic.creation.g.include": "a", "topic.creation.g.cleanup.policy": "nope"},
        *_of("topic", "a b", ".", 5, True),
        *_of("batch.size", "0", "2147483648", 7),
        *_of("file", 5, None),
        *_of("name", "a/b", 5, ...),
        *_of("connector.class", "FileStream", "filestreamsource", "FileStreamSink", ..., 5),
        {"": "x"},
        {" ": "x", "tasks.max ": "x"},
    ),
    "odd-overrides": (
        *_of("producer.override.acks", "2", "ALL", "-1"),
        *({f"producer.override.{key}": text} for key, text in (
            ("compression.type", "ZSTD"), ("compression.gzip.level", "99"), ("bootstrap.servers", "nope"),
            ("batch.size", "-1"), ("security.protocol", "ssl"), ("security.protocol", "nope"),
            ("delivery.timeout.ms", "1"), ("transactional.id", "x"), ("max.request.size", ""),
            ("buffer.memory", "1.5"), ("metric.reporters", "x"), ("enable.metrics.push", "maybe"), ("client.id", ""),
            ("send.buffer.bytes", "-2"))),
    ),
}  # fmt: skip
ODD_SINKS: dict[str, tuple[Change, ...]] = {
    "odd-keys": (
        *_of("topics", "a b", ",", "a,", " a ", "x" * 300, None),
        *({"topics": ..., "topics.regex": text} for text in ("(", "", None, "*", "\\", "[a-z&&[^b]]", "(?i)A")),
        {"topics": ...},
        {"topics": "", "topics.regex": ""},
        {"topics": "", "topics.regex": "a"},
        *_of("errors.deadletterqueue.topic.name", "t", "a b", ""),
        *_of("errors.deadletterqueue.topic.replication.factor", "0", "-1", "-2", "32768", "1.0"),
        *_of("errors.deadletterqueue.context.headers.enable", "TRUE", "yes"),
        *({f"consumer.override.{key}": text} for key, text in (
            ("max.poll.records", "0"), ("auto.offset.reset", "none"), ("auto.offset.reset", "by_duration:PT1H"),
            ("auto.offset.reset", "by_duration:x"), ("group.id", ""), ("session.timeout.ms", "-1"),
            ("enable.auto.commit", "true"), ("group.instance.id", ""), ("group.protocol", "x"),
            ("partition.assignment.strategy", "nope"), ("check.crcs", "1"), ("exclude.internal.topics", "x"))),
        {"connector.class": "FileStreamSource"},
        {"topic.creation.default.partitions": "x"},
    ),
}  # fmt: skip

"""The comparisons of validations, as data: by group, changes to a source's or a sink's configuration."""

from __future__ import annotations

from tests.peer.connector_step import validate
from tests.peer.odd_changes import ODD_SINKS, ODD_SOURCES, Change
from tests.peer.rest_case import RestCase

_SMT = "org.apache.kafka.connect.transforms."
_CONVERTER = "org.apache.kafka.connect."


def _one(alias_list: str, class_name: str, settings: Change) -> Change:
    """Return a configuration's keys for one transformation or predicate."""
    prefix = f"{alias_list}.x."
    return {alias_list: "x", prefix + "type": _SMT + class_name, **{prefix + key: settings[key] for key in settings}}


_TRANSFORMS: tuple[tuple[str, Change], ...] = (
    ("Cast$Value", {"spec": "a:int32"}),
    ("Cast$Key", {"spec": "a:int99"}),
    ("DropHeaders", {"headers": "a,b"}),
    ("ExtractField$Key", {"field": "a"}),
    ("ExtractField$Value", {"field": "a", "field.syntax.version": "V3"}),
    ("Filter", {}),
    ("Flatten$Key", {"delimiter": "-"}),
    ("Flatten$Value", {}),
    ("HeaderFrom$Key", {"fields": "a", "headers": "b", "operation": "move"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "b", "operation": "zz"}),
    ("HoistField$Key", {"field": "a"}),
    ("HoistField$Value", {"field": ""}),
    ("InsertField$Key", {"static.field": "a", "static.value": "b"}),
    ("InsertField$Value", {"topic.field": "t!", "offset.field": "o?", "partition.field": "p", "timestamp.field": "s"}),
    ("InsertHeader", {"header": "h", "value.literal": "1"}),
    ("MaskField$Key", {"fields": "a"}),
    ("MaskField$Value", {"fields": "a,b", "replacement": "x"}),
    ("RegexRouter", {"regex": "a", "replacement": "b"}),
    ("ReplaceField$Key", {"include": "a"}),
    ("ReplaceField$Value", {"exclude": "a", "renames": "a:b,c"}),
    ("SetSchemaMetadata$Key", {"schema.name": "s"}),
    ("SetSchemaMetadata$Value", {"schema.version": "x"}),
    ("TimestampConverter$Key", {"target.type": "unix"}),
    ("TimestampConverter$Value", {"target.type": "zz", "unix.precision": "zz"}),
    ("TimestampRouter", {"topic.format": "a"}),
    ("ValueToKey", {"fields": "a"}),
)
_PREDICATES: tuple[tuple[str, Change], ...] = (
    ("HasHeaderKey", {"name": "a"}),
    ("RecordIsTombstone", {}),
    ("TopicNameMatches", {"pattern": "a("}),
)
_FILTER = _one("transforms", "Filter", {})
_JSON = {"value.converter": _CONVERTER + "json.JsonConverter"}
_GROUPS = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "2"}
_HOIST = {"transforms": "t", "transforms.t.type": _SMT + "HoistField$Value", "transforms.t.field": "f"}
_TEXTS = {"key.converter": _CONVERTER + "storage.StringConverter"}
_ROUTER = {"transforms.a.type": _SMT + "RegexRouter", "transforms.a.regex": "x", "transforms.a.replacement": "y"}

SOURCE_CHANGES: dict[str, tuple[Change, ...]] = {
    "keys": (
        {},
        {"connector.class": _CONVERTER + "file.FileStreamSourceConnector", "topic": ...},
        {"file": "f", "batch.size": "10", "tasks.max": "2", "errors.tolerance": "all", "offsets.storage.topic": "o",
         "exactly.once.support": "REQUESTED", "transaction.boundary": "Interval",
         "transaction.boundary.interval.ms": "100"},
        {"tasks.max": "-1", "tasks.max.enforce": "x", "errors.retry.timeout": "", "errors.log.enable": "",
         "errors.retry.delay.max.ms": "99999999999999999999", "errors.log.include.messages": "1", "topic": " ",
         "config.action.reload": "", "errors.tolerance": "", "batch.size": "", "exactly.once.support": "",
         "transaction.boundary": "", "transaction.boundary.interval.ms": ""},
        {"tasks.max": " +3 ", "errors.retry.timeout": "-1", "errors.log.enable": " True "},
        *({"tasks.max": number} for number in ("0x10", "2147483648", "\u0663", "1.0")),
        *({"name": name} for name in ("a\tb\x7fc", "  ", 'a"b', None)),
        {"tasks.max": None, "errors.tolerance": None, "transforms": None, "key.converter": None, "unknown.key": None,
         "topic.creation.groups": None, "b.unknown": None, "topic": None, "batch.size": None, "aa": None},
        {f"key.{number}": None for number in range(30)},
        {"transforms": "", "predicates": "", "key.converter": "", "connector.plugin.version": "", "file": ""},
        *({"connector.class": name} for name in (" FileStreamSource ", None, "")),
    ),
    "versions": (
        *({"connector.plugin.version": text} for text in ("latest", "9", "[9,)", "(1,1)", "[1,")),
        # A missing version makes Java fail (500) when it is requested again.
        {"connector.plugin.version": "8", "file": None, "zz": None, "transforms": "a", "tasks.max": "x"},
        *({**_FILTER, "transforms.x.plugin.version": text} for text in ("", "[4,5)", "[4,", "latest", "9")),
        *({**_JSON, "value.converter.plugin.version": text} for text in ("4.3.1", "[1,", "9")),
        *({"value.converter.plugin.version": text} for text in ("4.3.1", "9")),
        {"header.converter.plugin.version": "9"},
        {**_one("predicates", "predicates.RecordIsTombstone", {}), "predicates.x.plugin.version": "9"},
    ),
    "overrides": (
        {"producer.override.linger.ms": " 7 ", "producer.override.acks": " all ", "producer.override.zz": " 1 ",
         "producer.override.retries": "3", "producer.override.interceptor.classes": "",
         "producer.override.sasl.jaas.config": "secret", "producer.override.bootstrap.servers": "a:1, b:2",
         "producer.override.enable.idempotence": "TRUE", "producer.override.ssl.keystore.password": "secret"},
        {"producer.override.linger.ms": "abc"},
        {"producer.override.linger.ms": ""},
        {"producer.override.linger.ms": None},
        {"producer.override.enable.idempotence": "maybe"},
        {"producer.override.partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"},
        {"producer.override.": "1", "consumer.override.max.poll.records": "5", "admin.override.retries": "x"},
        {**_GROUPS, "admin.override.request.timeout.ms": "1000", "producer.override.acks": "1"},
    ),
    "topic-groups": (
        {**_GROUPS, "topic.creation.groups": "a, b", "topic.creation.a.include": "x, y.*",
         "topic.creation.b.cleanup.policy": "compact"},
        {"topic.creation.default.replication.factor": "1"},
        {**_GROUPS, "topic.creation.groups": "a,,b"},
        {"topic.creation.groups": "a,a", "topic.creation.default.replication.factor": "0"},
    ),
    "transformations": tuple(
        change
        for class_name, settings in _TRANSFORMS
        for change in (_one("transforms", class_name, settings), _one("transforms", class_name, {}))
    ),
    "predicates": tuple(
        change
        for class_name, settings in _PREDICATES
        for change in (_one("predicates", f"predicates.{class_name}", given) for given in (settings, {}))
    ),
    "aliases": (
        {"transforms": "a,b", "predicates": "p,q", "transforms.a.type": _SMT + "HoistField$Value",
         "transforms.a.field": "f", "transforms.a.predicate": "p", "transforms.b.type": _SMT + "Filter",
         "transforms.b.predicate": "nope", "transforms.b.negate": "maybe", "transforms.a.unknown": "1",
         "predicates.p.type": _SMT + "predicates.RecordIsTombstone",
         "predicates.q.type": _SMT + "predicates.HasHeaderKey", "predicates.q.name": ""},
        *({"transforms": "a", "transforms.a.type": name, "transforms.a.field": "x"} for name in (
            None, "", "HoistField$Value", _SMT + "HoistField", _SMT + "Cast", _SMT + "predicates.RecordIsTombstone")),
        {"transforms": "a", **_ROUTER, "transforms.a.type": f" {_SMT}RegexRouter "},
        {"transforms": " a , b ", **_ROUTER, "transforms.b.type": _SMT + "Filter"},
        {"transforms": "a,a", **_ROUTER},
        {**_FILTER, "transforms.x.negate": None, "transforms.x.predicate": None},
        *({"predicates": "a", "predicates.a.type": name} for name in (..., _SMT + "Filter", "RecordIsTombstone")),
        {"predicates": "a,a", "predicates.a.type": _SMT + "predicates.RecordIsTombstone"},
    ),
    "converters": (
        *({f"{role}.converter": _CONVERTER + name} for role in ("key", "header") for name in (
            "json.JsonConverter", "storage.StringConverter", "converters.ByteArrayConverter",
            "converters.IntegerConverter", "converters.BooleanConverter", "storage.SimpleHeaderConverter")),
        {**_JSON, "value.converter.schemas.enable": "x", "value.converter.schemas.cache.size": "y",
         "value.converter.decimal.format": "z", "value.converter.converter.type": "w",
         "value.converter.schema.content": "{", "value.converter.zz": "q"},
        {**_JSON, "value.converter.schemas.enable": None},
        {"value.converter": _CONVERTER + "storage.StringConverter", "value.converter.converter.encoding": "nope"},
        {"value.converter.schemas.enable": "x"},
        *({"value.converter": name} for name in (
            " ", f" {_CONVERTER}json.JsonConverter ", "Json", _CONVERTER + "file.FileStreamSinkConnector")),
    ),
}  # fmt: skip
_RANGES = ("[", "(1)", "[2,1]", "a]", "](", "1,2", " a , b ", "[4,5),[4,6)", "[1][2]", "(,5]", "4.3.1")
SOURCE_CHANGES["versions"] = (
    *({**_TEXTS, "key.converter.plugin.version": text} for text in _RANGES),
    *({"key.converter.plugin.version": text, "header.converter": "NoSuch", "header.converter.plugin.version": text}
      for text in _RANGES[:4]),
    *({**_HOIST, "transforms.t.plugin.version": text} for text in _RANGES),
    *({**_HOIST, "transforms.t.negate": "true", "transforms.t.plugin.version": text} for text in _RANGES[:6]),
    *({**_HOIST, "transforms.t.type": "NoSuch", "transforms.t.plugin.version": text} for text in _RANGES[:4]),
    {**_TEXTS, "connector.plugin.version": "a,b", "value.converter.plugin.version": "["},
)  # fmt: skip
"""Versions and version ranges; a missing version of the connector itself is not requested in all forms, since Java
fails on most (500)."""
SINK_CHANGES: dict[str, tuple[Change, ...]] = {
    "keys": (
        {},
        {"file": "f", "tasks.max": "2", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": " d ",
         "errors.deadletterqueue.topic.replication.factor": "x",
         "errors.deadletterqueue.context.headers.enable": "true"},
        *({"topics": ..., "topics.regex": text} for text in (" a.* ", " ", "a(")),
        *({"topics": text} for text in ("a,a,b", "a,,b", "")),
        {"topics": "a,b", "topics.regex": "a.*", "errors.deadletterqueue.topic.name": "a"},
        {"topics": ..., "topics.regex": "a.*", "errors.deadletterqueue.topic.name": "abc"},
    ),
    "overrides": (
        {"consumer.override.max.poll.records": "5", "consumer.override.group.id": "g", "admin.override.retries": "1",
         "consumer.override.auto.offset.reset": "zz", "consumer.override.isolation.level": "read_committed",
         "consumer.override.partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
         "consumer.override.key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
         "producer.override.acks": "1"},
        {"consumer.override.group.protocol": "consumer", "consumer.override.interceptor.classes": "a,b",
         "consumer.override.client.rack": "r", "consumer.override.fetch.min.bytes": " 1 "},
        {"errors.deadletterqueue.topic.name": "d", "producer.override.acks": "1", "admin.override.retries": "3",
         "consumer.override.max.poll.records": "5", "admin.override.x": "y"},
        {"consumer.override.max.poll.records": "5.0"},
    ),
}  # fmt: skip


def _case(plugin: str, group: str, base: Change, changes: tuple[Change, ...]) -> RestCase:
    """Return a case that validates several configurations."""
    changed = [{"name": "c", "connector.class": plugin, **base, **change} for change in changes]
    configs = [{key: value for key, value in config.items() if value is not ...} for config in changed]
    return RestCase(f"{plugin}-{group}", tuple(validate(plugin, each) for each in configs))


_SOURCES, _SINKS = SOURCE_CHANGES | ODD_SOURCES, SINK_CHANGES | ODD_SINKS
VALIDATION_CASES = (
    *(_case("FileStreamSource", group, {"topic": "t"}, changes) for group, changes in _SOURCES.items()),
    *(_case("FileStreamSink", group, {"topics": "t"}, changes) for group, changes in _SINKS.items()),
)

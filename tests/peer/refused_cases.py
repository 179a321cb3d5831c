"""Invalid configurations as data: compares which parts are refused, with which message."""

from __future__ import annotations

from collections.abc import Mapping

from tests.peer.connector_step import refused
from tests.peer.rest_case import RestCase

SOURCE = {"connector.class": "FileStreamSource", "file": "/nonexistent/in.txt", "topic": "refused"}
SINK = {"connector.class": "FileStreamSink", "file": "/dev/null", "topics": "refused"}
_TRANSFORMS = "org.apache.kafka.connect.transforms."
_CREATION = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


def _transform(kind: str, **settings: str) -> dict[str, str]:
    """Return the keys of one transformation; underscores stand for dots."""
    own = {f"transforms.t.{key.replace('_', '.')}": text for key, text in settings.items()}
    return {"transforms": "t", "transforms.t.type": _TRANSFORMS + kind, **own}


_SOURCES: Mapping[str, Mapping[str, str | None]] = {
    "retry-timeout-no-number": {"errors.retry.timeout": "soon"},
    "retry-delay-no-number": {"errors.retry.delay.max.ms": "1.5"},
    "retry-numbers-with-blanks": {"errors.retry.timeout": " 5 ", "errors.retry.delay.max.ms": " x "},
    "log-enable-no-boolean": {"errors.log.enable": "yes", "errors.log.include.messages": "1"},
    "tolerance-in-capitals": {"errors.tolerance": "ALL"},
    "tolerance-blank": {"errors.tolerance": ""},
    "tasks-max-negative": {"tasks.max": "-1"},
    "tasks-max-blank": {"tasks.max": " "},
    "tasks-max-too-large": {"tasks.max": "2147483648"},
    "tasks-max-enforce-no-boolean": {"tasks.max.enforce": "maybe"},
    "reload-action-unknown": {"config.action.reload": "sometimes"},
    "header-converter-unknown": {"header.converter": "org.example.Headers"},
    "header-converter-is-none": {"header.converter": "org.apache.kafka.connect.transforms.RegexRouter"},
    "key-converter-is-a-connector": {"key.converter": "org.apache.kafka.connect.file.FileStreamSinkConnector"},
    "converter-settings-wrong": {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "maybe",
    },
    "encoding-unknown": {
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "key.converter.converter.encoding": "klingon",
    },
    "exactly-once-unknown": {"exactly.once.support": "maybe"},
    "transaction-boundary-unknown": {"transaction.boundary": "never"},
    "transaction-interval-zero": {"transaction.boundary.interval.ms": "0"},
    "groups-without-default": {"topic.creation.groups": "g", "topic.creation.g.include": "x"},
    "group-without-include": {"topic.creation.groups": "g", **_CREATION},
    "group-twice": {"topic.creation.groups": "g,g", "topic.creation.g.include": "x", **_CREATION},
    "group-called-default": {"topic.creation.groups": "default", **_CREATION},
    "topics-of-no-partitions": {**_CREATION, "topic.creation.default.partitions": "0"},
    "topics-of-no-replicas": {**_CREATION, "topic.creation.default.replication.factor": "0"},
    "topics-of-many-replicas-too-many": {**_CREATION, "topic.creation.default.replication.factor": "40000"},
    "topics-of-partitions-alone": {"topic.creation.default.partitions": "1"},
    "negated-without-predicate": {**_transform("Filter"), "transforms.t.negate": "true"},
    "negated-by-no-boolean": {
        **_transform("Filter", predicate="p", negate="perhaps"),
        "predicates": "p",
        "predicates.p.type": f"{_TRANSFORMS}predicates.RecordIsTombstone",
    },
    "predicate-is-a-transformation": {"predicates": "p", "predicates.p.type": f"{_TRANSFORMS}Filter"},
    "predicate-twice": {"predicates": "p,p", "predicates.p.type": f"{_TRANSFORMS}predicates.RecordIsTombstone"},
    "predicate-pattern-broken": {
        "predicates": "p",
        "predicates.p.type": f"{_TRANSFORMS}predicates.TopicNameMatches",
        "predicates.p.pattern": "a(",
    },
    "predicate-without-header": {"predicates": "p", "predicates.p.type": f"{_TRANSFORMS}predicates.HasHeaderKey"},
    "transform-is-a-predicate": _transform("predicates.RecordIsTombstone"),
    "transform-blank": {"transforms": " ,"},
    "cast-to-nothing": _transform("Cast$Value", spec=""),
    "cast-to-unknown": _transform("Cast$Value", spec="a:int9"),
    "cast-without-field": _transform("Cast$Value", spec="a:int8,:string"),
    "cast-all-and-one": _transform("Cast$Value", spec="int8,a:string"),
    "drop-no-headers": _transform("DropHeaders"),
    "header-from-unequal": _transform("HeaderFrom$Value", fields="a,b", headers="h", operation="move"),
    "header-from-neither": _transform("HeaderFrom$Value", fields="a", headers="h", operation="steal"),
    "insert-header-without-value": _transform("InsertHeader", header="h"),
    "insert-nothing": _transform("InsertField$Value"),
    "mask-nothing": _transform("MaskField$Value"),
    "mask-with-blank": _transform("MaskField$Value", fields="a", replacement=" "),
    "rename-without-name": _transform("ReplaceField$Value", renames="a"),
    "route-by-broken-regex": _transform("RegexRouter", regex="a(", replacement="b"),
    "schema-version-no-number": _transform("SetSchemaMetadata$Value", schema_version="one"),
    "times-as-nothing": _transform("TimestampConverter$Value", field="a"),
    "times-as-unknown": _transform("TimestampConverter$Value", field="a", target_type="moon"),
    "times-without-format": _transform("TimestampConverter$Value", field="a", target_type="string"),
    "times-of-broken-format": _transform("TimestampConverter$Value", target_type="string", format="yyyy-'"),
    "times-of-unknown-precision": _transform("TimestampConverter$Value", target_type="unix", unix_precision="days"),
    "key-of-nothing": _transform("ValueToKey", fields=""),
    "field-in-syntax-v3": _transform("ExtractField$Value", field="a", field_syntax_version="V3"),
    "field-of-broken-path": _transform("ExtractField$Value", field="`a", field_syntax_version="V2"),
    "three-sections-wrong": {
        "errors.tolerance": "some",
        "topic.creation.default.partitions": "x",
        **_transform("HoistField$Value"),
        "batch.size": "-1",
    },
}
_SINKS: Mapping[str, Mapping[str, str | None]] = {
    "topics-blank": {"topics": " , "},
    "topics-with-a-gap": {"topics": "a,,b"},
    "topics-regex-blank": {"topics": None, "topics.regex": ""},
    "dead-letters-replicated-by-words": {"errors.deadletterqueue.topic.replication.factor": "two"},
    "dead-letters-replicated-by-none": {"errors.deadletterqueue.topic.replication.factor": "0"},
    "dead-letters-are-read": {
        "topics": None, "topics.regex": "dead-.*", "errors.deadletterqueue.topic.name": "dead-a",
    },
    "dead-letter-headers-no-boolean": {"errors.deadletterqueue.context.headers.enable": "all"},
    "sink-with-three-errors": {"topics.regex": "a(", "tasks.max": "none", "errors.tolerance": "x"},
}  # fmt: skip


def _cases(base: Mapping[str, str], changes: Mapping[str, Mapping[str, str | None]]) -> tuple[RestCase, ...]:
    return tuple(refused(f"wrong-{name}", base, change) for name, change in changes.items())


REFUSED_CASES = (*_cases(SOURCE, _SOURCES), *_cases(SINK, _SINKS))

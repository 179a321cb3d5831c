"""OpenAPI schemas of request and response bodies, with the names of Kafka Connect's entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True)
class Entity:
    """A schema, which is written out at each use if it has no name."""

    schema: Schema
    name: str = ""
    parts: tuple[Entity, ...] = ()
    """The entities it refers to."""

    @property
    def reference(self) -> Schema:
        """Return the schema or its reference."""
        return {"$ref": f"#/components/schemas/{self.name}"} if self.name else self.schema


STRING: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": "string", "nullable": True}
INTEGER: Schema = {"type": "integer", "format": "int32"}
BOOLEAN: Schema = {"type": "boolean"}
ANY_MAP: Schema = {"type": "object", "nullable": True, "additionalProperties": True}
STRINGS: Schema = {"type": "array", "items": STRING}


def _object(name: str, members: Mapping[str, Schema | Entity], optional: tuple[str, ...] = ()) -> Entity:
    """Return an object schema with these members in order; the optional ones may be missing."""
    schemas = {key: each.reference if isinstance(each, Entity) else each for key, each in members.items()}
    required = [key for key in members if key not in optional]
    schema: Schema = {"type": "object", "properties": schemas, **({"required": required} if required else {})}
    return Entity(schema, name, tuple(each for each in members.values() if isinstance(each, Entity)))


def _list(item: Entity) -> Entity:
    return Entity({"type": "array", "items": item.reference}, parts=(item,))


CONFIG = Entity({"type": "object", "additionalProperties": TEXT_OR_NULL})
"""A configuration; numbers and booleans are taken as text."""
GIVEN_CONFIG = Entity(
    {
        "type": "object",
        "additionalProperties": {
            "nullable": True,
            "anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}],
        },
    }
)

OWNER = _object("ConnectorOwner", {"owner": TEXT_OR_NULL})
OWNERS = Entity({"type": "object", "additionalProperties": STRING})
"""The owner of each connector that has one, by name."""

PREVIEW_REQUEST = _object(
    "PreviewRequest",
    {
        "name": TEXT_OR_NULL,
        "config": {"type": "object", "additionalProperties": STRING},
        "records": {"type": "array", "nullable": True, "items": {"type": "object"}},
        "from": {"type": "string", "enum": ["beginning", "end", "committed"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
        "seconds": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 60},
        "accept_effects": BOOLEAN,
        "values": {"type": "string", "enum": ["show", "shape"]},
    },
    ("name", "records", "from", "limit", "seconds", "accept_effects", "values"),
)
PREVIEW = _object(
    "Preview",
    {
        "records": {"type": "array", "items": {"type": "object"}},
        "ended": {"type": "string", "enum": ["limit", "time", "end", "failed", "size"]},
        "error": TEXT_OR_NULL,
        "notes": STRINGS,
    },
)

ERROR = _object("ErrorMessage", {"error_code": INTEGER, "message": TEXT_OR_NULL})
MESSAGE = _object("Message", {"message": STRING})
SERVER_INFO = _object("ServerInfo", {"version": STRING, "commit": STRING, "kafka_cluster_id": STRING})
WORKER_STATUS = _object(
    "WorkerStatus", {"status": {"type": "string", "enum": ["healthy", "starting", "unhealthy"]}, "message": STRING}
)
_TYPE: Schema = {"type": "string", "enum": ["source", "sink", "unknown"]}
TASK_ID = _object("ConnectorTaskId", {"connector": STRING, "task": INTEGER})
CONNECTOR_INFO = _object(
    "ConnectorInfo",
    {"name": STRING, "config": CONFIG, "tasks": _list(TASK_ID), "type": _TYPE, "offsets_status": STRING},
    ("offsets_status",),
)
_STATE = {"state": STRING, "worker_id": STRING, "version": TEXT_OR_NULL, "trace": STRING}
_UNSAID = ("trace", "version")
CONNECTOR_STATE = _object("ConnectorState", _STATE, _UNSAID)
TASK_STATE = _object("TaskState", {"id": INTEGER, **_STATE}, _UNSAID)
CONNECTOR_STATE_INFO = _object(
    "ConnectorStateInfo",
    {"name": STRING, "connector": CONNECTOR_STATE, "tasks": _list(TASK_STATE), "type": _TYPE},
)
TASK_INFO = _object("TaskInfo", {"id": TASK_ID, "config": CONFIG})
TASKS = _list(TASK_INFO)
_EXPANDED = _object("ExpandedConnector", {"status": CONNECTOR_STATE_INFO, "info": CONNECTOR_INFO}, ("status", "info"))
CONNECTORS = Entity(
    {"oneOf": [STRINGS, {"type": "object", "additionalProperties": _EXPANDED.reference}]}, parts=(_EXPANDED,)
)
_OFFSET = _object("ConnectorOffset", {"partition": ANY_MAP, "offset": ANY_MAP})
CREATE_REQUEST = _object(
    "CreateConnectorRequest",
    {
        "name": TEXT_OR_NULL,
        "config": GIVEN_CONFIG,
        "initial_state": {"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"], "nullable": True},
        "initial_offsets": _list(_OFFSET),
    },
    ("name", "initial_state", "initial_offsets"),
)
ACTIVE_TOPICS = Entity(
    {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"topics": STRINGS}, "required": ["topics"]},
    }
)
OFFSETS = _object("ConnectorOffsets", {"offsets": _list(_OFFSET)})
PLUGIN_INFO = _object("PluginInfo", {"class": STRING, "type": STRING, "version": STRING}, ("version",))
PLUGINS = _list(PLUGIN_INFO)
ARCHIVE_FILE = Entity({"type": "string", "format": "binary"})
BUNDLE = _object("Bundle", {"name": STRING, "version": STRING, "location": STRING, "plugins": _list(PLUGIN_INFO)})
REJECTED = _object("Rejected", {"location": STRING, "reason": STRING, "hint": STRING})
BUNDLES = _object("Bundles", {"bundles": _list(BUNDLE), "rejected": _list(REJECTED)})
BUNDLE_CHANGE = _object(
    "BundleChange",
    {"action": STRING, "name": STRING, "before": TEXT_OR_NULL, "after": TEXT_OR_NULL, "location": STRING},
)
CONFIG_KEY_INFO = _object(
    "ConfigKeyInfo",
    {
        "name": STRING,
        "type": STRING,
        "required": BOOLEAN,
        "default_value": TEXT_OR_NULL,
        "importance": STRING,
        "documentation": TEXT_OR_NULL,
        "group": TEXT_OR_NULL,
        "order_in_group": INTEGER,
        "width": STRING,
        "display_name": TEXT_OR_NULL,
        "dependents": STRINGS,
    },
)
CONFIG_KEYS = _list(CONFIG_KEY_INFO)
_CONFIG_VALUE = _object(
    "ConfigValueInfo",
    {
        "name": STRING,
        "value": TEXT_OR_NULL,
        "recommended_values": {"type": "array", "items": TEXT_OR_NULL},
        "errors": STRINGS,
        "visible": BOOLEAN,
    },
)
_NULLABLE = {"nullable": True}
_CONFIG_INFO = _object(
    "ConfigInfo",
    {
        "definition": Entity({"allOf": [CONFIG_KEY_INFO.reference], **_NULLABLE}, parts=(CONFIG_KEY_INFO,)),
        "value": _CONFIG_VALUE,
    },
)
CONFIG_INFOS = _object(
    "ConfigInfos",
    {
        "name": STRING,
        "error_count": INTEGER,
        "groups": STRINGS,
        "configs": _list(_CONFIG_INFO),
        "warnings": _list(_object("ConfigWarning", {"name": STRING, "message": STRING})),
    },
    ("warnings",),
)
LOGGER_LEVEL = _object(
    "LoggerLevel", {"level": STRING, "last_modified": {"type": "integer", "format": "int64", "nullable": True}}
)
LOGGER_LEVELS = Entity({"type": "object", "additionalProperties": LOGGER_LEVEL.reference}, parts=(LOGGER_LEVEL,))
NAMES = Entity(STRINGS)
_DESCRIBED = {"name": STRING, "description": STRING}
WORKER_CONFIGURATIONS = _list(_object("WorkerConfigurationSummary", _DESCRIBED))
WORKER_CONFIGURATION = _object("WorkerConfiguration", {**_DESCRIBED, "config": CONFIG})
WORKER_CONFIGURATION_REQUEST = _object(
    "CreateWorkerConfigurationRequest",
    {"name": STRING, "description": TEXT_OR_NULL, "config": GIVEN_CONFIG},
    ("description",),
)

NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": "number", "nullable": True}
NUMBERS: Schema = {"type": "object", "additionalProperties": NUMBER}
PAST_RUN = _object("PastRun", {"at": STRING, "how": STRING, "words": STRING, "seconds": NUMBER})
FAILURES = _object("FailedRecords", {"phase": STRING, "error": STRING, "records": NUMBER})
HEARTH_TASK = _object(
    "HearthTask",
    {
        "id": INTEGER,
        "state": STRING,
        "trace": TEXT_OR_NULL,
        "since": STRING,
        "restarts": INTEGER,
        "ends": _list(PAST_RUN),
        "last": Entity({"type": "object", "additionalProperties": TEXT_OR_NULL}),
        "assigned": NUMBERS,
        "counts": NUMBERS,
        "rates": NUMBERS,
        "put_seconds": Entity({"type": "object", "additionalProperties": NUMBER_OR_NULL}),
        "failures": _list(FAILURES),
    },
    ("since", "restarts", "ends", "last", "assigned", "counts", "rates", "put_seconds", "failures"),
)
LONG_OR_NULL: Schema = {"type": "integer", "format": "int64", "nullable": True}
PARTITION_LAG = _object(
    "PartitionLag",
    {
        "topic": STRING,
        "partition": INTEGER,
        "committed": LONG_OR_NULL,
        "end": LONG_OR_NULL,
        "records": LONG_OR_NULL,
        "seconds": NUMBER_OR_NULL,
    },
)
LAG = _object(
    "Lag",
    {
        "records": LONG_OR_NULL,
        "seconds": NUMBER_OR_NULL,
        "partitions": _list(PARTITION_LAG),
        "age": NUMBER_OR_NULL,
    },
)
CONNECTOR_SUMMARY = _object(
    "ConnectorSummary",
    {"rate": NUMBER, "lag": LONG_OR_NULL, "errors": INTEGER, "restarts": INTEGER, "since": TEXT_OR_NULL},
)
CONNECTOR_SUMMARIES = Entity(
    {"type": "object", "additionalProperties": CONNECTOR_SUMMARY.reference}, parts=(CONNECTOR_SUMMARY,)
)
CALL = _object("RunningCall", {"name": STRING, "since": STRING})
HEARTH_CONNECTOR = _object(
    "HearthConnector",
    {
        "name": STRING,
        "type": STRING,
        "state": STRING,
        "trace": TEXT_OR_NULL,
        "target": STRING,
        "revision": LONG_OR_NULL,
        "running": BOOLEAN,
        "call": Entity({"allOf": [CALL.reference], **_NULLABLE}, parts=(CALL,)),
        "tasks": _list(HEARTH_TASK),
        "lag": LAG,
    },
)
LOG_LINE = _object(
    "LogLine", {"time": STRING, "level": STRING, "logger": STRING, "context": TEXT_OR_NULL, "message": STRING}
)
LOG_LINES = _object("LogLines", {"lines": _list(LOG_LINE), "next": STRING})
FINDING = _object(
    "Finding",
    {"condition": STRING, "evidence": STRING, "cause": STRING, "remedy": STRING, "task": INTEGER},
    ("task",),
)
EXPLANATION = _object("Explanation", {"name": STRING, "condition": STRING, "findings": _list(FINDING)})

_CELL: Schema = {"type": "object", "nullable": True, "additionalProperties": True}
"""Size, and text or base64 of a key, value or header."""
LETTER = _object(
    "DeadLetter",
    {
        "partition": INTEGER,
        "offset": {"type": "integer", "format": "int64"},
        "timestamp": {"type": "integer", "format": "int64", "nullable": True},
        "replays": INTEGER,
        "context": ANY_MAP,
        "key": _CELL,
        "value": _CELL,
        "headers": {"type": "array", "items": ANY_MAP},
    },
)
LETTER_GROUP = _object(
    "DeadLetterGroup",
    {"topic": STRING, "stage": STRING, "exception": STRING, "count": INTEGER, "last": STRING, "message": STRING},
)
LETTERS = _object(
    "DeadLetters", {"topic": STRING, "total": INTEGER, "groups": _list(LETTER_GROUP), "letters": _list(LETTER)}
)
REPLAY_REQUEST = _object(
    "ReplayRequest",
    {
        "text": STRING,
        "letters": {"type": "array", "items": {"type": "array", "items": INTEGER}},
        "to": TEXT_OR_NULL,
        "max": {"type": "integer", "minimum": 1, "maximum": 10_000},
        "dry_run": BOOLEAN,
    },
    ("text", "letters", "to", "max", "dry_run"),
)
REPLAY = _object(
    "Replay",
    {
        "dry_run": BOOLEAN, "replayed": INTEGER, "unmatched": INTEGER, "without_context": INTEGER,
        "too_often": INTEGER,
    },
)  # fmt: skip

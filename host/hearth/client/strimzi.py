"""`KafkaConnector` resources of Strimzi, read and written.

Sources: the resource's schema in Strimzi's documentation, and what its operator makes of it (class ->
`connector.class`, tasksMax -> `tasks.max`, version -> `connector.plugin.version`, autoRestart -> here
`errors.task.restart.max`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hearth_api import ConfigError

API = "kafka.strimzi.io/v1"
CLUSTER_LABEL = "strimzi.io/cluster"
_GROUP = "kafka.strimzi.io/"
_FIELDS = {"class": "connector.class", "tasksMax": "tasks.max", "version": "connector.plugin.version"}
_RESERVED = ("name", "connector.class")
"""Keys that Strimzi's operator refuses in `config`, because the resource has fields for them."""
_STATES = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}
_RESTARTS = "errors.task.restart.max"
_LEFT_OUT = ("listOffsets", "alterOffsets")
_KNOWN = (*_FIELDS, "config", "state", "pause", "autoRestart", *_LEFT_OUT)


@dataclass(frozen=True)
class StrimziConnector:
    """A connector of a resource: its configuration, the state it has to be in, and what has no effect."""

    name: str
    config: dict[str, str]
    state: str
    notes: tuple[str, ...]


def is_resource(document: Any) -> bool:
    """Return whether a YAML document is a Kubernetes resource."""
    return isinstance(document, dict) and "apiVersion" in document and "kind" in document


def read_resource(source: str, document: Mapping[str, Any]) -> StrimziConnector:
    """Return the connector of a `KafkaConnector`, whose scalars are texts; raises ConfigError for an invalid one."""
    if not str(document["apiVersion"]).startswith(_GROUP):
        raise ConfigError(
            f"{source}: apiVersion is {document['apiVersion']!r}, expected {API!r}", code="connector_file.api"
        )
    metadata, spec = _map(source, document, "metadata"), _map(source, document, "spec")
    if not metadata.get("name"):
        raise ConfigError(f"{source}: metadata.name is missing", code="connector_file.name", hint="name the connector")
    name, given = str(metadata["name"]), _map(source, spec, "config")
    if "class" not in spec:
        raise ConfigError(f"{source}: spec.class is missing", code="connector_file.class", hint="name the class")
    for key in _RESERVED:
        if key in given:
            raise ConfigError(
                f"{source}: spec.config has {key!r}, which Strimzi refuses",
                code="connector_file.reserved",
                hint="use metadata.name and spec.class",
            )
    config = {"name": name}
    config |= {key: str(spec[field]) for field, key in _FIELDS.items() if field in spec}
    for key, value in given.items():
        if isinstance(value, (dict, list)):
            raise ConfigError(f"{source}: spec.config.{key} is not a text or number", code="connector_file.value")
        config[key] = str(value)
    restarts = _map(source, spec, "autoRestart")
    if str(restarts.get("enabled", "false")).lower() == "true":
        config.setdefault(_RESTARTS, str(restarts.get("maxRestarts", -1)))
    return StrimziConnector(name, config, _state(source, spec), tuple(_notes(metadata, spec)))


def write_resource(config: Mapping[str, str], state: str, cluster: str = "") -> dict[str, Any]:
    """Return a `KafkaConnector` for a configuration; ``cluster`` is the name of the KafkaConnect resource."""
    left = {key: value for key, value in config.items() if key not in ("name", _RESTARTS, *_FIELDS.values())}
    spec: dict[str, Any] = {field: config[key] for field, key in _FIELDS.items() if key in config}
    if spec.get("tasksMax", "").isdecimal():
        spec["tasksMax"] = int(spec["tasksMax"])
    if config.get(_RESTARTS, "0") != "0":
        limit = config[_RESTARTS]
        spec["autoRestart"] = {"enabled": True, **({} if limit == "-1" else {"maxRestarts": int(limit)})}
    if state != "RUNNING":
        spec["state"] = state.lower()
    metadata = {"name": config["name"], **({"labels": {CLUSTER_LABEL: cluster}} if cluster else {})}
    return {"apiVersion": API, "kind": "KafkaConnector", "metadata": metadata, "spec": {**spec, "config": left}}


def _state(source: str, spec: Mapping[str, Any]) -> str:
    state = str(spec.get("state", "paused" if str(spec.get("pause", "")).lower() == "true" else "running"))
    if state not in _STATES:
        raise ConfigError(
            f"{source}: spec.state is {state!r}, expected one of {', '.join(_STATES)}", code="connector_file.state"
        )
    return _STATES[state]


def _notes(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    for name in _LEFT_OUT:
        if name in spec:
            yield f"spec.{name} has no effect here: use `hearth offsets`"
    for name in spec:
        if name not in _KNOWN:
            yield f"spec.{name} is not known and has no effect"
    annotations = metadata.get("annotations") or {}
    for name in annotations:
        if name.startswith("strimzi.io/"):
            yield f"the annotation {name} has no effect here"


def _map(source: str, owner: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = owner.get(name) or {}
    if not isinstance(found, dict):
        raise ConfigError(f"{source}: {name} is not a map", code="connector_file.form")
    return found

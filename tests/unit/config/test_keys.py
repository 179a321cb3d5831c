"""The declared keys match those of Kafka Connect 4.3.1, whose jars printed kafka_keys.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.config import DistributedConfig, SinkConnectorConfig, SourceConnectorConfig, StandaloneConfig
from hearth.config.java_key import HARMLESS
from hearth.kafka.client.key import RULES
from hearth_api import ConfigDef
from hearth_api.java import config_def_to_json

KAFKA: dict[str, list[list[Any]]] = json.loads((Path(__file__).parent / "kafka_keys.json").read_text())
DISTRIBUTED = DistributedConfig.definition()
HIDDEN = ("documentation", "dependents")
OWN: list[list[Any]] = [
    ["autoscaling.max.worker.count", "INT", None, "MEDIUM"],
    ["autoscaling.min.worker.count", "INT", None, "MEDIUM"],
    ["autoscaling.scale.in.cpu.utilization.percentage", "INT", "20", "LOW"],
    ["autoscaling.scale.out.cpu.utilization.percentage", "INT", "80", "LOW"],
    ["capacity.worker.count", "INT", None, "MEDIUM"],
    ["errors.task.restart.backoff.max.ms", "LONG", "60000", "LOW"],
    ["errors.task.restart.backoff.ms", "LONG", "1000", "LOW"],
    ["errors.task.restart.max", "INT", "0", "MEDIUM"],
    ["metrics.names", "LIST", "reporter", "LOW"],
    ["openlineage.namespace", "STRING", None, "LOW"],
    ["openlineage.transport.type", "STRING", None, "LOW"],
    ["plugin.call.timeout.ms", "LONG", "300000", "LOW"],
    ["plugin.environment", "LIST", None, "MEDIUM"],
    ["plugin.environment.override.allow", "LIST", "", "MEDIUM"],
    ["plugin.isolation", "STRING", "environment", "LOW"],
    ["plugin.java.home", "STRING", None, "LOW"],
    ["plugin.java.options", "STRING", "", "LOW"],
    ["plugin.java.override.allow", "LIST", ",".join(HARMLESS), "LOW"],
    ["plugin.limits.cpus", "DOUBLE", None, "MEDIUM"],
    ["plugin.limits.memory.bytes", "LONG", None, "MEDIUM"],
    ["plugin.limits.open.files", "INT", None, "LOW"],
    ["plugin.limits.temporary.bytes", "LONG", None, "LOW"],
    ["plugin.network", "STRING", "host", "MEDIUM"],
    ["plugin.processes", "STRING", "shared", "MEDIUM"],
    ["plugin.rest.install.enable", "BOOLEAN", "false", "LOW"],
    ["plugin.trust", "STRING", "any", "MEDIUM"],
    ["plugin.trust.keys", "LIST", "", "MEDIUM"],
    ["plugin.revoked", "LIST", "", "MEDIUM"],
    ["plugin.upgrade", "STRING", "restart", "LOW"],
    ["rest.mask.passwords", "BOOLEAN", "false", "LOW"],
    ["task.isolation", "STRING", "process", "LOW"],
    ["task.link.port", "INT", "0", "LOW"],
    ["ui.enabled", "BOOLEAN", "true", "LOW"],
    ["ui.readonly", "BOOLEAN", "false", "LOW"],
    ["worker.configuration.path", "STRING", None, "LOW"],
]
"""Worker keys that only Hearth has."""


def shown(definition: ConfigDef) -> list[list[Any]]:
    """Return the REST form of every key without documentation."""
    keys = config_def_to_json(definition)
    return [[text for member, text in key.items() if member not in HIDDEN] for key in keys]


@pytest.mark.parametrize(
    ("type_", "definition"),
    [("source", SourceConnectorConfig.definition()), ("sink", SinkConnectorConfig.definition())],
)
def test_connector_keys_are_kafkas(type_: str, definition: ConfigDef) -> None:
    """Everything that REST shows of a key except its documentation is part of the interface."""
    # Kafka shows the connector's newest version as the default of connector.plugin.version.
    expected = [[*row[:3], None, *row[4:]] if row[3] == "4.3.1" else row for row in KAFKA[type_]]
    assert shown(definition) == expected


def test_worker_keys_are_kafkas() -> None:
    """A worker file of Kafka Connect means the same here."""
    ours = {
        row[0]: [row[0], row[1], "<REQ>" if row[2] else row[3], row[4]] for row in shown(StandaloneConfig.definition())
    }
    assert ours == {row[0]: row for row in [*KAFKA["worker"], *OWN]}


def test_keys_of_a_cluster_are_kafkas() -> None:
    """Other keys are those of Kafka's admin client, which are translated."""
    ours = {row[0]: [row[0], row[1], "<REQ>" if row[2] else row[3], row[4]] for row in shown(DISTRIBUTED)}
    kafkas = {row[0]: row for row in KAFKA["distributed"]}
    own = ours.keys() - {row[0] for row in [*KAFKA["worker"], *OWN]}
    assert ours["offset.storage.topic"][2] is None, "a cluster has one of its own"
    ours["offset.storage.topic"][2] = "<REQ>"
    assert {name: ours[name] for name in own} == {name: kafkas[name] for name in own}
    assert kafkas.keys() - own <= RULES["admin"].keys()


@pytest.mark.parametrize(
    "definition", [StandaloneConfig, DistributedConfig, SourceConnectorConfig, SinkConnectorConfig]
)
def test_every_key_has_documentation(definition: Any) -> None:
    """The guides and the user interface's forms use it."""
    for key in definition.definition().keys.values():
        assert key.doc.strip(), key.name
        assert key.doc.rstrip().endswith((".", "NAME")), key.name

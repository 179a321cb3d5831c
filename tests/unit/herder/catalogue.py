"""A catalogue of stand-in plugins under Kafka's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hearth.discovery import CLASSPATH, Catalogue, Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment_store import EnvironmentStore

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "kafka_validation.json").read_text())
HERE = "tests.unit.herder.stand_in:"
CONNECT = "org.apache.kafka.connect."
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
CLASSES = {
    "transforms.RegexRouter": "RegexRouter",
    "transforms.HoistField$Value": "HoistField",
    "transforms.InsertField$Value": "InsertField",
    "transforms.predicates.TopicNameMatches": "TopicNameMatches",
    "json.JsonConverter": "JsonConverter",
    "storage.StringConverter": "StringConverter",
    "storage.SimpleHeaderConverter": "SimpleHeaderConverter",
}
SUFFIXES = {
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
    PluginType.SOURCE: "Connector",
    PluginType.SINK: "Connector",
    PluginType.OVERRIDE_POLICY: "Policy",
    PluginType.REST_EXTENSION: "ConnectRestExtension",
    PluginType.CONFIG_PROVIDER: "ConfigProvider",
}


def plugin(class_name: str, type_: PluginType, python: str, version: str = "4.3.1") -> Plugin:
    """Return a plugin that is installed with the host."""
    simple = class_name.rsplit(".", 1)[-1]
    pruned = simple.removesuffix(SUFFIXES[type_])
    aliases = () if "$" in simple else tuple(dict.fromkeys((simple, pruned or simple)))
    return Plugin(class_name, type_, version, aliases, CLASSPATH, HERE + python)


def catalogue(*more: Plugin) -> Catalogue:
    """Return the connectors of Kafka's quickstart and every class that Kafka suggests in a validation."""
    found = [plugin(SOURCE, PluginType.SOURCE, "Source"), plugin(SINK, PluginType.SINK, "Sink")]
    for type_, class_names in GOLDEN["plugins"].items():
        for class_name in class_names:
            stand_in = CLASSES.get(class_name.removeprefix(CONNECT), "Plain")
            found.append(plugin(class_name, PluginType(type_), stand_in))
    return Catalogue([*found, *more])


def directory(root: Path, *more: Plugin) -> PluginDirectory:
    """Return the plugins of a host."""
    known = catalogue(*more)
    return PluginDirectory(lambda: known, EnvironmentStore(root))


WORKER = {
    "bootstrap.servers": "127.0.0.1:9092",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
CLUSTER = {
    "group.id": "g",
    **{f"{each}.storage.topic": f"{each}-topic" for each in ("config", "offset", "status")},
    "exactly.once.source.support": "enabled",
}
"""What the worker has beside, where it is a host of a cluster whose sources write exactly once."""

"""The definitions of Java's client keys equal those of the real classes."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import get_field

from hearth.broker.broker import broker_jars
from hearth.kafka.client.client_definition import client_definition
from hearth.kafka.client.translate import Role
from hearth_api.java import config_key_to_json
from tests.java import java

ROLES: tuple[Role, ...] = ("producer", "consumer", "admin")
MEMBERS = ("type", "importance", "required", "default_value")
CLASSES = {
    "producer": "org.apache.kafka.clients.producer.ProducerConfig",
    "consumer": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "admin": "org.apache.kafka.clients.admin.AdminClientConfig",
}


def test_the_definitions_equal_javas() -> None:
    """Types, importances and defaults come from `configDef()` of kafka-clients; a new version shows its additions."""
    with java(broker_jars()) as jvm:
        for role in ROLES:
            keys = getattr(jvm, CLASSES[role]).configDef().configKeys()
            definitions = {str(name): _definition(jvm, keys.get(name)) for name in keys.keySet()}
            defined = {key.name: config_key_to_json(key) for key in client_definition(role).keys.values()}
            assert {name: [key[member] for member in MEMBERS] for name, key in defined.items()} == definitions


def _definition(jvm: Any, key: Any) -> list[Any]:
    kind, has_default = get_field(key, "type"), bool(key.hasDefault())
    value = get_field(key, "defaultValue") if has_default else None
    convert = jvm.org.apache.kafka.common.config.ConfigDef.convertToString
    default = None if value is None else str(convert(value, kind))
    return [kind.toString(), get_field(key, "importance").toString(), not has_default, default]

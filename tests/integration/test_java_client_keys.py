"""The list of Java's client keys that the unit tests work with is that of the real classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import get_field

from hearth.broker.jar import fetch_jars
from tests.java import java

GOLDEN = Path(__file__).parents[1] / "unit" / "kafka" / "client" / "java_keys.json"
CLASSES = {
    "producer": "org.apache.kafka.clients.producer.ProducerConfig",
    "consumer": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "admin": "org.apache.kafka.clients.admin.AdminClientConfig",
}


@pytest.mark.timeout(300)  # the first run fetches the broker's jars
def test_golden_list_is_what_java_tells() -> None:
    """Keys and defaults come from `configDef()` of kafka-clients; a new version shows what it added."""
    with java(fetch_jars()) as jvm:
        told = {client: _keys(jvm, name) for client, name in CLASSES.items()}
    assert json.loads(GOLDEN.read_text()) == told


def _keys(jvm: Any, class_name: str) -> dict[str, str | None]:
    keys = getattr(jvm, class_name).configDef().configKeys()
    return {str(name): _default(jvm, keys.get(name)) for name in keys.keySet()}


def _default(jvm: Any, key: Any) -> str | None:
    if not key.hasDefault() or get_field(key, "defaultValue") is None:
        return None
    convert = jvm.org.apache.kafka.common.config.ConfigDef.convertToString
    text = str(convert(get_field(key, "defaultValue"), get_field(key, "type")))
    return text.replace("class ", "")

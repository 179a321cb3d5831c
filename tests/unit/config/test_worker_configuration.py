"""What worker configurations may contain, by the tables of the service they come from."""

from __future__ import annotations

import pytest

from hearth.config import StandaloneConfig
from hearth.config.worker_configuration import DEFAULT, WorkerConfiguration
from hearth.kafka.client.key import RULES
from hearth_api import ConfigError

PRODUCER = (
    "acks", "batch.size", "buffer.memory", "compression.type", "enable.idempotence", "key.serializer",
    "max.request.size", "metadata.max.age.ms", "metadata.max.idle.ms", "reconnect.backoff.max.ms",
    "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.ms", "value.serializer",
)  # fmt: skip
CONSUMER = (
    "allow.auto.create.topics", "auto.offset.reset", "check.crcs", "fetch.max.bytes", "fetch.max.wait.ms",
    "fetch.min.bytes", "heartbeat.interval.ms", "key.deserializer", "max.partition.fetch.bytes",
    "max.poll.records", "metadata.max.age.ms", "partition.assignment.strategy", "reconnect.backoff.max.ms",
    "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.ms", "session.timeout.ms",
    "value.deserializer",
)  # fmt: skip
REFUSED_BEGINNINGS = (
    "access.control.", "admin.", "admin.listeners.https.", "client.", "connect.", "inter.worker.", "internal.",
    "listeners.https.", "metrics.", "metrics.context.", "rest.", "sasl.", "security.", "socket.", "ssl.",
    "topic.tracking.", "worker.",
)  # fmt: skip
REFUSED = (
    "bootstrap.servers", "config.storage.topic", "connections.max.idle.ms",
    "connector.client.config.override.policy", "group.id", "listeners", "metric.reporters", "plugin.path",
    "receive.buffer.bytes", "response.http.headers.config", "scheduled.rebalance.max.delay.ms",
    "send.buffer.bytes", "status.storage.topic",
)  # fmt: skip
CONVERTERS = {"key.converter": "K", "value.converter": "V"}
WORKER = {
    "bootstrap.servers": "b:9092",
    "offset.storage.file.filename": "/tmp/connect.offsets",
    "plugin.path": "/plugins",
    "key.converter": "Worker",
    "key.converter.schemas.enable": "false",
    "value.converter": "Worker",
    "header.converter": "Worker",
    "offset.flush.interval.ms": "1",
    "producer.acks": "1",
    "producer.security.protocol": "SSL",
    "producer.linger.ms": "7",
    "consumer.max.poll.records": "1",
    "consumer.client.rack": "r1",
    "spark.master": "local",
}


def configuration(**properties: str) -> WorkerConfiguration:
    """Return a worker configuration with these settings and converters."""
    return WorkerConfiguration("mine", "", {**CONVERTERS, **properties})


@pytest.mark.parametrize(("client", "allowed"), [("producer", PRODUCER), ("consumer", CONSUMER)])
def test_only_listed_client_settings_are_allowed(client: str, allowed: tuple[str, ...]) -> None:
    """Every other key of that client is rejected, with the allowed ones in the error."""
    for key in {*RULES[client], "zz", "librdkafka.debug"} - set(allowed):
        with pytest.raises(
            ConfigError, match=rf"configuration 'mine': {client}\.{key} is not .* only be {allowed[0]}, "
        ):
            configuration(**{f"{client}.{key}": "1"}).refuse()
    configuration(**dict.fromkeys((f"{client}.{key}" for key in allowed), "1")).refuse()


@pytest.mark.parametrize("key", [*REFUSED, *(beginning + "zz" for beginning in REFUSED_BEGINNINGS)])
def test_keys_of_the_worker_are_rejected(key: str) -> None:
    """The error has the key and the reason."""
    with pytest.raises(ConfigError, match=rf"worker configuration 'mine': {key} is not allowed: .*worker.*$"):
        configuration(**{key: "1"}).refuse()


def test_all_forbidden_keys_are_reported() -> None:
    """At once, not one by one."""
    with pytest.raises(ConfigError, match=r"group\.id is not .*; rest\.port is not .*; value\.converter is"):
        WorkerConfiguration("mine", "", {"group.id": "g", "rest.port": "1", "value.converter": None}).refuse()  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "key",
    ["header.converter", "key.converter.schemas.enable", "offset.storage.topic", "config.providers.p.class",
     "offset.flush.interval.ms", "topic.creation.enable", "connector.x", "groups", "exactly.once.source.support"],
)  # fmt: skip
def test_all_other_keys_are_allowed(key: str) -> None:
    """Even unknown ones."""
    configuration(**{key: "true"}).refuse()


def test_governed_settings_come_only_from_the_worker_configuration() -> None:
    """Missing ones have Kafka Connect's defaults, and keys that it may not contain stay the worker's."""
    mine = configuration(**{"consumer.max.poll.records": "9", "offset.flush.timeout.ms": "6", "spark.master": "yarn"})
    worker = StandaloneConfig(WORKER).governed_by(mine)
    assert (worker.key_converter, worker.value_converter) == ("K", "V")
    assert worker.header_converter == "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    assert worker.converter_settings("key.converter") == {}
    assert (worker.offset_flush_interval_ms, worker.offset_flush_timeout_ms) == (60000, 6)
    assert worker.with_prefix("producer.") == {"security.protocol": "SSL", "linger.ms": "7"}
    assert worker.with_prefix("consumer.") == {"client.rack": "r1", "max.poll.records": "9"}
    assert worker.spark == {"spark.master": "local"}
    assert worker.identity == StandaloneConfig(WORKER).identity
    assert mine.idle_keys == ["spark.master"]


@pytest.mark.parametrize("role", ["key.converter", "value.converter"])
def test_both_converters_are_required(role: str) -> None:
    """The worker's are no fallback."""
    lacking = WorkerConfiguration("mine", "", {key: name for key, name in CONVERTERS.items() if key != role})
    with pytest.raises(ConfigError, match=f'Missing required configuration "{role}" which has no default value'):
        StandaloneConfig(WORKER).governed_by(lacking)


def test_the_default_uses_string_converters() -> None:
    """For keys and values."""
    worker = StandaloneConfig(WORKER).governed_by(DEFAULT)
    assert {worker.key_converter, worker.value_converter} == {"org.apache.kafka.connect.storage.StringConverter"}

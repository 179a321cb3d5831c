"""Named worker configurations, as in managed services, which replace the worker's own settings for a connector.

A connector names one with `worker.configuration`. The settings of its tasks that a worker configuration may contain
then come only from there: a missing one has Kafka Connect's default, whatever the worker's own configuration sets. All
other settings remain the worker's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hearth_api import ConfigError, NotFoundError

CHOICE = "worker.configuration"
"""The connector key that names a worker configuration."""
DESCRIPTION = "description"
"""The key of a file's description, which is not a setting."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

PRODUCER_KEYS = (
    "acks", "batch.size", "buffer.memory", "compression.type", "enable.idempotence", "key.serializer",
    "max.request.size", "metadata.max.age.ms", "metadata.max.idle.ms", "reconnect.backoff.max.ms",
    "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.ms", "value.serializer",
)  # fmt: skip
CONSUMER_KEYS = (
    "allow.auto.create.topics", "auto.offset.reset", "check.crcs", "fetch.max.bytes", "fetch.max.wait.ms",
    "fetch.min.bytes", "heartbeat.interval.ms", "key.deserializer", "max.partition.fetch.bytes", "max.poll.records",
    "metadata.max.age.ms", "partition.assignment.strategy", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
    "request.timeout.ms", "retry.backoff.ms", "session.timeout.ms", "value.deserializer",
)  # fmt: skip
CLIENT_KEYS: Mapping[str, tuple[str, ...]] = {"producer.": PRODUCER_KEYS, "consumer.": CONSUMER_KEYS}
"""The client settings that a worker configuration may contain."""
REFUSED_PREFIXES = (
    "access.control.", "admin.", "client.", "connect.", "inter.worker.", "internal.", "listeners.https.", "metrics.",
    "rest.", "sasl.", "security.", "socket.", "ssl.", "topic.tracking.", "worker.",
)  # fmt: skip
REFUSED_KEYS = (
    "bootstrap.servers", "config.storage.topic", "connections.max.idle.ms", "connector.client.config.override.policy",
    "group.id", "listeners", "metric.reporters", "plugin.path", "receive.buffer.bytes",
    "response.http.headers.config", "scheduled.rebalance.max.delay.ms", "send.buffer.bytes", "status.storage.topic",
)  # fmt: skip
"""These tables follow Amazon MSK Connect's documentation."""

GOVERNED_KEYS = (
    "key.converter", "value.converter", "header.converter", "offset.flush.interval.ms", "offset.flush.timeout.ms",
    "topic.creation.enable", "plugin.call.timeout.ms", "config.providers",
)  # fmt: skip
GOVERNED_PREFIXES = ("key.converter.", "value.converter.", "header.converter.", "config.providers.")


@dataclass(frozen=True)
class WorkerConfiguration:
    """A worker configuration as written by the user."""

    name: str
    description: str
    properties: Mapping[str, str] = field(repr=False)

    def refuse(self) -> None:
        """Raise ConfigError for keys that are not allowed, each with the reason."""
        found = [
            f"{key} is not allowed: {why}" for key, value in self.properties.items() if (why := _refusal(key, value))
        ]
        if found:
            raise ConfigError(
                f"worker configuration {self.name!r}: {'; '.join(found)}",
                code="worker_configuration.key",
                hint="remove them, or set them for one connector with producer.override. or consumer.override.",
            )

    @property
    def governing(self) -> dict[str, str]:
        """Return the settings that affect the tasks of connectors."""
        return {key: value for key, value in self.properties.items() if is_governed(key)}

    @property
    def idle_keys(self) -> list[str]:
        """Return the allowed keys that have no effect, because they are for the worker as a whole."""
        return [key for key in self.properties if not is_governed(key)]


DEFAULT = WorkerConfiguration(
    "default",
    "Keys and values are texts; everything else is as Kafka Connect has it",
    dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter"),
)
"""The built-in worker configuration."""


class WorkerConfigurationNotFound(NotFoundError):
    """The named worker configuration does not exist; the args are the name and the existing names."""

    code = "worker_configuration.unknown"

    def __str__(self) -> str:
        """Return the message with the existing names."""
        name, known = self.args
        return f"worker configuration {name!r} not found, there are: {', '.join(known)}"


def is_governed(key: str) -> bool:
    """Return whether a key, if a connector names a worker configuration, is taken from there only."""
    for prefix, names in CLIENT_KEYS.items():
        if key.startswith(prefix):
            return key.removeprefix(prefix) in names
    return key in GOVERNED_KEYS or key.startswith(GOVERNED_PREFIXES)


def _refusal(key: str, value: str | None) -> str | None:
    """Return why a key is not allowed, None if it is."""
    if value is None:
        return "it has no value"
    for prefix, names in CLIENT_KEYS.items():
        if key.startswith(prefix) and key.removeprefix(prefix) not in names:
            return f"keys with the prefix {prefix} may only be {', '.join(names)}"
    if key in REFUSED_KEYS:
        return "only the worker may set it"
    own = next(_prefixes(key), None)
    return None if own is None else f"only the worker may set keys with the prefix {own}"


def _prefixes(key: str) -> Iterator[str]:
    return (prefix for prefix in REFUSED_PREFIXES if key.startswith(prefix))

"""Named configurations of a worker, as managed services have them: what connectors take instead of the worker's own.

A connector names one (`worker.configuration`), and what a configuration may say of its tasks is then taken from there
and from nowhere else: what it does not say has Kafka Connect's default, whatever the worker itself says. Everything
else stays the worker's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hearth_api import ConfigError, NotFoundError

CHOICE = "worker.configuration"
"""The key by which a connector names one."""
DESCRIPTION = "description"
"""The key that says in a file what the configuration is for; it is none of its settings."""
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
"""The only settings of clients that may be there."""
REFUSED_PREFIXES = (
    "access.control.", "admin.", "client.", "connect.", "inter.worker.", "internal.", "listeners.https.", "metrics.",
    "rest.", "sasl.", "security.", "socket.", "ssl.", "topic.tracking.", "worker.",
)  # fmt: skip
REFUSED_KEYS = (
    "bootstrap.servers", "config.storage.topic", "connections.max.idle.ms", "connector.client.config.override.policy",
    "group.id", "listeners", "metric.reporters", "plugin.path", "receive.buffer.bytes",
    "response.http.headers.config", "scheduled.rebalance.max.delay.ms", "send.buffer.bytes", "status.storage.topic",
)  # fmt: skip
"""These tables are those of Amazon MSK Connect's documentation."""

GOVERNED_KEYS = (
    "key.converter", "value.converter", "header.converter", "offset.flush.interval.ms", "offset.flush.timeout.ms",
    "topic.creation.enable", "plugin.call.timeout.ms", "config.providers",
)  # fmt: skip
GOVERNED_PREFIXES = ("key.converter.", "value.converter.", "header.converter.", "config.providers.")


@dataclass(frozen=True)
class WorkerConfiguration:
    """One of them, as somebody wrote it."""

    name: str
    description: str
    properties: Mapping[str, str] = field(repr=False)

    def refuse(self) -> None:
        """Raise ConfigError for the keys that may not be there, each with the reason."""
        found = [
            f"{key} may not be there: {why}" for key, value in self.properties.items() if (why := _refusal(key, value))
        ]
        if found:
            raise ConfigError(
                f"worker configuration {self.name!r}: {'; '.join(found)}",
                code="worker_configuration.key",
                hint="leave them out, or say them for one connector with producer.override. or consumer.override.",
            )

    @property
    def governing(self) -> dict[str, str]:
        """Return the settings that take effect in the tasks of connectors."""
        return {key: value for key, value in self.properties.items() if is_governed(key)}

    @property
    def idle_keys(self) -> list[str]:
        """Return the keys that may be there and change nothing: they are for the worker as a whole."""
        return [key for key in self.properties if not is_governed(key)]


DEFAULT = WorkerConfiguration(
    "default",
    "Keys and values are texts; everything else is as Kafka Connect has it",
    dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter"),
)
"""The one that is there without anybody having made it."""


class WorkerConfigurationNotFound(NotFoundError):
    """There is no worker configuration of a name: the name, and those that are there."""

    code = "worker_configuration.unknown"

    def __str__(self) -> str:
        """Name those that are there."""
        name, known = self.args
        return f"worker configuration {name!r} not found, there are: {', '.join(known)}"


def is_governed(key: str) -> bool:
    """Return whether a worker configuration says this for the tasks of its connectors, and the worker does not."""
    for prefix, names in CLIENT_KEYS.items():
        if key.startswith(prefix):
            return key.removeprefix(prefix) in names
    return key in GOVERNED_KEYS or key.startswith(GOVERNED_PREFIXES)


def _refusal(key: str, value: str | None) -> str | None:
    """Return why a key may not be there, None where it may."""
    if value is None:
        return "it has no value"
    for prefix, names in CLIENT_KEYS.items():
        if key.startswith(prefix) and key.removeprefix(prefix) not in names:
            return f"below {prefix} there may be nothing but {', '.join(names)}"
    if key in REFUSED_KEYS:
        return "it is for the worker to say"
    own = next(_prefixes(key), None)
    return None if own is None else f"what begins with {own} is for the worker to say"


def _prefixes(key: str) -> Iterator[str]:
    return (prefix for prefix in REFUSED_PREFIXES if key.startswith(prefix))

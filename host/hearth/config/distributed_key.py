"""The keys of a distributed worker, as in `connect-distributed`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hearth.config.source_key import OFFSETS_TOPIC_KEY
from hearth.config.topic_key import check_partitions, check_replication_factor
from hearth.config.worker_key import WorkerConfig
from hearth_api import (
    CaseInsensitiveValidString,
    ConfigError,
    ConfigType,
    Importance,
    Lambda,
    Range,
    key,
)

CONFIG_TOPIC, STATUS_TOPIC, OFFSET_TOPIC = "config.storage.topic", "status.storage.topic", "offset.storage.topic"
DEFAULT_OFFSET_TOPIC = "connect-offsets-"
"""Prefix of the default offsets topic, before the name of the cluster."""
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
CONFIG_STORAGE, STATUS_STORAGE, OFFSET_STORAGE = "config.storage.", "status.storage.", "offset.storage."
_OWN_SETTINGS = ("topic", "partitions", "replication.factor", "cleanup.policy")
"""Keys below a storage prefix that are not topic settings, or that users may not choose."""
DISABLED, PREPARING, ENABLED = "disabled", "preparing", "enabled"
PROTOCOLS = ("eager", "compatible", "sessioned")
SIGNATURE, VERIFICATION = "inter.worker.signature.algorithm", "inter.worker.verification.algorithms"
INT_MAX = 2_147_483_647
SHORTEST_KEY_BITS = 40

HMACS: Mapping[str, tuple[str, int]] = {
    "HmacMD5": ("md5", 512),
    "HmacSHA1": ("sha1", 512),
    "HmacSHA224": ("sha224", 224),
    "HmacSHA256": ("sha256", 256),
    "HmacSHA384": ("sha384", 384),
    "HmacSHA512": ("sha512", 512),
    "HmacSHA3-224": ("sha3_224", 224),
    "HmacSHA3-256": ("sha3_256", 256),
    "HmacSHA3-384": ("sha3_384", 384),
    "HmacSHA3-512": ("sha3_512", 512),
}
"""Java's signature algorithms, with the name of their hash in `hashlib` and their default key size in bits."""
MEANINGLESS = {
    "connect.protocol": "the hosts of a cluster hand everything over at once, by one protocol",
    "scheduled.rebalance.max.delay.ms": "the work of a host that has left continues elsewhere at once",
    "worker.sync.timeout.ms": "a host that reads slowly stays in its group",
    "worker.unsync.backoff.ms": "a host that reads slowly stays in its group",
}
"""Keys that are accepted and checked but have no effect, with the reason."""


def _known_algorithm(name: str, value: Any) -> None:
    if value not in HMACS:
        supported = f"the algorithm is not supported here; the supported algorithms are: {', '.join(HMACS)}"
        raise ConfigError(name, value, supported)


def _known_algorithms(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(name, "[]", "At least one signature verification algorithm must be provided")
    for algorithm in value:
        _known_algorithm(name, algorithm)


def _known_protocol(name: str, value: Any) -> None:
    if str(value).lower() not in PROTOCOLS:
        raise ConfigError(name, value, "Invalid Connect protocol compatibility")


class DistributedConfig(WorkerConfig):
    """The keys of `hearth distributed`.

    As in Kafka Connect, Kafka client keys without a prefix apply to the host's own clients; only those that the host
    itself reads are declared here.
    """

    group_id: str = key(
        "group.id",
        importance=Importance.HIGH,
        doc="The name of the cluster; hosts with the same name and Kafka cluster form one.",
    )
    session_timeout_ms: int = key(
        "session.timeout.ms",
        default=10000,
        importance=Importance.HIGH,
        doc="The time in milliseconds without a heartbeat after which a host is considered dead.",
    )
    rebalance_timeout_ms: int = key(
        "rebalance.timeout.ms",
        default=60000,
        importance=Importance.HIGH,
        doc="The time in milliseconds that a host has to hand over when the group rebalances.",
    )
    heartbeat_interval_ms: int = key(
        "heartbeat.interval.ms",
        default=3000,
        importance=Importance.HIGH,
        doc="The interval of heartbeats in milliseconds; less than session.timeout.ms.",
    )
    exactly_once: str = key(
        "exactly.once.source.support",
        default=DISABLED,
        check=CaseInsensitiveValidString("DISABLED", "ENABLED", "PREPARING"),
        importance=Importance.HIGH,
        doc="Whether sources write their records and offsets in transactions: disabled, enabled, or preparing. "
        "Every host of a cluster must be preparing before the first is enabled.",
    )
    client_id: str = key(
        "client.id",
        default="",
        importance=Importance.LOW,
        doc="The client id of the host's own clients in the brokers' logs, appended to the group's name.",
    )
    worker_sync_timeout_ms: int = key(
        "worker.sync.timeout.ms",
        default=3000,
        doc="How long a Java worker that lags behind may take to catch up; ignored.",
    )
    worker_unsync_backoff_ms: int = key(
        "worker.unsync.backoff.ms",
        default=300000,
        doc="How long a Java worker that could not catch up stays out of its group; ignored.",
    )
    named_offset_topic: str | None = key(
        OFFSET_TOPIC,
        default=None,
        importance=Importance.HIGH,
        doc=f"The topic that keeps the offsets of source connectors; {DEFAULT_OFFSET_TOPIC}GROUP unless given. Java's "
        "workers have to be given it.",
    )
    offset_partitions: int = key(
        "offset.storage.partitions",
        default=25,
        check=Lambda(check_partitions, "Positive number, or -1 to use the broker's default"),
        importance=Importance.LOW,
        doc="Its number of partitions when it is created.",
    )
    offset_replication_factor: int = key(
        "offset.storage.replication.factor",
        type=ConfigType.SHORT,
        default=3,
        check=Lambda(check_replication_factor, "Positive number, or -1 to use the broker's default"),
        importance=Importance.LOW,
        doc="Its replication factor when it is created.",
    )
    config_topic: str = key(
        CONFIG_TOPIC,
        importance=Importance.HIGH,
        doc="The topic with the configurations of connectors and tasks. It has one partition.",
    )
    config_replication_factor: int = key(
        "config.storage.replication.factor",
        type=ConfigType.SHORT,
        default=3,
        check=Lambda(check_replication_factor, "Positive number, or -1 to use the broker's default"),
        importance=Importance.LOW,
        doc="Its replication factor when it is created.",
    )
    status_topic: str = key(
        STATUS_TOPIC,
        importance=Importance.HIGH,
        doc="The topic with the statuses of connectors and tasks.",
    )
    status_partitions: int = key(
        "status.storage.partitions",
        default=5,
        check=Lambda(check_partitions, "Positive number, or -1 to use the broker's default"),
        importance=Importance.LOW,
        doc="Its number of partitions when it is created.",
    )
    status_replication_factor: int = key(
        "status.storage.replication.factor",
        type=ConfigType.SHORT,
        default=3,
        check=Lambda(check_replication_factor, "Positive number, or -1 to use the broker's default"),
        importance=Importance.LOW,
        doc="Its replication factor when it is created.",
    )
    connect_protocol: str = key(
        "connect.protocol",
        default="sessioned",
        check=Lambda(_known_protocol, f"[{', '.join(PROTOCOLS)}]"),
        importance=Importance.LOW,
        doc="The protocol by which Java workers share their work; ignored.",
    )
    scheduled_rebalance_max_delay_ms: int = key(
        "scheduled.rebalance.max.delay.ms",
        default=300000,
        check=Range.between(0, INT_MAX),
        importance=Importance.LOW,
        doc="How long Java workers wait for one that has left; ignored.",
    )
    inter_worker_key_ttl_ms: int = key(
        "inter.worker.key.ttl.ms",
        default=3600000,
        check=Range.between(0, INT_MAX),
        importance=Importance.LOW,
        doc="The interval in milliseconds at which the leader rotates the session key for internal requests; 0 "
        "disables it.",
    )
    inter_worker_key_generation_algorithm: str = key(
        "inter.worker.key.generation.algorithm",
        default="HmacSHA256",
        check=Lambda(_known_algorithm, f"one of {', '.join(HMACS)}"),
        importance=Importance.LOW,
        doc="The algorithm for which session keys are generated.",
    )
    inter_worker_key_size: int | None = key(
        "inter.worker.key.size",
        default=None,
        importance=Importance.LOW,
        doc="The size of session keys in bits; the algorithm's default if unset.",
    )
    inter_worker_signature_algorithm: str = key(
        SIGNATURE,
        default="HmacSHA256",
        check=Lambda(_known_algorithm, f"one of {', '.join(HMACS)}"),
        importance=Importance.LOW,
        doc="The algorithm with which hosts sign internal requests.",
    )
    inter_worker_verification_algorithms: list[str] = key(
        VERIFICATION,
        default=["HmacSHA256"],
        check=Lambda(_known_algorithms, f"a list of {', '.join(HMACS)}"),
        importance=Importance.LOW,
        doc="The signature algorithms accepted from other hosts; must include the host's own.",
    )

    def __init__(self, props: Mapping[str, Any]) -> None:
        super().__init__(props)
        self._check_names()
        self._check_signatures()

    @property
    def is_exactly_once(self) -> bool:
        """Return whether sources use transactions."""
        return self.exactly_once.lower() == ENABLED

    def has_own_offsets(self, config: Mapping[str, Any]) -> bool:
        """Return whether a source needs its own offset clients: for transactions, or for its own offsets topic."""
        return self.is_exactly_once or bool((config.get(OFFSETS_TOPIC_KEY) or "").strip())

    @property
    def identity(self) -> str:
        """Return the cluster's name, which its hosts share as their identity in sinks' groups."""
        return self.group_id

    @property
    def offset_topic(self) -> str:
        """Return the cluster's offsets topic."""
        named = self.named_offset_topic
        return f"{DEFAULT_OFFSET_TOPIC}{self.group_id}" if named is None else named

    @property
    def transactional_id(self) -> str:
        """Return the transactional id for the exclusive right to write; Java workers use the same."""
        return f"connect-cluster-{self.group_id}"

    @property
    def client_base(self) -> str:
        """Return the prefix of the client ids of the host's own clients, as `ConnectUtils.clientIdBase`."""
        return f"{self.group_id}-{self.client_id}-" if self.client_id.strip() else f"{self.group_id}-"

    def topic_settings(self, prefix: str) -> dict[str, str]:
        """Return the settings of an internal topic, from the keys below `config.storage.` and the like."""
        return {name: value for name, value in self.with_prefix(prefix).items() if name not in _OWN_SETTINGS}

    @classmethod
    def unknown_among(cls, props: Iterable[str]) -> list[str]:
        """Return the unknown keys of these; those below a storage prefix are for the brokers."""
        storage = (CONFIG_STORAGE, STATUS_STORAGE, OFFSET_STORAGE)
        return [name for name in super().unknown_among(props) if not name.startswith(storage)]

    def idle_keys(self) -> dict[str, str]:
        """Return the keys that have no effect, with the reason."""
        idle = {name: reason for name, reason in MEANINGLESS.items() if name in self.originals}
        if "config.storage.partitions" in self.originals:
            idle["config.storage.partitions"] = "the topic of configurations has one partition"
        for prefix in (CONFIG_STORAGE, STATUS_STORAGE, OFFSET_STORAGE):
            if f"{prefix}cleanup.policy" in self.originals:
                idle[f"{prefix}cleanup.policy"] = "the topics of a cluster are always compacted"
        return idle

    def _check_names(self) -> None:
        """Raise ConfigError if a name is missing, or one topic has two purposes."""
        if not self.group_id.strip():
            raise ConfigError("group.id", self.group_id, "a cluster needs a name, the same on all its hosts")
        if self.named_offset_topic is None and not _TOPIC.fullmatch(self.offset_topic):
            raise ConfigError(OFFSET_TOPIC, None, f"no topic can be called {self.offset_topic!r}: give it a name")
        seen: dict[str, str] = {}
        topics = {CONFIG_TOPIC: self.config_topic, STATUS_TOPIC: self.status_topic, OFFSET_TOPIC: self.offset_topic}
        for name, topic in topics.items():
            if not topic.strip():
                raise ConfigError(name, topic, "the name of a topic is expected")
            if (other := seen.setdefault(topic, name)) != name:
                raise ConfigError(name, topic, f"{other} names the same topic, and each needs one of its own")

    def _check_signatures(self) -> None:
        """Raise ConfigError if session keys cannot be created, or the host would reject its own signature."""
        size, algorithm = self.inter_worker_key_size, self.inter_worker_key_generation_algorithm
        if size is not None and size < SHORTEST_KEY_BITS:
            raise ConfigError(
                f"Unable to create key generator with algorithm {algorithm} and key size {size}: "
                f"Key length must be at least {SHORTEST_KEY_BITS} bits"
            )
        if self.inter_worker_signature_algorithm not in self.inter_worker_verification_algorithms:
            raise ConfigError(
                SIGNATURE,
                self.inter_worker_signature_algorithm,
                f"Signature algorithm must be present in {VERIFICATION} list",
            )

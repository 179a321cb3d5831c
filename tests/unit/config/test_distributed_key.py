"""The properties of a distributed worker."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.config import DistributedConfig
from hearth.config.distributed_key import CONFIG_STORAGE, OFFSET_STORAGE
from hearth.foundation.properties import parse
from hearth_api import ConfigError

SAMPLE = parse(
    b"""
bootstrap.servers=localhost:9092
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=true
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
#offset.storage.partitions=25
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
#status.storage.partitions=5
offset.flush.interval.ms=10000
"""
)
"""Kafka's own connect-distributed.properties, without its comments."""


def test_kafkas_sample_file_is_read_unchanged() -> None:
    """With no unknown key and none without effect."""
    worker = DistributedConfig(SAMPLE)
    assert (worker.config_topic, worker.status_topic, worker.offset_topic) == (
        "connect-configs", "connect-status", "connect-offsets",
    )  # fmt: skip
    assert (worker.offset_partitions, worker.status_partitions, worker.config_replication_factor) == (25, 5, 1)
    assert (worker.session_timeout_ms, worker.heartbeat_interval_ms, worker.rebalance_timeout_ms) == (
        10000, 3000, 60000,
    )  # fmt: skip
    assert worker.identity == "connect-cluster"
    assert not worker.is_exactly_once
    assert (worker.unknown_keys(), worker.idle_keys()) == ([], {})


def test_client_ids_and_transactional_id_equal_javas() -> None:
    """A Java worker of the group fences a host, and vice versa."""
    assert DistributedConfig(SAMPLE).client_base == "connect-cluster-"
    assert DistributedConfig({**SAMPLE, "client.id": "me"}).client_base == "connect-cluster-me-"
    assert DistributedConfig(SAMPLE).transactional_id == "connect-cluster-connect-cluster"


@pytest.mark.parametrize(("support", "is_exact"), [("disabled", False), ("PREPARING", False), ("Enabled", True)])
def test_sources_write_exactly_once_where_that_is_enabled(support: str, is_exact: bool) -> None:
    """With preparing, the leader can be fenced, as it always can here."""
    worker = DistributedConfig({**SAMPLE, "exactly.once.source.support": support})
    assert worker.is_exactly_once is is_exact
    assert worker.transactional_id == "connect-cluster-connect-cluster"


@pytest.mark.parametrize("missing", ["group.id", *(f"{each}.storage.topic" for each in ("config", "status"))])
def test_a_missing_key_is_named(missing: str) -> None:
    """Kafka's sentence."""
    props = {name: value for name, value in SAMPLE.items() if name != missing}
    with pytest.raises(ConfigError, match=f'Missing required configuration "{missing}" which has no default value.'):
        DistributedConfig(props)


def test_the_default_offsets_topic_is_named_after_the_cluster() -> None:
    """Kafka Connect would not start; two clusters on one Kafka never share it."""
    props = {name: value for name, value in SAMPLE.items() if name != "offset.storage.topic"}
    assert DistributedConfig({**props, "group.id": "orders"}).offset_topic == "connect-offsets-orders"
    assert DistributedConfig(SAMPLE).offset_topic == "connect-offsets"
    with pytest.raises(ConfigError, match="no topic can be called 'connect-offsets-of all': give it a name"):
        DistributedConfig({**props, "group.id": "of all"})
    with pytest.raises(ConfigError, match=r"config\.storage\.topic names the same topic"):
        DistributedConfig({**props, "group.id": "x", "config.storage.topic": "connect-offsets-x"})


UNSUPPORTED = "the algorithm is not supported here; the supported algorithms are: HmacMD5, "


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("group.id", " ", "a cluster needs a name"),
        ("offset.storage.topic", "connect-status", "status.storage.topic names the same topic"),
        ("status.storage.topic", "", "the name of a topic is expected"),
        ("config.storage.replication.factor", "0", "Replication factor must be positive and not larger than"),
        ("offset.storage.partitions", "0", "Number of partitions must be positive, or -1 to use the broker's default"),
        ("exactly.once.source.support", "maybe", "String must be one of (case insensitive): "),
        ("connect.protocol", "fast", "Invalid Connect protocol compatibility"),
        ("scheduled.rebalance.max.delay.ms", "-1", "Value must be at least 0"),
        ("inter.worker.key.ttl.ms", "-1", "Value must be at least 0"),
        ("inter.worker.key.generation.algorithm", "Rot13", UNSUPPORTED),
        ("inter.worker.key.size", "8", "key size 8: Key length must be at least 40 bits"),
        ("inter.worker.signature.algorithm", "Rot13", UNSUPPORTED),
        ("inter.worker.signature.algorithm", "HmacSHA512", "Signature algorithm must be present in inter.worker."),
        ("inter.worker.verification.algorithms", "", "At least one signature verification algorithm must be provided"),
        ("inter.worker.verification.algorithms", "HmacSHA256,Rot13", UNSUPPORTED),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused(key: str, value: str, says: str) -> None:
    """With its key and the valid values, in Java's words if it has them."""
    with pytest.raises(ConfigError) as refusal:
        DistributedConfig({**SAMPLE, key: value})
    assert says in str(refusal.value)


def test_topics_are_created_with_the_settings_of_their_prefix() -> None:
    """Except for settings that all such topics share."""
    settings: dict[str, Any] = {
        "config.storage.min.insync.replicas": "2", "config.storage.partitions": "3",
        "config.storage.cleanup.policy": "delete", "offset.storage.segment.bytes": "1048576",
    }  # fmt: skip
    worker = DistributedConfig({**SAMPLE, **settings})
    assert worker.topic_settings(CONFIG_STORAGE) == {"min.insync.replicas": "2"}
    assert worker.topic_settings(OFFSET_STORAGE) == {"segment.bytes": "1048576"}
    assert list(worker.idle_keys()) == ["config.storage.partitions", "config.storage.cleanup.policy"]


def test_keys_without_effect_are_reported() -> None:
    """Keys about how Java workers share their work are checked, and reported with the reason."""
    idle = DistributedConfig({**SAMPLE, "connect.protocol": "Eager", "worker.sync.timeout.ms": "1"}).idle_keys()
    assert list(idle) == ["connect.protocol", "worker.sync.timeout.ms"]

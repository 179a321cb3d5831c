"""The configuration of the broker: loopback interface only, and limited disk space."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hearth.foundation.port import LOOPBACK

_SEGMENT_BYTES = 64 << 20

# One node, so one replica of everything.
_SINGLE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "group.initial.rebalance.delay.ms": "0",
}
# A killed broker can register again once its old session has expired: after 3 seconds instead of Kafka's 9.
_FAST_RETURN = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
}
# Retention is by size and never by age: records may have timestamps of years ago, and retention by age would delete
# them within seconds. The check is frequent because a benchmark writes a gigabyte within Kafka's default interval.
_BOUNDED_DISK = {
    "log.retention.ms": "-1",
    "log.segment.bytes": str(_SEGMENT_BYTES),
    "log.retention.check.interval.ms": "10000",
    "log.segment.delete.delay.ms": "1000",
    "metadata.log.segment.bytes": str(8 << 20),
    "metadata.max.retention.bytes": str(32 << 20),
}
# Kafka's defaults are for a server: a cleaner buffer of 128 MB, and a write to the metadata log twice a second.
_SMALL_MACHINE = {
    "log.cleaner.dedupe.buffer.size": str(4 << 20),
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "metadata.max.idle.interval.ms": "5000",
}


def broker_settings(
    folder: Path, port: int, controller_port: int, retention_bytes: int, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the server properties of a broker that keeps at most `retention_bytes` of each partition."""
    return {
        **_SINGLE_NODE,
        **_FAST_RETURN,
        **_BOUNDED_DISK,
        **_SMALL_MACHINE,
        "log.dirs": str(folder / "data"),
        "log.retention.bytes": str(retention_bytes),
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        **extra,
    }

"""Rules of the broker's configuration."""

from __future__ import annotations

from pathlib import Path

from hearth.broker.server_properties import broker_settings

_SETTINGS = broker_settings(Path("/data"), 9092, 9093, 1 << 30, {"auto.create.topics.enable": "false"})


def test_broker_listens_on_the_loopback_interface_only() -> None:
    """Nothing of a broker without passwords is reachable from another machine."""
    addresses = [value for key, value in _SETTINGS.items() if "listeners" in key or key.endswith("voters")]
    hosts = [part.split("://")[-1].split("@")[-1] for value in addresses for part in value.split(",")]
    assert [host for host in hosts if host != "CONTROLLER" and not host.startswith("127.0.0.1:")] == []


def test_disk_is_bounded_by_size_and_never_by_age() -> None:
    """Records with old timestamps stay, and no partition grows for ever."""
    assert _SETTINGS["log.retention.ms"] == "-1"
    assert int(_SETTINGS["log.retention.bytes"]) == 1 << 30
    assert int(_SETTINGS["log.segment.bytes"]) < 1 << 30


def test_internal_topics_have_one_replica() -> None:
    """With Kafka's default of three, a single node could not create them."""
    replicas = {key: value for key, value in _SETTINGS.items() if key.endswith(("replication.factor", "min.isr"))}
    assert len(replicas) >= 5
    assert set(replicas.values()) == {"1"}


def test_further_settings_win() -> None:
    """What the caller adds is the last word."""
    assert _SETTINGS["auto.create.topics.enable"] == "false"

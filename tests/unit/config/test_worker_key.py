"""The properties of a worker, and the identity of a standalone host."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hearth.config import StandaloneConfig
from hearth_api import ConfigError

MINIMAL = {
    "bootstrap.servers": "a:1, b:2",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "/tmp/connect.offsets",
}


def test_a_minimal_file_has_kafkas_defaults() -> None:
    """The typed attributes have the parsed values."""
    worker = StandaloneConfig(MINIMAL)
    assert worker.bootstrap_servers == ["a:1", "b:2"]
    assert worker.offset_flush_interval_ms == 60000
    assert worker.plugin_path is None
    assert worker.listeners == ["http://:8083"]
    assert worker.unknown_keys() == []


@pytest.mark.parametrize("missing", sorted(MINIMAL))
def test_a_missing_required_key_is_named(missing: str) -> None:
    """Kafka's sentence."""
    props = {name: value for name, value in MINIMAL.items() if name != missing}
    with pytest.raises(ConfigError, match=f'Missing required configuration "{missing}" which has no default value.'):
        StandaloneConfig(props)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (
            "offset.flush.interval.ms",
            "soon",
            "Invalid value soon for configuration offset.flush.interval.ms: Not a number",
        ),
        ("topic.tracking.enable", "yes", "Expected value to be either true or false"),
        ("listeners", "", "at least one URL is expected"),
        ("listeners", "http://:8083, ,http://:1", "Empty URL found"),
        ("plugin.path", "", "must not be empty"),
        ("plugin.path", "a,,b", "must not be empty"),
        ("metrics.recording.level", "info", "String must be one of: INFO, DEBUG"),
        ("response.http.headers.config", "put X: y", "Expected one of [set, add, setDate, addDate]"),
        ("response.http.headers.config", "add X", "Invalid format of header name and header value pair 'X'"),
        ("bootstrap.servers", "", "must not be empty"),
        ("plugin.call.timeout.ms", "0", "Value must be at least 1"),
        ("plugin.isolation", "process", "String must be one of: environment, connector"),
        ("plugin.trust", "none", "String must be one of: any, hashed, signed"),
        ("plugin.upgrade", "no", "String must be one of: restart, none"),
        ("task.isolation", "connector", "String must be one of: process, environment"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(key: str, value: str, says: str) -> None:
    """The message suffices to find the line."""
    with pytest.raises(ConfigError) as caught:
        StandaloneConfig({**MINIMAL, key: value})
    assert says in str(caught.value)


def test_a_connector_may_override_the_call_timeout() -> None:
    """The worker's value is the default, and an invalid value is reported with its key."""
    worker = StandaloneConfig({**MINIMAL, "plugin.call.timeout.ms": "2500"})
    assert worker.call_seconds({}) == worker.call_seconds({"plugin.call.timeout.ms": None}) == 2.5
    assert worker.call_seconds({"plugin.call.timeout.ms": " 40 "}) == 0.04
    for wrong in ("soon", "0"):
        with pytest.raises(ConfigError, match=r"Invalid value .* for configuration plugin\.call\.timeout\.ms: "):
            worker.call_seconds({"plugin.call.timeout.ms": wrong})


def test_a_connector_may_override_its_isolation() -> None:
    """With the same rules."""
    worker, apart = StandaloneConfig(MINIMAL), StandaloneConfig({**MINIMAL, "plugin.isolation": "connector"})
    assert [each.is_apart({}) for each in (worker, apart)] == [False, True]
    assert worker.is_apart({"plugin.isolation": "connector"})
    assert not apart.is_apart({"plugin.isolation": "environment"})
    with pytest.raises(ConfigError, match=r"Invalid value task for configuration plugin\.isolation: String must be"):
        worker.is_apart({"plugin.isolation": "task"})


def test_a_connector_may_override_upgrades() -> None:
    """With the same rules."""
    worker, steady = StandaloneConfig(MINIMAL), StandaloneConfig({**MINIMAL, "plugin.upgrade": "none"})
    assert [each.follows_upgrades({}) for each in (worker, steady)] == [True, False]
    assert [each.follows_upgrades({"plugin.upgrade": "none"}) for each in (worker, steady)] == [False, False]
    assert steady.follows_upgrades({"plugin.upgrade": "restart"})


def test_a_connector_may_override_the_isolation_of_its_tasks() -> None:
    """With the same rules, but sharing is off by default."""
    worker, together = StandaloneConfig(MINIMAL), StandaloneConfig({**MINIMAL, "task.isolation": "environment"})
    assert [each.shares_processes({}) for each in (worker, together)] == [False, True]
    assert worker.shares_processes({"task.isolation": "environment"})
    assert not together.shares_processes({"task.isolation": "process"})
    with pytest.raises(ConfigError, match=r"Invalid value task for configuration task\.isolation: String must be one"):
        worker.shares_processes({"task.isolation": "task"})


def test_unknown_keys_are_found_in_their_order() -> None:
    """Clients, plugins and Spark check the keys with an open prefix."""
    worker = StandaloneConfig(
        {
            **MINIMAL,
            "zz": "1",
            "producer.acks": "1",
            "spark.master": "local",
            "key.converter.x": "",
            "offsets": "2",
        }
    )
    assert worker.unknown_keys() == ["zz", "offsets"]
    assert worker.spark == {"spark.master": "local"}
    assert worker.converter_settings("key.converter") == {"x": ""}


def test_printing_a_configuration_hides_passwords() -> None:
    """Configurations are printed in logs."""
    assert "secret" not in repr(StandaloneConfig({**MINIMAL, "ssl.key.password": "secret"}).parsed)


def test_the_identity_of_a_host_is_its_offset_file(tmp_path: Path) -> None:
    """Regardless of spelling, so that tasks of a restarted host are the same group members."""
    (tmp_path / "link").symlink_to(tmp_path)
    names = ("offsets", "link/offsets", "other")
    first, again, other = (_identity(tmp_path / name) for name in names)
    assert first == again != other


def _identity(offsets: Path) -> str:
    return StandaloneConfig({**MINIMAL, "offset.storage.file.filename": str(offsets)}).identity


def test_hosts_on_two_machines_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path on another machine is another file."""
    here = _identity(tmp_path / "offsets")
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert _identity(tmp_path / "offsets") != here

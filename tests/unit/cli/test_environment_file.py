"""Variables of Kafka Connect's images set the keys of a worker."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.cli.environment_file import NAMING, PLACE, key_of, keys_of, log_levels_of, variable_of
from hearth.cli.worker_file import checked_worker
from hearth.cli.worker_mode import DISTRIBUTED
from hearth_api import ConfigError

MINIMAL = {
    "CONNECT_BOOTSTRAP_SERVERS": "kafka:9092",
    "CONNECT_GROUP_ID": "connect",
    "CONNECT_CONFIG_STORAGE_TOPIC": "connect-configs",
    "CONNECT_OFFSET_STORAGE_TOPIC": "connect-offsets",
    "CONNECT_STATUS_STORAGE_TOPIC": "connect-status",
    "CONNECT_KEY_CONVERTER": "org.apache.kafka.connect.json.JsonConverter",
    "CONNECT_VALUE_CONVERTER": "org.apache.kafka.connect.json.JsonConverter",
}


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("CONNECT_REST_ADVERTISED_HOST_NAME", "rest.advertised.host.name"),
        ("CONNECT_KEY_CONVERTER_SCHEMAS_ENABLE", "key.converter.schemas.enable"),
        ("CONNECT_A__B___C_D", "a_b-c.d"),
        ("CONNECT_CONFIG_PROVIDERS_MY__OWN_CLASS", "config.providers.my_own.class"),
    ],
)
def test_a_variable_is_the_key_in_upper_case(variable: str, key: str) -> None:
    """A dot is an underscore, an underscore two, a dash three."""
    assert key_of(variable) == key
    assert variable_of(key) == variable


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4), st.data())
def test_each_key_has_a_variable(words: list[str], data: st.DataObject) -> None:
    """As long as no two separators follow each other."""
    key = words[0] + "".join(data.draw(st.sampled_from("._-")) + word for word in words[1:])
    assert key_of(variable_of(key)) == key


def test_other_variables_set_nothing() -> None:
    """Those of the levels of loggers are options of the log."""
    levels = {"CONNECT_LOG4J_ROOT_LOGLEVEL": "WARN", "CONNECT_LOG4J_LOGGERS": "org.a=INFO, org.b=DEBUG,"}
    assert keys_of({**levels, "PATH": "/bin", "CONNECTED": "x", "CONNECT_GROUP_ID": "g"}) == {"group.id": "g"}
    assert log_levels_of(levels) == ["WARN", "org.a=INFO", "org.b=DEBUG"]
    assert log_levels_of({}) == []


def test_a_file_has_the_secret(tmp_path: Path) -> None:
    """Its last line end is not part of it; a missing file and a value in both places are refused."""
    secret = tmp_path / "jaas"
    secret.write_text("org.Login required\n  password='x';\n")
    name = "CONNECT_SASL_JAAS_CONFIG_FILE"
    assert keys_of({name: str(secret)}) == {"sasl.jaas.config": "org.Login required\n  password='x';"}
    with pytest.raises(ConfigError, match=f"{name}=.*: no such file or directory"):
        keys_of({name: str(tmp_path / "none")})
    with pytest.raises(ConfigError, match="CONNECT_SASL_JAAS_CONFIG is set as well"):
        keys_of({name: str(secret), "CONNECT_SASL_JAAS_CONFIG": "x"})
    secret.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        keys_of({name: str(secret)})


def test_a_port_alone_is_a_listener_on_all_addresses() -> None:
    """Listeners that are set win."""
    assert keys_of({"CONNECT_REST_PORT": "8084"}) == {"listeners": "http://:8084"}
    both = {"CONNECT_REST_PORT": "8084", "CONNECT_LISTENERS": "http://:1"}
    assert keys_of(both) == {"listeners": "http://:1"}


def test_variables_of_java_are_named_as_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    """With what has the effect here."""
    with caplog.at_level(logging.WARNING):
        assert keys_of({"KAFKA_HEAP_OPTS": "-Xmx2g", "CONNECT_CUB_KAFKA_TIMEOUT": "40"}) == {}
    assert "KAFKA_HEAP_OPTS has no effect: Spark's keys set the memory of its JVM" in caplog.text
    assert "CONNECT_CUB_KAFKA_TIMEOUT has no effect" in caplog.text


def test_what_the_image_requires_is_a_worker() -> None:
    """An error names the place and says how variables are called."""
    worker = checked_worker(PLACE, keys_of(MINIMAL), DISTRIBUTED, NAMING)
    assert worker.group_id == "connect"
    assert worker.originals["config.storage.topic"] == "connect-configs"
    for missing in MINIMAL.keys() - {"CONNECT_BOOTSTRAP_SERVERS", "CONNECT_OFFSET_STORAGE_TOPIC"}:
        left = {name: value for name, value in MINIMAL.items() if name != missing}
        with pytest.raises(ConfigError, match=f'the environment: .*"{key_of(missing)}"') as caught:
            checked_worker(PLACE, keys_of(left), DISTRIBUTED, NAMING)
        assert caught.value.hint == NAMING

"""Validation compared with Kafka Connect 4.3.1's responses to the same configurations.

kafka_validation.json has its responses without documentation: full ones for a source and a sink, and the differences
from those for every other configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.override import new_policy
from hearth.herder.validation.result import complaint
from hearth.isolation import limit_probe
from hearth_api import ConfigError, NotFoundError, PluginError
from tests.unit.herder.catalogue import GOLDEN, SOURCE, WORKER, directory


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectorValidator]:
    """Return a validator over stand-ins for Kafka's plugins."""
    pool = StagePool()
    yield ConnectorValidator(directory(tmp_path_factory.mktemp("environments")), WorkerConfig(WORKER), pool)
    pool.close()


def entries(result: dict[str, Any]) -> dict[str, list[Any]]:
    """Return a response in the short form of the golden file."""
    found = {}
    for config in result["configs"]:
        definition, value = config["definition"], config["value"]
        shown = definition and [text for member, text in definition.items() if member != "documentation"]
        found[value["name"]] = [
            shown, [value["recommended_values"], value["value"], value["errors"], value["visible"]]
        ]  # fmt: skip
    return found


def expected_entries(case: dict[str, Any]) -> dict[str, list[Any]]:
    """Return Kafka's full response in that form."""
    base = GOLDEN["base"]["sink" if "Sink" in case["config"]["connector.class"] else "source"]
    found = {}
    for name in case["names"].split():
        definition, (value, recommended, errors, visible) = case["changed"].get(name) or base[name]
        if isinstance(recommended, str):
            recommended = GOLDEN["plugins"][recommended[1:]]
        found[name] = [definition, [recommended, value, errors, visible]]
    return found


@pytest.mark.parametrize("name", [name for name, case in GOLDEN["cases"].items() if "message" not in case])
def test_the_response_equals_kafkas(validator: ConnectorValidator, name: str) -> None:
    """Names, order, groups, definitions, values, recommendations, visibility and messages."""
    case = GOLDEN["cases"][name]
    result = validator.validate(case["config"])
    ours, kafkas = entries(result), expected_entries(case)
    assert ours == kafkas
    assert list(ours) == list(kafkas)
    assert (result["name"], result["error_count"]) == (case["name"], case["error_count"])
    assert result["groups"] == case["groups"]


def test_a_configuration_without_a_class_is_rejected(validator: ConnectorValidator) -> None:
    """Kafka shows the map."""
    with pytest.raises(ConfigError, match=r"Connector config \{name=a, b=null\} contains no connector type"):
        validator.validate({"name": "a", "b": None})


def test_an_unknown_class_is_rejected_with_the_nearest_names(validator: ConnectorValidator) -> None:
    """Kafka's message comes first, for clients that compare it, then the help."""
    with pytest.raises(ConfigError) as caught:
        validator.validate({"connector.class": "FileStreamSurce"})
    text = str(caught.value)
    assert text.startswith(
        "Failed to find any class that implements Connector and which name matches FileStreamSurce, available "
        "connectors are: PluginDesc{klass=class org.apache.kafka.connect.file.FileStreamSinkConnector, "
        "name='org.apache.kafka.connect.file.FileStreamSinkConnector', version='4.3.1', encodedVersion=4.3.1, "
        "type=sink, typeName='sink', location='classpath'}, PluginDesc{klass=class " + SOURCE
    )
    assert "FileStreamSource" in text[text.index("Nearest names:") :]


def test_errors_have_kafkas_format(validator: ConnectorValidator) -> None:
    """One message per line, between Kafka's two sentences."""
    message = complaint(validator.validate({"connector.class": "FileStreamSource", "tasks.max": "x", "topic": "t"}))
    assert message == (
        "Connector configuration is invalid and contains the following 3 error(s):\n"
        'Missing required configuration "name" which has no default value.\n'
        "Invalid value x for configuration tasks.max: Not a number of type INT\n"
        "Invalid value null for configuration tasks.max: Value must be non-null\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_a_valid_configuration_has_no_error_message(validator: ConnectorValidator) -> None:
    """There is nothing to say."""
    assert complaint(validator.validate(GOLDEN["cases"]["source minimal"]["config"])) is None


@pytest.mark.parametrize("deed", ["raise", "exit"])
def test_a_connector_that_fails_to_validate_has_its_reason(validator: ConnectorValidator, deed: str) -> None:
    """The next validation gets a working process."""
    config = {**GOLDEN["cases"]["source minimal"]["config"], "do.validate": deed}
    with pytest.raises(PluginError):
        validator.validate(config)
    assert complaint(validator.validate(GOLDEN["cases"]["source minimal"]["config"])) is None


def test_overrides_that_a_policy_forbids_are_errors(tmp_path: Path) -> None:
    """The message has the policy and the key."""
    pool = StagePool()
    worker, known = (
        WorkerConfig({**WORKER, "connector.client.config.override.policy": "Principal"}),
        directory(tmp_path),
    )
    config = {
        **GOLDEN["cases"]["source minimal"]["config"],
        "producer.override.acks": "1",
        "producer.override.sasl.mechanism": "PLAIN",
    }
    result = ConnectorValidator(known, worker, pool, new_policy(worker, known)).validate(config)
    pool.close()
    assert result["error_count"] == 1
    assert complaint(result) is not None
    assert entries(result)["producer.override.acks"][1][2] == [
        "The 'Principal' policy does not allow 'acks' to be overridden in the connector configuration."
    ]


class TestPluginKeys:
    """The response of `/connector-plugins/NAME/config`."""

    def test_a_connectors_own_keys_come_first(self, validator: ConnectorValidator) -> None:
        """Followed by the framework's, without the worker's defaults."""
        keys = {key["name"]: key for key in validator.plugin_keys("FileStreamSource", None)}
        assert list(keys)[:5] == ["file", "topic", "batch.size", "name", "connector.class"]
        assert list(keys)[-1] == "offsets.storage.topic"
        assert keys["key.converter"]["default_value"] is None
        assert keys["connector.plugin.version"]["default_value"] == "4.3.1"

    def test_other_plugins_have_their_own_keys_only(self, validator: ConnectorValidator) -> None:
        """A header converter without keys has an empty list."""
        assert [key["name"] for key in validator.plugin_keys("RegexRouter", "latest")] == ["regex", "replacement"]
        assert validator.plugin_keys("Simple", None) == []

    def test_an_unlisted_key_is_shown_if_used(self, validator: ConnectorValidator) -> None:
        """And validated; otherwise the response equals Kafka Connect's, as in the golden file."""
        name = "transforms.a.beyond"
        router = {"transforms.a.type": "RegexRouter", "transforms.a.regex": "x", "transforms.a.replacement": "y"}
        config = {"name": "n", "connector.class": SOURCE, "topic": "t", "transforms": "a", **router}
        assert name not in entries(validator.validate(config))
        assert entries(validator.validate({**config, name: "true"}))[name][1] == [[], "true", [], True]
        assert f"Invalid value x for configuration {name}" in str(complaint(validator.validate({**config, name: "x"})))

    def test_an_unknown_plugin_is_not_found(self, validator: ConnectorValidator) -> None:
        """With Kafka's message."""
        with pytest.raises(NotFoundError, match=r"Unknown plugin Nope\."):
            validator.plugin_keys("Nope", None)

    @pytest.mark.parametrize(
        ("version", "says"),
        [
            (
                "9.9",
                f"Plugin {SOURCE} not found that matches the version range [9.9,9.9], available versions: [4.3.1]",
            ),
            ("[1,", "Invalid version specification: [1,"),
        ],
    )
    def test_an_unknown_version_is_reported(self, validator: ConnectorValidator, version: str, says: str) -> None:
        """With Kafka's messages."""
        with pytest.raises(ConfigError) as caught:
            validator.plugin_keys("FileStreamSource", version)
        assert str(caught.value) == says


def test_limits_are_defined_if_used(validator: ConnectorValidator) -> None:
    """With documentation and errors; otherwise only Kafka Connect's keys are shown."""
    config = {"connector.class": SOURCE, "name": "n", "topic": "t", "plugin.limits.memory.bytes": "512m"}
    (limit,) = [each for each in validator.validate(config)["configs"] if "limits" in each["value"]["name"]]
    assert limit["definition"]["type"] == "LONG"
    assert limit["value"]["errors"] == [
        "Invalid value 512m for configuration plugin.limits.memory.bytes: Not a number of type LONG"
    ]
    del config["plugin.limits.memory.bytes"]
    assert "plugin.limits" not in str(validator.validate(config))


def test_keys_of_the_jvm_are_defined_if_used(validator: ConnectorValidator) -> None:
    """What the worker does not allow is an error of the key."""
    config = {"connector.class": SOURCE, "name": "n", "topic": "t"}
    assert "plugin.java" not in str(validator.validate(config))
    shown = validator.validate(
        {**config, "plugin.java.options": "-Xmx1g -javaagent:/a.jar", "plugin.java.home": "java"}
    )
    found = {each["value"]["name"]: each for each in shown["configs"] if "plugin.java" in each["value"]["name"]}
    assert {name: each["definition"]["type"] for name, each in found.items()} == {
        "plugin.java.options": "STRING",
        "plugin.java.home": "STRING",
    }
    (options,), (home,) = (found[f"plugin.java.{each}"]["value"]["errors"] for each in ("options", "home"))
    assert options.endswith("configuration plugin.java.options: its worker does not allow '-javaagent:/a.jar'")
    assert home.endswith("configuration plugin.java.home: Value must be an absolute path")


def test_an_unenforceable_limit_is_rejected_with_a_remedy(
    validator: ConnectorValidator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any plugin is started, which would fail."""
    monkeypatch.setattr(limit_probe, "_refusal", lambda limits: "allow namespaces" if limits.has_own_processes else "")
    limit_probe._known_refusal.cache_clear()
    config = {"connector.class": SOURCE, "name": "n", "topic": "t", "plugin.network": "none"}
    with pytest.raises(ConfigError) as caught:
        validator.validate({**config, "plugin.processes": "own"})
    assert str(caught.value) == "Invalid value own for configuration plugin.processes: allow namespaces"
    assert caught.value.hint == "`hearth limits` tests each limit"
    limit_probe._known_refusal.cache_clear()


def test_forbidden_environment_variables_are_errors(validator: ConnectorValidator) -> None:
    """Keys that Kafka Connect does not define are shown only if they are wrong."""
    config = {"connector.class": SOURCE, "name": "n", "topic": "t", "plugin.environment.LD_PRELOAD": "/x.so"}
    result = validator.validate(config)
    (errors,) = [each["value"]["errors"] for each in result["configs"] if each["value"]["errors"]]
    assert errors == ["plugin.environment.LD_PRELOAD: the worker lets no connector set this variable"]
    assert result["error_count"] == 1

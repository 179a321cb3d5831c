"""Configurations of bundles' plugins are validated before anything starts, like those of built-in plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import Host

HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"


def sink(name: str, journal: Path, **settings: str) -> dict[str, str]:
    """Return a sink with a transformation `a`; underscores in keys stand for dots."""
    config = {"name": name, "connector.class": "org.example.RecorderSinkConnector", "topics": name}
    changes = {key.replace("_", "."): value for key, value in settings.items()}
    return {**config, "journal": str(journal), "transforms": "a", **changes}


def refused(host: Host, config: dict[str, str]) -> list[str]:
    """Create a connector, which is refused, and return the messages."""
    answer = host.rest.create(config)
    assert answer.status == 400, answer
    assert answer.json["error_code"] == 400
    assert config["name"] not in host.rest.call("GET", "/connectors").json
    first, *messages, last = str(answer.json["message"]).split("\n")
    assert first == f"Connector configuration is invalid and contains the following {len(messages)} error(s):"
    assert last.startswith("You can also find the above list of errors at the endpoint")
    return messages


@pytest.mark.parametrize(("type_", "key"), [("org.example.Append", "text"), (HOIST, "field")])
def test_a_transformation_without_its_required_key_is_refused(
    host: Host, name: str, tmp_path: Path, type_: str, key: str
) -> None:
    """In a bundle, or installed with the host."""
    assert refused(host, sink(name, tmp_path / "journal", transforms_a_type=type_)) == [
        f'Missing required configuration "transforms.a.{key}" which has no default value.'
    ]


def test_a_bundles_transformation_runs_its_own_validators(host: Host, name: str, tmp_path: Path) -> None:
    """The check runs in its process; the message has the plugin's own name of the key, as in Kafka."""
    settings = {"transforms_a_type": "org.example.Append", "transforms_a_text": "!", "transforms_a_times": "0"}
    config = sink(name, tmp_path / "journal", **settings)
    message = "Invalid value 0 for configuration times: Value must be at least 1"
    assert refused(host, config) == [message]
    result = host.rest.call("PUT", "/connector-plugins/RecorderSinkConnector/config/validate", config).json
    assert result["error_count"] == 1
    assert "Transforms: a: Repetition" in result["groups"]
    found = next(each for each in result["configs"] if each["value"]["name"] == "transforms.a.times")
    assert found["definition"]["group"] == "Transforms: a: Repetition"
    assert found["value"]["errors"] == [message]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raise", "RuntimeError: raised in validate as configured"),
        ("exit", "the stage process of org.example.Misbehave exited with 3"),
        ("kill", "the stage process of org.example.Misbehave was killed by signal 9"),
        ("hang", "the stage process of org.example.Misbehave did not answer 'validate' within 2 s"),
    ],
)
def test_a_transformation_that_misbehaves_in_validation_is_refused(
    host: Host, name: str, tmp_path: Path, how: str, says: str
) -> None:
    """The key that names it has the reason, and the host continues to respond."""
    settings = {"transforms_a_type": "org.example.Misbehave", "transforms_a_misbehave_now": how}
    config = sink(name, tmp_path / "journal", plugin_call_timeout_ms="2000", **settings)
    assert refused(host, config) == [
        "Invalid value class org.example.Misbehave for configuration transforms.a.type: "
        f"Error getting config definition from Transformation: {says}"
    ]


def test_a_bundles_override_policy_is_applied(host: Host, name: str, tmp_path: Path) -> None:
    """Its process is called for each connector."""
    config = sink(name, tmp_path / "journal", consumer_override_zz="1", consumer_override_client_rack="r")
    config |= {"transforms.a.type": "org.example.Append", "transforms.a.text": "!"}
    assert refused(host, config) == ["zz is not for you"]

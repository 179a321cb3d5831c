"""`KafkaConnector` resources become configurations, and configurations resources."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from hearth.client.strimzi import read_resource, write_resource
from hearth_api import ConfigError

TEXT = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: orders
  labels: {strimzi.io/cluster: connect}
  annotations: {strimzi.io/restart: "true", other: x}
spec:
  class: org.example.Orders
  tasksMax: 2
  version: "[1.0,2.0)"
  autoRestart: {enabled: true, maxRestarts: 7}
  state: stopped
  listOffsets: {toConfigMap: {name: x}}
  future: 1
  config:
    rate: 1.50
    flag: yes
    password: ${secrets:ns/orders:password}
"""


def resource(**spec: Any) -> dict[str, Any]:
    """Return a small resource with these members of its spec."""
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnector",
        "metadata": {"name": "c"},
        "spec": {"class": "X", **spec},
    }


def test_all_fields_are_mapped_and_scalars_stay_as_they_are_written() -> None:
    """A configuration holds texts; 1.50 and yes are two."""
    found = read_resource("c.yaml", yaml.load(TEXT, Loader=yaml.BaseLoader))
    assert found.config == {
        "name": "orders",
        "connector.class": "org.example.Orders",
        "tasks.max": "2",
        "connector.plugin.version": "[1.0,2.0)",
        "rate": "1.50",
        "flag": "yes",
        "password": "${secrets:ns/orders:password}",
        "errors.task.restart.max": "7",
    }
    assert found.state == "STOPPED"
    assert found.notes == (
        "spec.listOffsets has no effect here: use `hearth offsets`",
        "spec.future is not known and has no effect",
        "the annotation strimzi.io/restart has no effect here",
    )


def test_states_and_restarts_have_strimzis_defaults() -> None:
    """Running, without restarts; enabled restarts have no limit; pause is the older field."""
    plain = read_resource("f", resource())
    assert (plain.state, "errors.task.restart.max" in plain.config) == ("RUNNING", False)
    assert read_resource("f", resource(pause="true")).state == "PAUSED"
    unlimited = read_resource("f", resource(autoRestart={"enabled": "true"}))
    assert unlimited.config["errors.task.restart.max"] == "-1"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({**resource(), "apiVersion": "other/v1"}, "apiVersion is 'other/v1'"),
        ({**resource(), "metadata": {}}, "metadata.name is missing"),
        ({**resource(), "spec": {}}, "spec.class is missing"),
        (resource(config={"connector.class": "Y"}), "spec.config has 'connector.class'"),
        (resource(config={"a": {"b": "c"}}), "spec.config.a is not a text or number"),
        (resource(config="x"), "config is not a map"),
        (resource(state="RUNNING"), "spec.state is 'RUNNING'"),
    ],
)
def test_an_invalid_resource_is_refused_with_its_field(document: dict[str, Any], words: str) -> None:
    """And its file."""
    with pytest.raises(ConfigError) as caught:
        read_resource("orders.yaml", document)
    assert str(caught.value).startswith(f"orders.yaml: {words}")


def test_what_is_written_is_read_again() -> None:
    """In YAML, with every field."""
    config = {
        "name": "c",
        "connector.class": "X",
        "tasks.max": "3",
        "connector.plugin.version": "1.0",
        "errors.task.restart.max": "-1",
        "flag": "true",
        "number": "1.50",
    }
    written = yaml.safe_dump(write_resource(config, "PAUSED", "connect"))
    found = read_resource("f", yaml.load(written, Loader=yaml.BaseLoader))
    assert (found.config, found.state, found.notes) == (config, "PAUSED", ())

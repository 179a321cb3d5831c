"""An override policy in its stage: its configuration, its calls and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hearth_api import ConfigValue, PluginError
from hearth_api.worker import ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest
from hearth_stage.override_policy import StagePolicy
from hearth_stage.policy_call import ConfigurePolicy, JudgeOverrides, PolicyAnswer

HERE = f"{__name__}:"
heard: list[Any] = []


class Noting(ConnectorClientConfigOverridePolicy):
    """Records its calls, and forbids everything."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Record the configuration."""
        heard.append(dict(configs))

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """Record the request."""
        heard.append(request)
        return [ConfigValue(name, value, error_messages=["no"]) for name, value in request.client_props.items()]

    def close(self) -> None:
        """Record the call."""
        heard.append("closed")


def test_policy_is_configured_called_and_closed() -> None:
    """It gets the same request as in Kafka Connect, and its answer has the form of REST."""
    heard.clear()
    policy = StagePolicy()
    policy.configure(ConfigurePolicy(HERE + "Noting", {"a": "1"}))
    answer = policy.judge(JudgeOverrides("c", "sink", "com.example.C", "consumer", {"client.rack": "r1"}))
    policy.end()
    configured, request, closed = heard
    assert (configured, closed) == ({"a": "1"}, "closed")
    assert (request.connector_name, request.connector_type.value, request.connector_class) == (
        "c", "sink", "com.example.C",
    )  # fmt: skip
    assert (request.client_type.value, request.client_props) == ("consumer", {"client.rack": "r1"})
    shown = {"name": "client.rack", "value": "r1", "recommended_values": [], "errors": ["no"], "visible": True}
    assert answer == PolicyAnswer([shown])


def test_class_of_another_type_is_rejected_as_policy() -> None:
    """The declaration is wrong."""
    with pytest.raises(PluginError, match="StagePolicy is not a ConnectorClientConfigOverridePolicy"):
        StagePolicy().configure(ConfigurePolicy("hearth_stage.override_policy:StagePolicy", {}))

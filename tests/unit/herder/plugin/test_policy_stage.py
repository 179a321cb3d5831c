"""Override policies from bundles, each in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import PluginType
from hearth.herder.validation.override import new_policy
from hearth_api import Password, PluginError
from hearth_api.worker import (
    ClientType,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
    ConnectorType,
)
from tests.unit.herder.catalogue import SOURCE, WORKER, directory, plugin

MINE = plugin("com.example.MinePolicy", PluginType.OVERRIDE_POLICY, "Policy", "1")
Make = Callable[..., ConnectorClientConfigOverridePolicy]


def request(**properties: Any) -> ConnectorClientConfigRequest:
    """Return a request for a source's producer."""
    return ConnectorClientConfigRequest("c", ConnectorType.SOURCE, SOURCE, properties, ClientType.PRODUCER)


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Make]:
    """Provide the policy of a plugin for a worker that names it."""
    made: list[ConnectorClientConfigOverridePolicy] = []

    def make(name: str = "Mine", **settings: str) -> ConnectorClientConfigOverridePolicy:
        named = {"connector.client.config.override.policy": name}
        made.append(new_policy(WorkerConfig({**WORKER, **named, **settings}), directory(tmp_path, MINE)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_policy_is_configured_and_validates_requests(new: Make) -> None:
    """One process answers all requests, with all their fields."""
    policy = new(forbidden="acks")
    (value,) = policy.validate(request(acks="1"))
    assert value.error_messages == [f"c: a source of {SOURCE} may not have its producer's acks"]
    given = {"retries": 5, "jaas": Password("s3cret")}
    judged = policy.validate(request(**given))
    assert [(each.name, each.value, each.error_messages) for each in judged] == [
        (name, value, []) for name, value in given.items()
    ]


def test_a_policy_that_dies_allows_nothing_and_is_restarted(new: Make) -> None:
    """A connector must not be created because the policy could not reject it."""
    policy = new("com.example.MinePolicy", forbidden="acks", silent="true")
    with pytest.raises(PluginError, match=r"com\.example\.MinePolicy exited with 7"):
        policy.validate(request(exit="7"))
    assert policy.validate(request(acks="1")) == []  # it returns null, which is Kafka's empty list


def test_a_policy_that_rejects_its_configuration_prevents_the_start(new: Make) -> None:
    """The error has its message."""
    with pytest.raises(PluginError, match="nothing is forbidden"):
        new()

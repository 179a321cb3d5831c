"""The keys for automatic restarts of tasks."""

from __future__ import annotations

import pytest

from hearth.config.restart_key import TaskRestartConfig
from hearth_api import ConfigError

PREFIX = "errors.task.restart."


def test_automatic_restarts_are_disabled_by_default() -> None:
    """As in Kafka Connect."""
    assert TaskRestartConfig({}).delay(0) is None


def test_the_backoff_doubles() -> None:
    """From one second to a minute, for any number of restarts."""
    settings = TaskRestartConfig({f"{PREFIX}max": "-1"})
    assert [settings.delay(number) for number in (0, 1, 5, 6, 7, 10_000)] == [1, 2, 32, 60, 60, 60]


@pytest.mark.parametrize(("key", "value"), [("max", "-2"), ("max", "x"), ("backoff.ms", "-1"), ("backoff.max.ms", "")])
def test_invalid_values_are_rejected(key: str, value: str) -> None:
    """With the key."""
    with pytest.raises(ConfigError, match=f"{PREFIX}{key}"):
        TaskRestartConfig({f"{PREFIX}{key}": value})

"""Rules between the keys of a connector."""

from __future__ import annotations

import pytest

from hearth.config import SinkConnectorConfig, SourceConnectorConfig
from hearth_api import ConfigError

BASE = {"name": "n", "connector.class": "c"}


def test_a_connector_has_kafkas_defaults() -> None:
    """The attributes have the values of the declarations."""
    config = SinkConnectorConfig({**BASE, "topics": "a, b"})
    assert (config.topics, config.tasks_max, config.errors_tolerance) == (["a", "b"], 1, "none")
    assert SourceConnectorConfig(BASE).transaction_boundary_interval_ms is None


@pytest.mark.parametrize("name", ["", "a\nb"])
def test_a_name_is_neither_empty_nor_has_control_characters(name: str) -> None:
    """It is used in URLs, metrics and client ids."""
    with pytest.raises(ConfigError, match="for configuration name"):
        SourceConnectorConfig({**BASE, "name": name})


def test_a_duplicate_alias_is_rejected() -> None:
    """Two transformations of one name would share their settings."""
    with pytest.raises(ConfigError, match=r"Invalid value \[a, a\] for configuration transforms: Duplicate alias"):
        SourceConnectorConfig({**BASE, "transforms": "a,a"})

"""The keys that only sources have."""

from __future__ import annotations

import re

import pytest

from hearth.config import SourceConnectorConfig
from hearth_api import ConfigError

BASE = {"name": "n", "connector.class": "c"}


def test_a_source_has_kafkas_defaults() -> None:
    """It creates no topics and does not require transactions."""
    config = SourceConnectorConfig(BASE)
    assert config.topic_creation_groups == []
    assert (config.exactly_once_support, config.transaction_boundary) == ("requested", "poll")
    assert config.transaction_boundary_interval_ms is None
    assert config.offsets_storage_topic is None


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("topic.creation.groups", "g,g", "Duplicate alias"),
        ("exactly.once.support", "perhaps", "String must be one of"),
        ("transaction.boundary", "record", "String must be one of"),
        ("transaction.boundary.interval.ms", "-1", "Value must be at least 0"),
        ("offsets.storage.topic", "", "String must be non-empty"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(name: str, value: str, says: str) -> None:
    """Kafka's words."""
    with pytest.raises(ConfigError, match=f"for configuration {re.escape(name)}: {says}"):
        SourceConnectorConfig({**BASE, name: value})


def test_keywords_are_not_case_sensitive() -> None:
    """As in Kafka Connect."""
    config = SourceConnectorConfig({**BASE, "exactly.once.support": "REQUIRED", "transaction.boundary": "Interval"})
    assert (config.exactly_once_support, config.transaction_boundary) == ("REQUIRED", "Interval")

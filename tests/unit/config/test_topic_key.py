"""Topic creation groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hearth.config import topic_groups
from hearth_api import ConfigError

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "topic_groups.json").read_text())
BASE = {"name": "n", "connector.class": "c"}


class TestTopicGroups:
    """Topic creation groups."""

    DEFAULT: ClassVar[dict[str, str]] = {
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "2",
    }

    def test_no_key_means_no_groups(self) -> None:
        """Topics are then left to the broker's auto-creation."""
        assert topic_groups(BASE) == []

    def test_the_default_group_matches_all_other_topics(self) -> None:
        """It is last, listed or not, and its patterns are ignored."""
        props = {**self.DEFAULT, "topic.creation.groups": "g, default", "topic.creation.g.include": "a.*,b",
                 "topic.creation.g.exclude": "ax", "topic.creation.g.cleanup.policy": "compact",
                 "topic.creation.default.include": "nothing"}  # fmt: skip
        group, default = topic_groups(props)
        assert (group.name, group.replication_factor, group.partitions) == ("g", 1, 2)
        assert group.topic_config == {"cleanup.policy": "compact"}
        assert [group.takes(topic) for topic in ("abc", "ax", "b", "bb")] == [True, False, True, False]
        assert default.takes("whatever")

    @pytest.mark.parametrize(("keys", "expected"), GOLDEN["cases"], ids=lambda value: str(value)[:60])
    def test_groups_are_those_of_kafka_connect(self, keys: dict[str, str], expected: Any) -> None:
        """Settings, topics and messages; a group that is listed as the default comes last."""
        props = {**BASE, **{f"topic.creation.{name}": value for name, value in keys.items()}}
        if isinstance(expected, str):
            with pytest.raises(ConfigError) as caught:
                topic_groups(props)
            assert str(caught.value) == expected
            return
        assert [
            [each.name, each.partitions, each.replication_factor, each.topic_config,
             [topic for topic in GOLDEN["topics"] if each.takes(topic)]]
            for each in topic_groups(props)
        ] == expected  # fmt: skip

    def test_a_new_topic_is_formatted_as_in_kafka(self) -> None:
        """In the message about a topic that may not be created."""
        (group,) = topic_groups({**self.DEFAULT, "topic.creation.default.retention.ms": "5"})
        assert group.describe("t") == (
            "(name=t, numPartitions=2, replicationFactor=1, replicasAssignments=null, configs={retention.ms=5})"
        )

"""Groups of topics that the host of a source creates."""

from __future__ import annotations

from typing import ClassVar

import pytest

from hearth.config import topic_groups
from hearth_api import ConfigError

BASE = {"name": "n", "connector.class": "c"}


class TestTopicGroups:
    """Groups of topics that the host creates."""

    DEFAULT: ClassVar[dict[str, str]] = {
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "2",
    }

    def test_no_key_means_no_groups(self) -> None:
        """Then topics are left to the broker's own auto-creation."""
        assert topic_groups(BASE) == []

    def test_the_default_group_takes_the_rest(self) -> None:
        """It comes last, whether it is listed or not, and its patterns are ignored."""
        props = {**self.DEFAULT, "topic.creation.groups": "g, default", "topic.creation.g.include": "a.*,b",
                 "topic.creation.g.exclude": "ax", "topic.creation.g.cleanup.policy": "compact",
                 "topic.creation.default.include": "nothing"}  # fmt: skip
        group, default = topic_groups(props)
        assert (group.name, group.replication_factor, group.partitions) == ("g", 1, 2)
        assert group.topic_config == {"cleanup.policy": "compact"}
        assert [group.takes(topic) for topic in ("abc", "ax", "b", "bb")] == [True, False, True, False]
        assert default.takes("whatever")

    @pytest.mark.parametrize(
        ("extra", "says"),
        [
            ({"topic.creation.default.partitions": "0"}, "Number of partitions must be positive"),
            ({"topic.creation.default.replication.factor": "x"}, "Not a number of type SHORT"),
            (
                {"topic.creation.groups": "g", "topic.creation.g.include": "("},
                "Syntax error in regular expression",
            ),
            ({"topic.creation.groups": "g,g"}, "Duplicate alias provided."),
        ],
    )
    def test_a_wrong_value_is_named(self, extra: dict[str, str], says: str) -> None:
        """Kafka's words."""
        with pytest.raises(ConfigError, match=says):
            topic_groups({**self.DEFAULT, **extra})

    def test_the_default_group_needs_its_numbers(self) -> None:
        """Any other group may leave them out."""
        with pytest.raises(ConfigError, match=r"topic\.creation\.default\.replication\.factor"):
            topic_groups({"topic.creation.groups": "g"})

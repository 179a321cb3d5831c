"""Rules between the keys of a connector."""

from __future__ import annotations

from typing import ClassVar

import pytest

from hearth.config import SinkConnectorConfig, SourceConnectorConfig, topic_groups
from hearth.config.sink import check_topics, parse_topics
from hearth_api import ConfigError, ConfigValue

BASE = {"name": "n", "connector.class": "c"}


def test_a_connector_has_kafkas_defaults() -> None:
    """Whoever reads an attribute reads the declaration."""
    config = SinkConnectorConfig({**BASE, "topics": "a, b"})
    assert (config.topics, config.tasks_max, config.errors_tolerance) == (["a", "b"], 1, "none")
    assert SourceConnectorConfig(BASE).transaction_boundary_interval_ms is None


@pytest.mark.parametrize("name", ["", "a\nb"])
def test_a_name_is_neither_empty_nor_has_control_characters(name: str) -> None:
    """It stands in URLs, in metrics and in client ids."""
    with pytest.raises(ConfigError, match="for configuration name"):
        SourceConnectorConfig({**BASE, "name": name})


def test_an_alias_may_not_stand_twice() -> None:
    """Two transformations of one name would read the same settings."""
    with pytest.raises(
        ConfigError, match=r"Invalid value \[a, a\] for configuration transforms: Duplicate alias"
    ):
        SourceConnectorConfig({**BASE, "transforms": "a,a"})


@pytest.mark.parametrize(
    ("props", "complaints"),
    [
        ({"topics": "a"}, {}),
        ({"topics.regex": "a.*"}, {}),
        ({"topics": "a", "topics.regex": "a.*"}, {"topics": "exclusive", "topics.regex": "exclusive"}),
        ({"topics": " "}, {"topics": "Must configure one", "topics.regex": "Must configure one"}),
        ({"topics": "a,t", "errors.deadletterqueue.topic.name": "t"}, {"topics": "('topics=[a, t]')"}),
        (
            {"topics.regex": "a.*", "errors.deadletterqueue.topic.name": "ab"},
            {"topics.regex": "('topics.regex=a.*')"},
        ),
        ({"topics.regex": "(", "errors.deadletterqueue.topic.name": "ab"}, {}),
    ],
)
def test_a_sink_reads_topics_or_an_expression_and_not_its_dead_letters(
    props: dict[str, str | None], complaints: dict[str, str]
) -> None:
    """Each complaint stands at the keys that cause it."""
    outcome: dict[str, ConfigValue] = {}
    check_topics(props, outcome)
    assert set(outcome) == set(complaints)
    for name, says in complaints.items():
        assert says in outcome[name].error_messages[0]


def test_topics_are_listed_once_without_blanks() -> None:
    """As the consumer subscribes to them."""
    assert parse_topics({"topics": " a ,, b,a"}) == ["a", "b"]
    assert parse_topics({}) == []


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

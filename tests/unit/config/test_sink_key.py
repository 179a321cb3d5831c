"""The keys of sinks, and the checks between them."""

from __future__ import annotations

import pytest

from hearth.config import SinkConnectorConfig
from hearth.config.sink_key import check_topics, parse_topics
from hearth_api import ConfigError, ConfigValue

BASE = {"name": "n", "connector.class": "c"}


def test_a_sink_has_kafkas_defaults() -> None:
    """It reads no topics and has no dead letter topic."""
    config = SinkConnectorConfig(BASE)
    assert (config.topics, config.topics_regex) == ([], "")
    assert (config.dead_letter_topic, config.dead_letter_replication_factor) == ("", 3)
    assert config.dead_letter_headers is False


def test_a_list_of_topics_has_no_blanks_and_no_duplicates() -> None:
    """As Kafka 4 parses its lists."""
    with pytest.raises(ConfigError, match="Configuration 'topics' values must not be empty"):
        SinkConnectorConfig({**BASE, "topics": "a,,b"})
    assert SinkConnectorConfig({**BASE, "topics": "b,a,b"}).topics == ["b", "a"]


def test_the_regex_must_be_valid_in_java() -> None:
    """It is rejected before any task starts."""
    with pytest.raises(ConfigError, match=r"for configuration topics\.regex"):
        SinkConnectorConfig({**BASE, "topics.regex": "("})


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
def test_topics_regex_and_dead_letter_topic_exclude_each_other(
    props: dict[str, str | None], complaints: dict[str, str]
) -> None:
    """Each error is at the keys that cause it."""
    outcome: dict[str, ConfigValue] = {}
    check_topics(props, outcome)
    assert set(outcome) == set(complaints)
    for name, says in complaints.items():
        assert says in outcome[name].error_messages[0]


def test_topics_are_listed_once_without_blanks() -> None:
    """As the consumer subscribes to them."""
    assert parse_topics({"topics": " a ,, b,a"}) == ["a", "b"]
    assert parse_topics({}) == []

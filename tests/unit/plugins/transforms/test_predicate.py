"""Rules of the predicates, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_api import STRING_SCHEMA, ConfigError, Header, Predicate
from hearth_api.batch import records_to_batches
from hearth_transforms.predicate import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from tests.unit.plugins.transforms.sample import source_record


def test_a_topic_must_match_as_a_whole() -> None:
    """Part of it is not enough, and no topic matches nothing."""
    predicate = TopicNameMatches()
    predicate.configure({"pattern": "my-.*"})
    topics = ["my-prefix", "is-my-prefix", None]
    assert [predicate.test(source_record(None, 1, topic=topic)) for topic in topics] == [True, False, False]


def test_one_header_of_the_name_is_enough() -> None:
    """Other headers are allowed; a record without headers does not match."""
    predicate = HasHeaderKey()
    predicate.configure({"name": "n"})
    headers = [None, [], [Header("x")], [Header("x"), Header("n"), Header("n")]]
    records = [source_record(STRING_SCHEMA, "v", headers=each) for each in headers]
    assert [predicate.test(record) for record in records] == [False, False, False, True]
    (batch,) = records_to_batches(records)
    assert predicate.test_batch(batch).to_pylist() == [False, False, False, True]
    assert predicate.test_batch(batch.slice(2)).to_pylist() == [False, True]


def test_a_tombstone_has_no_value() -> None:
    """Its key does not matter; an empty text is a value."""
    predicate = RecordIsTombstone()
    predicate.configure({})
    assert predicate.test(source_record(None, None, key="k"))
    assert not predicate.test(source_record(STRING_SCHEMA, ""))
    assert predicate.config().names == []


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        (TopicNameMatches, {}, 'Missing required configuration "pattern" which has no default value.'),
        (TopicNameMatches, {"pattern": " "}, "Invalid value  for configuration pattern: String must be non-empty"),
        (
            TopicNameMatches,
            {"pattern": "("},
            "Invalid value ( for configuration pattern: Invalid regex: Unclosed group near index 1\n(",
        ),
        (HasHeaderKey, {}, 'Missing required configuration "name" which has no default value.'),
        (HasHeaderKey, {"name": ""}, "Invalid value  for configuration name: String must be non-empty"),
    ],
)
def test_wrong_settings_are_refused(kind: type[Predicate], config: dict[str, Any], message: str) -> None:
    """The messages are Kafka's."""
    with pytest.raises(ConfigError) as caught:
        kind().configure(config)
    assert str(caught.value) == message

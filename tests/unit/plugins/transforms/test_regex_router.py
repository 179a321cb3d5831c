"""Rules of RegexRouter and Filter, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

import pytest

from hearth_api import STRING_SCHEMA, ConfigError
from hearth_api.batch import records_to_batches
from hearth_transforms.filter import Filter
from hearth_transforms.regex_router import RegexRouter
from tests.unit.plugins.transforms.sample import (
    check_forms,
    numbered,
    records_of,
    refusal,
    sink_record,
    source_record,
)


def router(regex: str, replacement: str) -> RegexRouter:
    """Return the transformation with its settings."""
    transformation = RegexRouter()
    transformation.configure({"regex": regex, "replacement": replacement})
    return transformation


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "expected"),
    [
        (r"(.*)-(\d\d\d\d\d\d\d\d)", "$1", "index-20160117", "index"),
        (r"(.*)(\d)(.*)", "$1b$2$3", "a1c", "ab1c"),
        ("o", "x", "topic", "topic"),
        (".*", "pre-$0", "topic", "pre-topic"),
        ("(?<n>t).*", "${n}-x", "topic", "t-x"),
        ("(a)?.*", "[$1]", "topic", "[]"),
        ("t(.*)", r"\$1\\x", "topic", r"$1\x"),
        ("t(.*)", "$10", "topic", "opic0"),
        ("(?i)TOPIC", "y", "topic", "y"),
        (r"[a-z&&[^x]]+", "y", "topic", "y"),
        ("t.*?", "X", "topic", "Xopic"),
        (".*", "", "topic", ""),
    ],
)
def test_a_topic_that_matches_as_a_whole_is_changed(regex: str, replacement: str, topic: str, expected: str) -> None:
    """The replacement is for the first match, which a reluctant expression makes shorter than the topic."""
    record = source_record(STRING_SCHEMA, "x", topic=topic)
    assert router(regex, replacement).apply(record).topic == expected
    (batch,) = records_to_batches([record])
    assert [part.topic for part in router(regex, replacement).apply_batch(batch)] == [expected]


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ("$2", "No group 2"),
        ("$", "Illegal group reference: group index is missing"),
        ("${x}", "No group with name {x}"),
        ("a\\", "character to be escaped is missing"),
        ("${n", "named capturing group is missing trailing '}'"),
    ],
)
def test_a_wrong_replacement_is_refused_when_it_is_used(replacement: str, message: str) -> None:
    """As in Kafka a topic that does not match never meets it."""
    transformation = router("t(?<n>.*)", replacement)
    assert transformation.apply(source_record(STRING_SCHEMA, "x", topic="other")).topic == "other"
    assert refusal(transformation.apply, source_record(STRING_SCHEMA, "x")) == message


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"replacement": "x"}, 'Missing required configuration "regex" which has no default value.'),
        (
            {"regex": "(", "replacement": "x"},
            "Invalid value ( for configuration regex: Invalid regex: Unclosed group near index 1\n(",
        ),
        (
            {"regex": "a**", "replacement": "x"},
            "Invalid value a** for configuration regex: "
            "Invalid regex: Dangling meta character '*' near index 2\na**\n  ^",
        ),
        (
            {"regex": None, "replacement": "x"},
            "Invalid value null for configuration regex: Invalid regex: "
            'Cannot invoke "String.isEmpty()" because "this.pattern" is null',
        ),
    ],
)
def test_a_wrong_expression_is_refused_at_once(config: dict[str, str], message: str) -> None:
    """The messages are Kafka's and Java's."""
    with pytest.raises(ConfigError) as caught:
        RegexRouter().configure(config)
    assert str(caught.value) == message


def test_a_record_without_topic_is_refused() -> None:
    """Kafka fails with a null pointer there."""
    message = "a record without topic cannot be routed"
    assert refusal(router(".*", "x").apply, source_record(STRING_SCHEMA, "x", topic=None)) == message


def test_where_a_record_was_read_stays_known() -> None:
    """Offsets are committed under the topic a sink's record came from."""
    (batch,) = records_to_batches([sink_record(STRING_SCHEMA, "x")])
    batch = numbered(batch.replace(original_topic=None))
    check_forms(router(".*", "new"), batch)
    (routed,) = router(".*", "new").apply_batch(batch)
    (record,) = records_of(routed)
    assert (record.topic, record.original_topic) == ("new", "test")  # type: ignore[attr-defined]


def test_filter_drops_everything() -> None:
    """Which records reach it is for its predicate to say; it has nothing to set."""
    transformation = Filter()
    transformation.configure({})
    record = source_record(STRING_SCHEMA, "x")
    assert transformation.apply(record) is None
    assert transformation.apply_batch(records_to_batches([record])[0]) == []
    assert transformation.config().names == []

"""Rules of TimestampRouter that test_golden does not compare with Java."""

from __future__ import annotations

import pytest

from hearth_api import STRING_SCHEMA, ConfigError
from hearth_api.batch import records_to_batches
from hearth_transforms.timestamp_router import TimestampRouter
from tests.unit.plugins.transforms.sample import (
    check_forms,
    numbered,
    records_of,
    refusal,
    sink_record,
    source_record,
)

DAY = 86_400_000


def router(**config: str) -> TimestampRouter:
    """Return the transformation with its settings, whose dots are underscores here."""
    transformation = TimestampRouter()
    transformation.configure({name.replace("_", "."): value for name, value in config.items()})
    return transformation


def test_a_batch_is_cut_where_the_topic_changes_only() -> None:
    """Records of one day stay together, in their order, and where a sink read them stays known."""
    times = [0, 5, DAY, DAY + 1, 2]
    (batch,) = records_to_batches([sink_record(STRING_SCHEMA, "x", timestamp=time) for time in times])
    batch = numbered(batch.replace(original_topic=None))
    check_forms(router(), batch)
    parts = router().apply_batch(batch)
    assert isinstance(parts, list)
    assert [(part.topic, part.num_rows) for part in parts] == [
        ("test-19700101", 2),
        ("test-19700102", 2),
        ("test-19700101", 1),
    ]
    assert {record.original_topic for part in parts for record in records_of(part)} == {"test"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("b", "Illegal pattern character 'b'"),
        ("'x", "Unterminated quote"),
    ],
)
def test_a_wrong_pattern_is_refused_at_once(pattern: str, message: str) -> None:
    """Kafka refuses it with the first record, and the whole task with it."""
    with pytest.raises(ConfigError) as caught:
        router(timestamp_format=pattern)
    assert str(caught.value).startswith(f"Invalid value {pattern} for configuration timestamp.format: {message}")


def test_a_record_without_topic_is_refused() -> None:
    """Kafka fails with a null pointer there."""
    message = "a record without topic cannot be routed"
    assert refusal(router().apply, source_record(STRING_SCHEMA, "x", topic=None)) == message


def test_the_message_of_a_missing_timestamp_has_the_source_position() -> None:
    """The text of the record is Java's."""
    record = source_record(STRING_SCHEMA, "x", timestamp=None, key=1.5e7)
    assert refusal(router().apply, record) == (
        "Timestamp missing on record: SourceRecord{sourcePartition={f=x}, sourceOffset={position=7}} "
        "ConnectRecord{topic='test', kafkaPartition=null, key=1.5E7, keySchema=null, value=x, "
        "valueSchema=Schema{STRING}, timestamp=null, headers=ConnectHeaders(headers=)}"
    )

"""Rules of the file source's connector, each compared with Kafka Connect 4.3.1's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hearth_api import ConfigError, ConnectError, ExactlyOnceSupport
from hearth_api.java import config_def_to_json
from hearth_file.source import FileStreamSourceConnector
from hearth_file.source_task import FileStreamSourceTask

CONFIG = {"file": "/f", "topic": "t"}


def test_keys_are_those_of_kafka() -> None:
    """Names, types, defaults, importance and order are Kafka's, and no key belongs to a group."""
    keys = config_def_to_json(FileStreamSourceConnector().config())
    shown = [
        (each["name"], each["type"], each["required"], each["default_value"], each["importance"]) for each in keys
    ]
    assert shown == [
        ("file", "STRING", False, None, "HIGH"),
        ("topic", "STRING", True, None, "HIGH"),
        ("batch.size", "INT", False, "2000", "LOW"),
    ]
    assert {(each["group"], each["order_in_group"], each["width"]) for each in keys} == {(None, -1, "NONE")}
    assert all(each["documentation"] and each["display_name"] == each["name"] for each in keys)


@pytest.mark.parametrize(
    ("props", "name", "message"),
    [
        ({}, "topic", 'Missing required configuration "topic" which has no default value.'),
        ({"topic": " "}, "topic", "Invalid value  for configuration topic: String must be non-empty"),
        (
            {"topic": "t", "batch.size": "x"},
            "batch.size",
            "Invalid value x for configuration batch.size: Not a number of type INT",
        ),
    ],
)
def test_validation_reports_in_kafkas_words(props: dict[str, str], name: str, message: str) -> None:
    """One wrong key, one message."""
    values = FileStreamSourceConnector().validate(props).values
    assert {each.name: each.error_messages for each in values if each.error_messages} == {name: [message]}


def test_a_file_has_one_task() -> None:
    """However many tasks are allowed, one gets the whole configuration."""
    connector = FileStreamSourceConnector()
    connector.start({**CONFIG, "other": "kept"})
    assert connector.task_configs(5) == [{**CONFIG, "other": "kept"}]
    assert connector.task_class() is FileStreamSourceTask
    assert connector.version() == FileStreamSourceTask().version() == "4.3.1"
    connector.stop()


def test_a_start_without_topic_is_refused() -> None:
    """The start parses again, since the configuration may come from an older host."""
    with pytest.raises(ConfigError, match='Missing required configuration "topic"'):
        FileStreamSourceConnector().start({"file": "x"})


@pytest.mark.parametrize(("file", "expected"), [("/f", "SUPPORTED"), ("", "UNSUPPORTED"), (None, "UNSUPPORTED")])
def test_exactly_once_needs_a_file(file: str | None, expected: str) -> None:
    """The standard input cannot be read again."""
    props = {"topic": "t"} if file is None else {"topic": "t", "file": file}
    assert FileStreamSourceConnector().exactly_once_support(props) is ExactlyOnceSupport[expected]


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"filename": "/f"}, {"position": 0}),
        ({"filename": "/other", "x": 1}, {"position": 2**40, "y": 2}),
        ({"filename": 5}, {"position": 1}),
        ({"garbage": 1}, None),
        (None, None),
    ],
)
def test_offsets_that_can_be_used_or_are_removed_are_accepted(partition: Any, offset: Any) -> None:
    """A position from 0 on under a file name; anything at all may be reset."""
    assert FileStreamSourceConnector().alter_offsets(CONFIG, [(partition, offset)])
    assert FileStreamSourceConnector().alter_offsets(CONFIG, [])


NOT_A_LONG = "The value for the 'position' key in the offset is expected to be a Long value"


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (
            {"filename": "/f"},
            {"pos": 1},
            "Offset objects should either be null or contain the key 'position'",
        ),
        ({"filename": "/f"}, {"position": "1"}, NOT_A_LONG),
        ({"filename": "/f"}, {"position": 1.0}, NOT_A_LONG),
        ({"filename": "/f"}, {"position": None}, NOT_A_LONG),
        ({"filename": "/f"}, {"position": True}, NOT_A_LONG),
        (
            {"filename": "/f"},
            {"position": -1},
            "The value for the 'position' key in the offset should be a non-negative value",
        ),
        (None, {"position": 1}, "Partition objects cannot be null"),
        ({"fn": "/f"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
    ],
)
def test_other_offsets_are_refused(partition: Mapping[str, Any], offset: Mapping[str, Any], message: str) -> None:
    """The message is Kafka's."""
    with pytest.raises(ConnectError) as caught:
        FileStreamSourceConnector().alter_offsets(CONFIG, [(partition, offset)])
    assert str(caught.value) == message


def test_offsets_of_the_standard_input_cannot_be_altered() -> None:
    """It has no offsets."""
    with pytest.raises(ConnectError) as caught:
        FileStreamSourceConnector().alter_offsets({"topic": "t"}, [])
    assert str(caught.value) == (
        "Offsets cannot be modified if the 'file' configuration is unspecified. "
        "This is because stdin is used for input and offsets are not tracked."
    )

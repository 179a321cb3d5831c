"""Single records run step by step through real converters and transformations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from hearth.config import ConnectorConfig, StandaloneConfig
from hearth.discovery import discover
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin_planner import PluginPlanner
from hearth.herder.record_plan import json_plan
from hearth.kafka.topic_range import RawRecord
from hearth.runtime.record_codec import RecordCodec
from hearth.runtime.record_steps import RecordSteps, StepResult
from hearth.runtime.record_view import MOST_CHARACTERS, RecordView, changes
from tests.bundles.build import environments

JSON = "org.apache.kafka.connect.json.JsonConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms."
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "offset.storage.file.filename": "unused",
}


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Provide what closes the plugins."""
    with ExitStack() as stack:
        yield stack


def planner() -> PluginPlanner:
    """Return a planner of the plugins that are installed with the host."""
    catalogue = discover([])
    return PluginPlanner(PluginDirectory(lambda: catalogue, environments()), StandaloneConfig(WORKER))


def steps(opened: ExitStack, config: Mapping[str, str] | None = None, shows_shape: bool = False) -> RecordSteps:
    """Return the steps of a sink."""
    settings = {"name": "c", "connector.class": "X", **(config or {})}
    plan = planner().plan_steps(ConnectorConfig(settings), "sink")
    view = RecordView(RecordCodec(json_plan(planner()), opened), lambda text: text.replace("pin", "***"), shows_shape)
    return RecordSteps(plan, view, opened)


def record(value: bytes | None, *headers: tuple[str, bytes | None]) -> RawRecord:
    """Return a record of a topic."""
    return RawRecord("t", 2, 41, 1_700_000_000_000, b"k", value, list(headers))


def outcomes(results: list[StepResult]) -> dict[str, str]:
    """Return the outcome of each step."""
    return {each.step: each.outcome for each in results}


def test_each_step_shows_the_record_after_it(opened: ExitStack) -> None:
    """And what differs from before, in the record and in its place."""
    config = {
        "transforms": "r,i",
        "transforms.r.type": f"{TRANSFORMS}RegexRouter",
        "transforms.r.regex": "t",
        "transforms.r.replacement": "u",
        "transforms.i.type": f"{TRANSFORMS}InsertField$Value",
        "transforms.i.offset.field": "at",
    }
    found = steps(opened, config).of_consumed(record(b'{"a":{"b":1}}', ("h", b"1")))
    assert outcomes(found) == {
        "consume": "passed", "convert": "passed", "transforms.r": "changed", "transforms.i": "changed"
    }  # fmt: skip
    consumed, converted, routed, inserted = (each.to_json() for each in found)
    assert (consumed["record"]["value"], consumed["record"]["offset"]) == ('{"a":{"b":1}}', 41)
    assert converted["record"]["value"] == {"a": {"b": 1}}
    assert converted["record"]["schemas"] == {"key": "STRING", "value": None}
    assert routed["changes"] == [{"path": "topic", "from": "t", "to": "u"}]
    assert inserted["changes"] == [{"path": "value.at", "from": None, "to": 41}]


def test_a_failed_or_filtered_record_ends_there(opened: ExitStack) -> None:
    """With the class and message of the error, or the predicate."""
    cast = {"transforms": "c", "transforms.c.type": f"{TRANSFORMS}Cast$Value", "transforms.c.spec": "a:int8"}
    failed = steps(opened, cast).of_consumed(record(b'{"a":"x"}'))
    assert outcomes(failed)["transforms.c"] == "failed"
    assert "DataException" in str(failed[-1].error)
    unread = steps(opened).of_consumed(record(b"{"))
    assert outcomes(unread) == {"consume": "passed", "convert": "failed"}
    drop = {
        "transforms": "f",
        "transforms.f.type": f"{TRANSFORMS}Filter",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": f"{TRANSFORMS}predicates.RecordIsTombstone",
    }
    dropped = steps(opened, drop)
    assert outcomes(dropped.of_consumed(record(None)))["transforms.f"] == "filtered"
    assert outcomes(dropped.of_consumed(record(b"1")))["transforms.f"] == "passed"


def test_a_polled_record_ends_with_its_bytes(opened: ExitStack) -> None:
    """As the source's converters write them."""
    codec = RecordCodec(json_plan(planner()), opened)
    batch = codec.read(RawRecord("t", 0, 0, None, b'"k"', b'{"a":1}'))
    found = steps(opened).of_polled(batch)
    assert outcomes(found) == {"poll": "passed", "convert": "passed"}
    assert found[-1].record == {"topic": "t", "key": "k", "value": '{"a":1}', "headers": [], "bytes": 8}


def test_secrets_are_hidden_and_long_texts_cut(opened: ExitStack) -> None:
    """In values and errors; or only types and lengths are shown."""
    long = "x" * (MOST_CHARACTERS + 1)
    shown = steps(opened).of_consumed(record(f'{{"a":"pin","b":"{long}"}}'.encode()))[-1].record
    assert shown is not None
    assert shown["value"]["a"] == "***"
    assert shown["value"]["b"].endswith(f"… ({MOST_CHARACTERS + 1} characters)")
    shape = steps(opened, shows_shape=True).of_consumed(record(b'{"a":"pin","b":[1,null,true]}'))[-1].record
    assert shape is not None
    assert shape["value"] == {"a": "str(3)", "b": ["int", None, "bool"]}


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["a.c"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        ({"a": {"b": 1}}, {"a": None}, ["a"]),
    ],
)
def test_changes_name_the_smallest_part(old: Any, new: Any, paths: list[str]) -> None:
    """Of both sides."""
    assert [each["path"] for each in changes(old, new)] == paths

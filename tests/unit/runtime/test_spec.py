"""Specifications: they travel as text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hearth.isolation.environment import Environment
from hearth.runtime.spec import TaskSpec
from tests.unit.runtime.sample import plugin, task_spec


def whole() -> TaskSpec:
    """Return a specification that uses every member."""
    spec = task_spec(
        "sink",
        plugin("transforms.b", "Upper", "bundle", {"key": "Wert"}, "predicates.p", True),
        plugin("transforms.a", "Route"),
        plugin("predicates.p", "IsLong"),
    )
    command = ("/usr/bin/java", "-cp", "{0}/*:{1}/*", "Stage")
    environments = {"bundle": Environment("bundle", command, ("/one", "/two"))}
    return replace(spec, environments=environments, config={"topics": "t"}, worker={"x": "y"}, paused=True)


def test_specification_goes_through_text_unchanged() -> None:
    """A Spark closure carries text; what is read is what was written, in types too."""
    spec = whole()
    text = spec.to_json()
    json.loads(text)
    assert TaskSpec.from_json(text) == spec


def test_name_is_kafka_connects() -> None:
    """Logs, threads and clients name a task by connector and number."""
    assert replace(whole(), connector="my-sink", task=3).name == "my-sink-3"


def test_plugins_are_found_by_role() -> None:
    """Every role of a pipeline has one plugin."""
    assert whole().plugin("predicates.p").class_name == "sample.IsLong"
    with pytest.raises(StopIteration):
        whole().plugin("transforms.nobody")


def test_transformations_keep_the_order_of_the_chain() -> None:
    """The chain runs in the order of ``transforms``, not of the aliases."""
    assert [each.role for each in whole().transformations] == ["transforms.b", "transforms.a"]

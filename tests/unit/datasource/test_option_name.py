"""Restoring the case of option names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.datasource.option import Options
from hearth.datasource.option_name import in_own_case
from hearth.discovery import Plugin, PluginType
from hearth_api import ConfigDef, ConfigError, ConfigType
from tests.unit.herder.catalogue import directory, plugin

SINK = "org.example.CamelSink"
HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
KEYS = {SINK: ["topicName", "maxRows"], HOIST: ["field", "keepNulls"]}


def named(tmp_path: Path, **options: str) -> dict[str, str]:
    """Return the configuration that options come to."""
    known = directory(tmp_path, plugin(SINK, PluginType.SINK, "CamelSink", "1.0"))

    def definition_of(asked: Plugin) -> ConfigDef:
        definition = ConfigDef()
        for name in next((names for kind, names in KEYS.items() if kind == asked.class_name), []):
            definition.define(name, ConfigType.STRING)
        return definition

    given = {"connector.class": "CamelSink", **{name.replace("__", "."): value for name, value in options.items()}}
    return in_own_case(Options.parse({name.lower(): value for name, value in given.items()}), known, definition_of)


def test_declared_names_get_their_case(tmp_path: Path) -> None:
    """The connector's own keys, and the framework's, which have no capitals."""
    assert named(tmp_path, topicName="a", maxRows="1", tasks__max="2", other="x") == {
        "connector.class": "CamelSink", "topicName": "a", "maxRows": "1", "tasks.max": "2", "other": "x",
    }  # fmt: skip


def test_aliases_get_the_case_of_their_list(tmp_path: Path) -> None:
    """With the keys of what they name."""
    options = {"transforms": "MyHoist", "transforms__MyHoist__keepNulls": "no", "predicates": "Is",
               "predicates__Is__Type": "p"}  # fmt: skip
    assert named(tmp_path, **options, transforms__MyHoist__type=HOIST) == {
        "connector.class": "CamelSink", "transforms": "MyHoist", "predicates": "Is", "predicates.Is.type": "p",
        "transforms.MyHoist.keepNulls": "no", "transforms.MyHoist.type": HOIST,
    }  # fmt: skip


def test_undeclared_names_keep_their_case_in_json(tmp_path: Path) -> None:
    """A name in its own case stays as it is, even if a declared key differs only in case."""
    text = json.dumps({"otherName": "x", "TOPICNAME": "y"})
    assert named(tmp_path, hearth__config=text) == {"connector.class": "CamelSink", "otherName": "x", "TOPICNAME": "y"}


def test_keys_that_differ_only_in_case_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data source does not guess."""
    monkeypatch.setitem(KEYS, SINK, ["topicName", "topicname"])
    with pytest.raises(ConfigError, match="topicname may be topicName or topicname") as caught:
        named(tmp_path, topicName="a")
    assert caught.value.hint is not None
    assert "hearth.config" in caught.value.hint

"""Options of a DataFrame reader and writer."""

from __future__ import annotations

import json

import pytest

from hearth.datasource.option import DataSourceSettings, Options
from hearth_api import ConfigError
from tests.page import GUIDE, PAGES, first_cells

FILE = {"connector.class": "FileStreamSink"}


def test_other_names_are_the_connectors() -> None:
    """Whatever they are; the data source's own are typed."""
    options = Options.parse({**FILE, "file": "out.txt", "hearth.idle.ms": "50", "plugin.path": "a,b"})
    assert options.config == {**FILE, "file": "out.txt"}
    assert options.settings.idle_ms == 50
    assert options.settings.plugin_path == ["a", "b"]


def test_sparks_own_options_are_not_passed_on() -> None:
    """A stream's options have its checkpoint, a table's its path."""
    options = Options.parse({**FILE, "checkpointLocation": "c", "path": "p", "serialization.format": "1"})
    assert options.config == FILE
    named = Options.parse({**FILE, "path": "spark's", "hearth.config": json.dumps({"path": "the connector's"})})
    assert named.config == {**FILE, "path": "the connector's"}


def test_json_configuration_keeps_case_and_overrides_options() -> None:
    """Spark lower-cases names of options, and nothing within one."""
    text = json.dumps({"topicName": "T", "tasks.max": 3, "flag": True, "gone": None, "hearth.idle.ms": 7})
    options = Options.parse({**FILE, "topicname": "t", "tasks.max": "1", "hearth.config": text})
    assert options.config == {**FILE, "topicName": "T", "tasks.max": "3", "flag": "true"}
    assert options.exact == {"topicName", "tasks.max", "flag", "hearth.idle.ms"}
    assert options.settings.idle_ms == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "connector.class"),
        ({**FILE, "hearth.spol": "x"}, "did you mean 'hearth.spool'?"),
        ({**FILE, "hearth.idle.ms": "soon"}, "hearth.idle.ms"),
        ({**FILE, "hearth.value": "xml"}, "hearth.value"),
        ({**FILE, "hearth.config": "{"}, "hearth.config is not valid JSON"),
        ({**FILE, "hearth.config": "[1]"}, "expected an object"),
        ({**FILE, "hearth.config": '{"a": [1]}'}, "a is a list"),
    ],
)
def test_error_names_the_option(given: dict[str, str], message: str) -> None:
    """By its key."""
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        Options.parse(given)


def test_repr_shows_no_values() -> None:
    """Options go into traces and logs."""
    options = Options.parse({**FILE, "password": "hush", "hearth.config": '{"token": "hush"}'})
    assert "hush" not in repr(options)


def test_guide_lists_all_options() -> None:
    """Each is in its table."""
    documented = set(first_cells(PAGES[f"{GUIDE}/dataframe.md"], "option"))
    assert [name for name in DataSourceSettings.definition().names if f"`{name}`" not in documented] == []

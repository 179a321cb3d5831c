"""Connector files in Kafka Connect's formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.client.connector_file import read_connector_file, read_connectors
from hearth_api import ConfigError


def written(folder: Path, content: Any, name: str = "c.json") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_java_properties_hold_a_connector(tmp_path: Path) -> None:
    """The oldest form, escapes and all."""
    file = read_connector_file(written(tmp_path, "name=c\nconnector.class = X\nfile=a\\ b\n", "c.properties"))
    assert (file.name, file.config) == ("c", {"name": "c", "connector.class": "X", "file": "a b"})
    assert file.initial_state is None


def test_a_json_map_holds_a_connector(tmp_path: Path) -> None:
    """Whatever the file is called; numbers and booleans are text."""
    file = read_connector_file(written(tmp_path, '{"name":"c","tasks.max":1,"x":true,"y":1.50}', "c.properties"))
    assert file.config == {"name": "c", "tasks.max": "1", "x": "true", "y": "1.50"}


def test_a_create_request_holds_a_connector(tmp_path: Path) -> None:
    """The form of the REST API. The name may be in one place only; other members are ignored, as in Kafka."""
    file = read_connector_file(
        written(tmp_path, {"name": "c", "config": {"a": "b"}, "initial_state": "stopped", "z": 1})
    )
    assert (file.name, file.config, file.initial_state) == ("c", {"a": "b", "name": "c"}, "STOPPED")
    file = read_connector_file(written(tmp_path, {"config": {"name": "c"}}))
    assert (file.name, file.initial_state) == ("c", None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not valid JSON"),
        ({"a": "b"}, "is missing the mandatory 'name' configuration"),
        ({"config": {"a": "b"}}, "is missing the mandatory 'name' configuration"),
        ("a=b", "is missing the mandatory 'name' configuration"),
        ({"name": "c", "config": {"name": "d"}}, "doesn't match the one specified in 'name'"),
        ({"name": "c", "a": ["b"]}, "the value of 'a' is [\"b\"]"),
        ({"name": "c", "a": None}, "the value of 'a' is null"),
        ({"name": "c", "config": {}, "initial_state": "ASLEEP"}, "initial_state is 'ASLEEP'"),
        ("name=c\\u00zz", "c.json, line 1"),
    ],
)
def test_error_names_the_file(tmp_path: Path, content: Any, says: str) -> None:
    """There may be many files on one command line."""
    path = written(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        read_connector_file(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """Not a stack trace."""
    with pytest.raises(ConfigError, match="no such file"):
        read_connector_file(tmp_path / "missing.json")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("content", ['{"name": "c", "a": "ü"}', "name=c\na=ü\n"])
def test_byte_order_mark_is_skipped(tmp_path: Path, content: str, encoding: str) -> None:
    """Editors write one unasked, into either kind of file."""
    path = tmp_path / "c.json"
    path.write_bytes(content.encode(encoding))
    assert read_connector_file(path).config == {"name": "c", "a": "ü"}


def test_yaml_has_the_forms_of_json(tmp_path: Path) -> None:
    """Scalars stay as they are written."""
    flat = read_connector_file(written(tmp_path, "name: c\nrate: 1.50\nflag: yes\n", "c.yaml"))
    assert flat.config == {"name": "c", "rate": "1.50", "flag": "yes"}
    nested = "name: d\nconfig:\n  a: b\ninitial_state: paused\n"
    file = read_connector_file(written(tmp_path, nested, "d.yml"))
    assert (file.name, file.config, file.initial_state, file.state) == ("d", {"a": "b", "name": "d"}, "PAUSED", None)


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", "- a\n- b", "just a text"])
def test_invalid_yaml_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    """And its place, where YAML has one."""
    with pytest.raises(ConfigError, match=r"c\.yaml"):
        read_connector_file(written(tmp_path, text, "c.yaml"))


def test_a_file_of_several_connectors_is_not_one(tmp_path: Path) -> None:
    """Where one is expected, as by `hearth standalone`."""
    path = written(tmp_path, "name: a\n---\nname: b\n", "c.yaml")
    with pytest.raises(ConfigError, match="has 2 connectors, expected one"):
        read_connector_file(path)
    assert [each.name for each in read_connectors([path])] == ["a", "b"]


def test_folders_are_searched_in_depth_and_in_order(tmp_path: Path) -> None:
    """Without hidden files and other endings."""
    for name in ("b.properties", "a/z.json", "a/.git/x.json", ".hidden.json", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'{{"name": "{name}"}}' if name.endswith("json") else f"name={name}")
    assert [each.name for each in read_connectors([tmp_path])] == ["a/z.json", "b.properties"]


def test_a_name_that_two_files_have_is_refused(tmp_path: Path) -> None:
    """Only one of them could be applied."""
    written(tmp_path, "name=c\n", "a.properties")
    written(tmp_path, "name=c\n", "b.properties")
    with pytest.raises(ConfigError, match=r"b\.properties and .*a\.properties both have a connector 'c'"):
        read_connectors([tmp_path])

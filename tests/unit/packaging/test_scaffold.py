"""A new project is a good one: its own tests pass, and its files say the same of it."""

from __future__ import annotations

import importlib
import json
import re
import sys
import unittest
from pathlib import Path

import pytest

from hearth.discovery import PluginType
from hearth.packaging.scaffold import scaffold
from hearth_api import BYTES_SCHEMA, ConfigError, SchemaBuilder, SinkRecord, Struct

TYPES = (PluginType.SOURCE, PluginType.SINK, PluginType.TRANSFORMATION, PluginType.CONVERTER)


@pytest.mark.parametrize(
    ("type_", "in_columns"),
    [*((type_, False) for type_ in TYPES), (PluginType.SOURCE, True), (PluginType.SINK, True)],
)
def test_project_passes_its_own_tests(
    type_: PluginType, in_columns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard suite among them."""
    project = tmp_path / f"begun-{type_}{'-columns' if in_columns else ''}"
    scaffold(project, type_, in_columns=in_columns)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(project / "src")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = unittest.TestLoader().discover(str(project / "tests"), top_level_dir=str(project / "tests"))
    result = unittest.TestResult()
    found.run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    assert result.testsRun > 5


def test_sink_of_a_project_writes_structs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON objects, at any depth."""
    scaffold(tmp_path / "keeps-structs", PluginType.SINK)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path / "keeps-structs" / "src")
    module = importlib.import_module("keeps_structs.sink")
    inner = SchemaBuilder.struct().field("y", BYTES_SCHEMA).build()
    outer = SchemaBuilder.struct().field("all", SchemaBuilder.array(inner)).build()
    value = Struct.of(outer, {"all": [{"y": b"a"}]})
    line = module._line(SinkRecord("t", 0, None, None, outer, value, 0))
    assert json.loads(line) == {"topic": "t", "key": None, "value": {"all": [{"y": "a"}]}}


@pytest.mark.parametrize(
    ("name", "type_", "class_name"),
    [
        ("orders", PluginType.SOURCE, "OrdersSourceConnector"),
        ("orders-source-connector", PluginType.SOURCE, "OrdersSourceConnector"),
        ("source", PluginType.SOURCE, "SourceSourceConnector"),
        ("mask_it", PluginType.TRANSFORMATION, "MaskIt"),
        ("xml-converter", PluginType.CONVERTER, "XmlConverter"),
    ],
)
def test_class_is_called_like_the_project(name: str, type_: PluginType, class_name: str, tmp_path: Path) -> None:
    """With the end that classes of its type have, once; what its files tell of it is one name."""
    scaffold(tmp_path / name, type_, "org.shop")
    described = (tmp_path / name / "pyproject.toml").read_text()
    assert re.findall(r'^"org\.shop\.(\w+)" = ".*:(\w+)"$', described, re.MULTILINE) == [(class_name, class_name)]


@pytest.mark.parametrize("type_", [PluginType.TRANSFORMATION, PluginType.CONVERTER])
def test_type_without_a_beginning_in_columns_is_refused(type_: PluginType, tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(ConfigError, match=f"a {type_} has no column form"):
        scaffold(tmp_path / "begun", type_, in_columns=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "package", "words"),
    [
        ("1st", "com.example", "'1st' is not a valid project name"),
        ("a b", "com.example", "is not a valid project name"),
        ("json", "com.example", "would hide"),
        ("hearth-api", "com.example", "would hide"),
        ("good", "Com.", "is not a package name"),
        ("taken", "com.example", "there is something in"),
    ],
)
def test_what_cannot_be_is_refused(name: str, package: str, words: str, tmp_path: Path) -> None:
    """Before anything is written."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    with pytest.raises(ConfigError, match=words):
        scaffold(tmp_path / name, PluginType.SINK, package)
    assert [each.name for each in tmp_path.rglob("*")] == ["taken", "mine"]

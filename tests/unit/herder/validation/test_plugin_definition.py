"""Key definitions of plugins other than connectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.discovery import PluginType
from hearth.herder.validation.plugin_definition import Describer, definition_from_json
from hearth.isolation.stage import Stage
from hearth_api import ConfigDef, ConfigType, Importance, Width
from hearth_api.java import config_def_to_json
from tests.unit.herder.catalogue import directory, plugin


def definition() -> ConfigDef:
    """Return a definition with every feature."""
    made = ConfigDef().define("a", ConfigType.INT, 5, importance=Importance.HIGH, doc="An a.", dependents=["b"])
    made.define("b", ConfigType.LIST, ["x", "y"], group="G", order_in_group=3, width=Width.LONG, display_name="B")
    made.define("c", ConfigType.PASSWORD)
    return made.define("d", ConfigType.STRING, None)


def test_a_definition_is_restored_from_its_rest_format() -> None:
    """Bundles contain definitions in that format."""
    shown = config_def_to_json(definition())
    assert config_def_to_json(definition_from_json(shown)) == shown


def test_keys_of_a_packed_bundle_are_read_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 6."""

    def never(*_arguments: Any, **_settings: Any) -> Any:
        raise AssertionError("a stage was started")

    monkeypatch.setattr(Stage, "start", never)
    inside = plugin("org.example.Upper", PluginType.TRANSFORMATION, "NotThere")
    packed = replace(inside, bundle=object(), definitions=tuple(config_def_to_json(definition())))  # type: ignore[arg-type]
    describer = Describer(directory(tmp_path))
    assert describer.definition(packed).names == ["a", "b", "c", "d"]
    assert describer.definition(packed) is describer.definition(packed)


def test_a_plugin_installed_with_the_host_is_loaded_here(tmp_path: Path) -> None:
    """With its checks."""
    known = directory(tmp_path)
    router = Describer(known).definition(known.catalogue.find("RegexRouter"))
    assert router.validate_all({"regex": "(", "replacement": "x"})["regex"].error_messages

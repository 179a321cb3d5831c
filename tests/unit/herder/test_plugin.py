"""From names to plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.discovery import PluginType
from hearth.herder.plugin import PluginNotFound, VersionNotFound
from hearth_api import NotFoundError
from tests.unit.herder.catalogue import SOURCE, directory, plugin

OLD = plugin(SOURCE, PluginType.SOURCE, "Source", "4.0.0")


def test_the_newest_version_is_taken(tmp_path: Path) -> None:
    """Unless a range says otherwise (KIP-891)."""
    known = directory(tmp_path, OLD)
    assert known.versions(SOURCE, PluginType.SOURCE) == ["4.0.0", "4.3.1"]
    assert known.connector({"connector.class": "FileStreamSource"}).version == "4.3.1"
    chosen = known.connector({"connector.class": "FileStreamSource", "connector.plugin.version": "[4.0,4.1)"})
    assert chosen.version == "4.0.0"


def test_a_range_without_a_version_lists_those_there_are(tmp_path: Path) -> None:
    """Kafka's sentence."""
    with pytest.raises(VersionNotFound) as caught:
        directory(tmp_path, OLD).connector({"connector.class": "FileStreamSource", "connector.plugin.version": "5"})
    assert str(caught.value) == (
        f"Plugin {SOURCE} not found that matches the version range [5,5], available versions: [4.0.0, 4.3.1]"
    )


def test_a_plugin_of_another_type_is_no_connector(tmp_path: Path) -> None:
    """A converter's alias does not name a connector."""
    with pytest.raises(PluginNotFound, match="Failed to find any class that implements Connector"):
        directory(tmp_path).connector({"connector.class": "JsonConverter"})


def test_a_name_without_likeness_gets_no_suggestion(tmp_path: Path) -> None:
    """Kafka's sentence stands alone."""
    with pytest.raises(PluginNotFound) as caught:
        directory(tmp_path).connector({"connector.class": "zzz"})
    assert "Nearest" not in str(caught.value)


def test_a_configuration_shows_the_type_of_its_connector(tmp_path: Path) -> None:
    """`unknown` where there is no such connector any more."""
    known = directory(tmp_path)
    assert known.connector_type({"connector.class": "FileStreamSink"}) == "sink"
    assert known.connector_type({"connector.class": "Gone"}) == "unknown"
    assert known.connector_type(None) == "unknown"


def test_names_of_every_type_have_one_class(tmp_path: Path) -> None:
    """An alias is short for one class, whatever its type."""
    known = directory(tmp_path)
    assert known.canonical("RegexRouter") == "org.apache.kafka.connect.transforms.RegexRouter"
    with pytest.raises(NotFoundError):
        known.canonical("Value")
    assert known.is_type("org.apache.kafka.connect.json.JsonConverter", PluginType.HEADER_CONVERTER)
    assert not known.is_type(SOURCE, PluginType.SINK)

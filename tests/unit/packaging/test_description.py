"""A plugin is described once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hearth.discovery import Bundle, PluginType, discover
from hearth.discovery.catalogue import read
from hearth.isolation.environment import Environment
from hearth.packaging.description import Description, DescriptionStore, describe_versions
from hearth_api import PluginError
from hearth_execution.failure import ErrorInfo, RemoteError
from hearth_stage.plugin_call import Describe, Described
from tests.bundles import build
from tests.bundles.java import TRANSFORMATION, jar, java_class
from tests.own_home import own_home

SOURCE = PluginType.SOURCE


@pytest.fixture(scope="module")
def environment() -> Environment:
    """The environment of a bundle with one source connector."""
    bundle = discover([build.packed("greeting_source")], include_host=False).plugins[0].bundle
    assert bundle is not None
    return build.environments().ensure(bundle)


PYTHON = "greeting_source.connector:GreetingSourceConnector"


def test_plugin_is_described_in_its_own_environment(environment: Environment, tmp_path: Path) -> None:
    """Version and keys come from the plugin, in a process that sees the bundle's packages."""
    found = DescriptionStore(tmp_path).of(environment, PYTHON, SOURCE, "greeting")
    assert found.version == "1.1"
    assert [key["name"] for key in found.config] == ["topic", "count"]


def test_answer_is_remembered(tmp_path: Path) -> None:
    """A second question starts no process: an interpreter that does not exist is not missed."""
    nowhere = Environment("key", ("/nowhere/python",))
    known = DescriptionStore(tmp_path)
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "source-a-B.json").write_text('{"version": "7", "config": [{"name": "x"}]}')
    assert known.of(nowhere, "a:B", SOURCE, "b") == Description("7", ({"name": "x"},))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": "1"}'])
def test_damaged_cache_is_replaced(damage: str, environment: Environment, tmp_path: Path) -> None:
    """A file that makes no sense counts as none and is replaced."""
    remembered = DescriptionStore(tmp_path)
    found = remembered.of(environment, PYTHON, SOURCE, "greeting")
    (file,) = tmp_path.rglob("*.json")
    file.write_text(damage)
    assert remembered.of(environment, PYTHON, SOURCE, "greeting") == found
    assert remembered.of(environment, PYTHON, SOURCE, "greeting") == found


def test_plugin_that_cannot_be_imported_raises(environment: Environment, tmp_path: Path) -> None:
    """The error carries the trace of the other process; nothing is remembered."""
    with pytest.raises(PluginError, match="No module named 'nowhere'") as raised:
        DescriptionStore(tmp_path).of(environment, "nowhere:X", SOURCE, "x")
    assert raised.value.trace is not None
    assert "Traceback" in raised.value.trace
    assert not list(tmp_path.rglob("*.json"))


def test_versions_of_java_plugins_are_read_once_and_listed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that raises or returns nothing has none; if a process fails, the others are read the next time."""
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    classes = [java_class(f"a/{name}", interfaces=[TRANSFORMATION]) for name in "ABCDE"]
    location = jar(tmp_path / "some.jar", *classes)
    answers: dict[str, Any] = {"a.A": "1", "a.B": RemoteError(ErrorInfo("plugin", "X", "no", "")), "a.C": None}
    answers |= {"a.D": PluginError("it ended"), "a.E": "2\x1b"}
    asked: list[str] = []

    def ask(call: Describe) -> Described:
        asked.append(call.reference)
        answer = answers[call.reference]
        if isinstance(answer, PluginError):
            raise answer
        return Described(answer)

    for expected in (["1", "undefined", "undefined", "undefined", "undefined"],) * 2:
        bundle = read(location)
        assert isinstance(bundle, Bundle)
        describe_versions(bundle, ask)
        bundle = read(location)
        assert isinstance(bundle, Bundle)
        assert [each.version for each in bundle.declarations] == expected
    assert asked == ["a.A", "a.B", "a.C", "a.D", "a.E"]

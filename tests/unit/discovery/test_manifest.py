"""The manifest of a bundle is a stored format."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.discovery import BundleError, PluginType
from hearth.discovery.declaration import Declaration
from hearth.discovery.manifest import Manifest, PackedFile

GOLDEN = Path(__file__).with_name("hearth-bundle.golden.json")
KEYS = (
    {
        "name": "topic",
        "type": "STRING",
        "required": True,
        "default_value": None,
        "importance": "HIGH",
        "documentation": "Where to.",
        "group": None,
        "order_in_group": -1,
        "width": "NONE",
        "display_name": "topic",
        "dependents": [],
    },
)
MANIFEST = Manifest(
    "demo",
    "1.0",
    ">=3.10",
    (PackedFile("wheels/demo-1.0-py3-none-any.whl", "0" * 64, 1234),),
    (
        Declaration("org.example.Demo", PluginType.SOURCE, "4.3.1", "demo:Demo", KEYS),
        Declaration("org.example.Bare", PluginType.PREDICATE, "1.0", "demo:Bare"),
    ),
)


def test_manifest_is_written_as_the_golden_file() -> None:
    """Bundles packed by this version can be read by every version of format 1."""
    assert MANIFEST.to_text() == GOLDEN.read_text(encoding="utf-8")


def test_golden_file_is_read_as_it_was_meant() -> None:
    """Everything that is written is read, the configuration keys included."""
    found = Manifest.from_text(GOLDEN.read_text(encoding="utf-8"))
    assert found == MANIFEST
    assert found.plugins[0].definitions == KEYS
    assert found.plugins[1].definitions is None


def test_manifest_of_java_plugins_lists_files_alone() -> None:
    """Its name and version are as Maven has them, which Python's rules would refuse."""
    written = Manifest("org.example:demo", "3.5.0.Final", "", (PackedFile("lib/demo.jar", "0" * 64, 12),), (), "java")
    members = json.loads(written.to_text())
    assert list(members) == ["format", "name", "version", "kind", "files"]
    assert Manifest.from_text(written.to_text()) == written
    with pytest.raises(BundleError, match=r"its name and version are"):
        Manifest.from_text(json.dumps({**members, "name": "a\nb"}))


def test_unknown_member_is_ignored() -> None:
    """A later version may add members without a new format."""
    members = {**json.loads(MANIFEST.to_text()), "colour": "red"}
    assert Manifest.from_text(json.dumps(members)) == MANIFEST


def test_unknown_format_is_refused() -> None:
    """A format of the future is refused by its number, with a remedy."""
    members = {**json.loads(MANIFEST.to_text()), "format": 2}
    with pytest.raises(BundleError, match="has format 2, this Hearth reads format 1") as raised:
        Manifest.from_text(json.dumps(members))
    assert "newer Hearth" in str(raised.value.hint)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "name": "x"', "null"])
def test_malformed_manifest_is_refused(text: str) -> None:
    """Anything other than a manifest is reported and does not crash."""
    with pytest.raises(BundleError, match=r"hearth-bundle\.json"):
        Manifest.from_text(text)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of a JSON value."""
    yield path
    if isinstance(value, (dict, list)):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(below, (*path, key))


MEMBERS = json.loads(MANIFEST.to_text())
PLACES = list(_places(MEMBERS))[1:]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=2000, deadline=None)
@given(st.sampled_from(PLACES), st.one_of(ANYTHING, st.just(...)))
def test_wrong_values_at_any_place_are_refused_or_make_sense(place: tuple[Any, ...], value: Any) -> None:
    """What is accepted can be listed, described, written again and read as the same."""
    members = copy.deepcopy(MEMBERS)
    inside = members
    for key in place[:-1]:
        inside = inside[key]
    if value is ...:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    try:
        found = Manifest.from_text(json.dumps(members))
    except BundleError as refused:
        reason = str(refused)
    else:
        reason = ""
        _assert_makes_sense(found)
    assert reason.isprintable()


def _assert_makes_sense(found: Manifest) -> None:
    found.to_text().encode()
    assert Manifest.from_text(found.to_text()) == found
    assert all(plugin.fault() is None for plugin in found.plugins)

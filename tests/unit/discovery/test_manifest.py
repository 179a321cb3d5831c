"""The manifest of a bundle is a stored format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.discovery import BundleError, PluginType
from hearth.discovery.manifest import Manifest, PackedFile
from hearth.discovery.plugin import Declaration

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


def test_member_nobody_knows_is_ignored() -> None:
    """A later version may add members without a new format."""
    members = {**json.loads(MANIFEST.to_text()), "colour": "red"}
    assert Manifest.from_text(json.dumps(members)) == MANIFEST


def test_format_nobody_knows_is_refused() -> None:
    """A format of the future is refused by its number, with a remedy."""
    members = {**json.loads(MANIFEST.to_text()), "format": 2}
    with pytest.raises(BundleError, match="has format 2, this Hearth reads format 1") as raised:
        Manifest.from_text(json.dumps(members))
    assert "newer Hearth" in str(raised.value.hint)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "name": "x"', "null"])
def test_malformed_manifest_is_refused(text: str) -> None:
    """Anything else than a manifest is told apart, never a crash."""
    with pytest.raises(BundleError, match=r"hearth-bundle\.json"):
        Manifest.from_text(text)

"""Only differences that affect users are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hearth.discovery import Bundle, read
from hearth.packaging.difference import Difference, differences
from tests.bundles import build

CLASS = "org.example.greeting.GreetingSourceConnector"


def _read(location: Path) -> Bundle:
    found = read(location)
    assert isinstance(found, Bundle)
    return found


def test_equal_bundles_do_not_differ() -> None:
    """Wherever they lie."""
    assert differences(_read(build.packed("greeting_source")), _read(build.packed("greeting_source"))) == []


def test_packages_plugins_and_python_are_compared() -> None:
    """Two bundles that have only some of it in common."""
    found = differences(_read(build.packed("greeting_source")), _read(build.packed("greeting_transform")))
    assert Difference("package", "greeting", "1.0", "2.0") in found
    assert Difference("bundle", "greeting-source", "1.1", None) in found
    assert Difference("plugin", f"{CLASS} (source)", "1.1", None) in found
    assert not [each for each in found if each.kind == "python"]


def test_members_of_a_key_that_users_depend_on_are_compared() -> None:
    """Another default is reported, another documentation text is not."""
    old = _read(build.packed("greeting_source"))
    (plugin,) = old.declarations
    first, second = plugin.definitions or ()
    changed = ({**first, "documentation": "Another text."}, {**second, "default_value": "7"})
    new = replace(old, declarations=(replace(plugin, definitions=(*changed, {**first, "name": "added"})),))
    assert differences(old, new) == [
        Difference("key", f"{CLASS} added", None, "type STRING, default None, required True, importance HIGH"),
        Difference(
            "key",
            f"{CLASS} count",
            "type INT, default 10, required False, importance LOW",
            "type INT, default 7, required False, importance LOW",
        ),
    ]

"""The plugins of real Java bundles are the ones that Java Connect lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.discovery import Bundle
from hearth.discovery.alias import candidates
from hearth.discovery.catalogue import read
from hearth.discovery.java.connect_class import CONNECT_CLASSES
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging.description import keep_versions
from tests.own_home import own_home
from tests.peer.connect_classes import connect_classes_of
from tests.peer.java_connect import connect_jars
from tests.peer.plugin_list import BUNDLES, LARGE, LISTS, is_fetched, place


@pytest.mark.parametrize("name", BUNDLES)
def test_list_of_a_bundle_is_that_of_java_connect(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Class, aliases and type; also of the converters and config providers that a bundle carries along.

    The versions too, once a stage was asked for them. One bundle's is without --long.
    """
    if name in LARGE and not is_fetched(name) and not request.config.getoption("--long"):
        pytest.skip("85 MB are fetched with --long only")
    location = place(name, tmp_path)
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    expected = json.loads(LISTS.read_text(encoding="utf-8"))[name]
    assert _listed(location) == [[*row[:4], "undefined"] for row in expected]
    if name == "connect-file" or request.config.getoption("--long"):
        bundle = read(location)
        assert isinstance(bundle, Bundle)
        keep_versions(bundle, EnvironmentStore(tmp_path / "environments").ensure(bundle))
        assert _listed(location) == expected


def _listed(location: Path) -> list[list[str]]:
    bundle = read(location)
    assert isinstance(bundle, Bundle), bundle
    assert bundle.faults == ()
    return sorted(
        [each.class_name, *(*candidates(each), "N/A")[:2], each.type.value, each.version]
        for each in bundle.declarations
    )


def test_connect_classes_are_those_of_the_jars() -> None:
    """A newer Kafka needs a new list: `python -m tests.peer.connect_classes`."""
    assert connect_classes_of(connect_jars()) == CONNECT_CLASSES.read_text(encoding="utf-8")

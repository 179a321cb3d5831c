"""The plugins of real Java bundles are the ones that Java Connect lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.discovery import Bundle
from hearth.discovery.alias import candidates
from hearth.discovery.catalogue import read
from hearth.discovery.java.connect_class import CONNECT_CLASSES
from tests.peer.connect_classes import connect_classes_of
from tests.peer.java_connect import connect_jars
from tests.peer.plugin_list import BUNDLES, LARGE, LISTS, is_fetched, place


@pytest.mark.parametrize("name", BUNDLES)
def test_list_of_a_bundle_is_that_of_java_connect(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Class, aliases and type; also of the converters and config providers that a bundle carries along."""
    if name in LARGE and not is_fetched(name) and not request.config.getoption("--long"):
        pytest.skip("85 MB are fetched with --long only")
    location = place(name, tmp_path)
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    bundle = read(location)
    assert isinstance(bundle, Bundle), bundle
    found = sorted([each.class_name, *(*candidates(each), "N/A")[:2], each.type.value] for each in bundle.declarations)
    assert found == json.loads(LISTS.read_text(encoding="utf-8"))[name]
    assert bundle.faults == ()


def test_connect_classes_are_those_of_the_jars() -> None:
    """A newer Kafka needs a new list: `python -m tests.peer.connect_classes`."""
    assert connect_classes_of(connect_jars()) == CONNECT_CLASSES.read_text(encoding="utf-8")

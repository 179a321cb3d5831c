"""A bundle is verified from its structure to what its plugins say."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery.manifest import MANIFEST
from hearth.packaging import Check, verify
from tests.bundles import build


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network."""
    monkeypatch.setenv("UV_OFFLINE", "1")


def _failed(location: Path) -> list[Check]:
    return [check for check in verify(location) if not check.is_ok]


def _changed(folder: Path, change: Callable[[dict[str, object]], None]) -> Path:
    """Return an unpacked bundle whose manifest was changed."""
    target = folder / "unpacked"
    shutil.unpack_archive(build.packed("greeting_source"), target)
    members = json.loads((target / MANIFEST).read_text())
    change(members)
    (target / MANIFEST).write_text(json.dumps(members))
    return target


def test_good_bundle_passes_every_check() -> None:
    """A packed bundle is right in structure, hashes, environment, imports and configuration definitions."""
    checks = verify(build.packed("greeting_source"))
    assert [check.name for check in checks] == ["structure", "hashes", "environment", "import", "configuration"]
    assert all(check.is_ok for check in checks)


def test_good_wheel_passes_every_check() -> None:
    """A bundle needs no manifest to be good."""
    assert _failed(build.wheel("marks_on_import")) == []


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (build.truncated, "structure", "truncated"),
        (build.traversal, "structure", "leads out of the archive"),
        (build.without_metadata, "structure", "no METADATA"),
        (lambda _: build.wheel("no_entry_points"), "structure", "no plugin is declared"),
        (lambda _: build.wheel("bad_entry_points"), "structure", "not module:Class"),
        (lambda _: build.wheel("raises_on_import"), "import", "RuntimeError: this bundle cannot be imported"),
        (lambda _: build.wheel("wrong_type"), "import", "is no "),
        (lambda _: build.wheel("missing_class"), "import", "has no attribute 'Missing'"),
        (lambda folder: folder / "nowhere", "structure", "does not exist"),
    ],
)
def test_bad_bundle_fails_with_a_reason(make: Callable[[Path], Path], name: str, words: str, tmp_path: Path) -> None:
    """The first thing that is wrong is named, with what to do about it."""
    (failed,) = _failed(make(tmp_path))
    assert failed.name == name
    assert words in failed.detail
    assert failed.hint
    assert not failed.is_environment


def test_changed_file_fails_the_hashes(tmp_path: Path) -> None:
    """A wheel that is not the one that was packed is found before anything of it runs."""
    target = _changed(tmp_path, lambda members: None)
    next((target / "wheels").glob("greeting-*")).write_bytes(build.wheel("greeting_2").read_bytes())
    (failed,) = _failed(target)
    assert (failed.name, failed.is_environment) == ("hashes", False)
    assert "is not the file that was packed" in failed.detail


def test_file_that_is_not_listed_fails_the_hashes(tmp_path: Path) -> None:
    """Nothing may travel in a bundle that its manifest does not know."""
    target = tmp_path / "more.zip"
    shutil.copy(build.packed("greeting_source"), target)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr("extra.py", "")
    (failed,) = _failed(target)
    assert (failed.name, failed.subject) == ("hashes", "extra.py")


def test_other_configuration_definition_fails(tmp_path: Path) -> None:
    """A manifest that describes other keys than the plugin has would make validation lie."""

    def change(members: dict[str, object]) -> None:
        members["plugins"][0]["config"].pop()  # type: ignore[index]

    (failed,) = _failed(_changed(tmp_path, change))
    assert failed.name == "configuration"


def test_other_version_fails(tmp_path: Path) -> None:
    """A manifest that states another version than the plugin would list what is not there."""

    def change(members: dict[str, object]) -> None:
        members["plugins"][0]["version"] = "9"  # type: ignore[index]

    (failed,) = _failed(_changed(tmp_path, change))
    assert failed.detail == "declared with version '9', version() returns '1.1'"


def test_bundle_for_another_python_fails_for_this_machine(tmp_path: Path) -> None:
    """That there is no such Python here is told from a bad bundle."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    (failed,) = _failed(build.plain_wheel(tmp_path, "demo", groups=points, requires_python=">=3.99"))
    assert failed.name == "environment"
    assert failed.is_environment


@pytest.mark.parametrize("package", ["hearth-api", "hearth-connect"])
def test_bundle_that_brings_the_author_api_fails_the_contract(tmp_path: Path, package: str) -> None:
    """The API comes from the host; a copy in the bundle would be another API."""
    points = {"hearth.predicates": {"a.Demo": "demo:Demo"}}
    build.plain_wheel(tmp_path, "demo", groups=points)
    build.plain_wheel(tmp_path, package)
    assert [check.name for check in _failed(tmp_path)] == ["contract"]

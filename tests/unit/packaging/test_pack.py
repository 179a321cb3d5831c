"""A project becomes a bundle with all it needs."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.discovery.manifest import MANIFEST, Manifest
from hearth.packaging import pack
from tests.bundles import build


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep uv from the network: everything comes from the folders of wheels."""
    monkeypatch.setenv("UV_OFFLINE", "1")


def _project(name: str, folder: Path) -> Path:
    shutil.copytree(build.SOURCES / name, folder / name)
    return folder / name


def _pack(project: Path, out: Path) -> Path:
    libraries = [build.wheel(library).parent for library in build.LIBRARIES]
    return pack(project, out, build.environments(), libraries, offline=True)


def test_bundle_holds_the_wheels_and_their_hashes() -> None:
    """The zip file has the manifest first, then the project's wheel and those it needs, as the manifest says."""
    with zipfile.ZipFile(build.packed("greeting_transform")) as archive:
        assert archive.namelist() == [
            MANIFEST,
            "wheels/greeting-2.0-py3-none-any.whl",
            "wheels/greeting_transform-1.2-py3-none-any.whl",
        ]
        manifest = Manifest.from_text(archive.read(MANIFEST).decode())
        for file in manifest.files:
            content = archive.read(file.path)
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.size)
    assert (manifest.name, manifest.version, manifest.requires_python) == ("greeting-transform", "1.2", ">=3.10")


def test_manifest_has_what_plugins_say_of_themselves() -> None:
    """Version and configuration definition were asked for in a process of their own when packing."""
    with zipfile.ZipFile(build.packed("greeting_source")) as archive:
        (plugin,) = Manifest.from_text(archive.read(MANIFEST).decode()).plugins
    assert (plugin.class_name, plugin.version) == ("org.example.greeting.GreetingSourceConnector", "1.1")
    assert plugin.definitions is not None
    assert [(key["name"], key["type"], key["required"]) for key in plugin.definitions] == [
        ("topic", "STRING", True),
        ("count", "INT", False),
    ]


def test_plugin_without_a_version_has_that_of_its_package() -> None:
    """A class that does not state its version is listed with the version of the wheel."""
    with zipfile.ZipFile(build.packed("marks_on_import")) as archive:
        (plugin,) = Manifest.from_text(archive.read(MANIFEST).decode()).plugins
    assert plugin.version == "1.0"


def test_packing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """A copy of the source in another place and at another time makes the same bundle."""
    again = _pack(_project("greeting_source", tmp_path), tmp_path)
    assert again.name == build.packed("greeting_source").name
    assert again.read_bytes() == build.packed("greeting_source").read_bytes()


def test_packing_leaves_the_project_as_it_was(tmp_path: Path) -> None:
    """Nothing is built into the source."""
    project = _project("greeting_source", tmp_path)
    before = sorted(project.rglob("*"))
    _pack(project, tmp_path / "out.zip")
    assert sorted(project.rglob("*")) == before
    assert (tmp_path / "out.zip").is_file()


def test_a_directory_that_is_not_there_is_made(tmp_path: Path) -> None:
    """As by pip wheel -w and uv build --out-dir: the first bundle lies beside the second."""
    name = build.packed("greeting_source").name
    project = _project("greeting_source", tmp_path)
    for out in (tmp_path / "new" / "bundles", tmp_path / "with.dots-1.0"):
        assert _pack(project, out) == out / name
        assert (out / name).read_bytes() == build.packed("greeting_source").read_bytes()


def test_a_file_is_no_place_for_a_bundle(tmp_path: Path) -> None:
    """It is left as it is, and nothing is built before it is refused."""
    taken = tmp_path / "bundles"
    taken.write_text("mine")
    with pytest.raises(BundleError, match="bundles' is a file") as raised:
        _pack(tmp_path, taken)
    assert "a directory, or a file whose name ends with .zip" in str(raised.value.hint)
    assert taken.read_text() == "mine"


def test_directory_without_a_project_is_refused(tmp_path: Path) -> None:
    """The error names the directory."""
    with pytest.raises(BundleError, match=r"has no pyproject\.toml"):
        _pack(tmp_path, tmp_path)


def test_project_without_plugins_is_refused(tmp_path: Path) -> None:
    """What declares no plugin is no bundle."""
    with pytest.raises(BundleError, match=r"no plugin is declared: no-entry-points 1\.0"):
        _pack(_project("no_entry_points", tmp_path), tmp_path)


def test_project_with_a_bad_entry_point_is_refused(tmp_path: Path) -> None:
    """When packing, one bad entry point is one too many."""
    with pytest.raises(BundleError, match=r"'org\.example\.BadConverter'") as raised:
        _pack(_project("bad_entry_points", tmp_path), tmp_path)
    assert "pyproject.toml" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises_on_import", "RuntimeError: this bundle cannot be imported"),
        ("missing_class", "has no attribute 'Missing'"),
    ],
)
def test_project_whose_plugin_cannot_be_described_is_refused(name: str, words: str, tmp_path: Path) -> None:
    """The error has the plugin's own trace, and no bundle is left."""
    with pytest.raises(BundleError, match=words):
        _pack(_project(name, tmp_path), tmp_path)
    assert not list(tmp_path.glob("*.zip"))


def test_dependency_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    """Without its folder of wheels the library is missing, and the hint says where to name it."""
    with pytest.raises(BundleError, match="greeting") as raised:
        pack(_project("greeting_source", tmp_path), tmp_path, build.environments(), offline=True)
    assert "--find-links" in str(raised.value.hint)


def test_source_that_does_not_build_is_refused(tmp_path: Path) -> None:
    """What the build backend says is passed on."""
    project = _project("greeting_source", tmp_path)
    (project / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'"
    )
    with pytest.raises(BundleError, match="cannot be built"):
        _pack(project, tmp_path)

"""Installed packages may add formats of bundles and plugins of their own."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.discovery import discover
from hearth.discovery.format import bundle_formats
from hearth.discovery.metadata import distributions_here
from tests.bundles import build

FORMAT = """
from functools import partial
from hearth.discovery.bundle_kind import read_bundle
from hearth.discovery.format import hookimpl
from hearth.discovery.archive import ZipTree

@hookimpl
def hearth_read_bundle(location):
    if location.suffix == ".parcel":
        return read_bundle(location, partial(ZipTree, location))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a directory on the host's path and reload the formats."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    caches = bundle_formats, distributions_here
    for each in caches:
        each.cache_clear()
    yield folder
    for each in caches:
        each.cache_clear()
    sys.modules.pop("parcel_format", None)


def test_installed_package_adds_a_format(site: Path, tmp_path: Path) -> None:
    """A format is found through the entry-point group ``hearth`` and asked like a built-in one."""
    build.site(site, "parcel-format", groups={"hearth": {"parcel": "parcel_format"}})
    (site / "parcel_format.py").write_text(FORMAT)
    parcel = build.packed("greeting_source").read_bytes()
    (tmp_path / "demo.parcel").write_bytes(parcel)
    assert [plugin.location for plugin in discover([tmp_path / "demo.parcel"]).plugins if plugin.bundle] == [
        str(tmp_path / "demo.parcel")
    ]


def test_installed_plugins_are_on_the_class_path(site: Path) -> None:
    """Entry points of installed packages are listed with the location Kafka gives its class path."""
    build.site(site, "own", "3.0", {"hearth.predicates": {"org.example.Own": "own:Own"}})
    own = discover([]).find("org.example.Own")
    assert (own.location, own.version, own.bundle, own.aliases) == ("classpath", "3.0", None, ("Own",))
    with pytest.raises(LookupError):
        discover([], include_host=False).plugins[0]


def test_plugins_may_state_another_version_than_their_package(site: Path) -> None:
    """The group of versions names one for a package, and may name another for a module or a class."""
    groups = {
        "hearth.predicates": {"org.example.One": "own.one:One", "org.example.Two": "own.two:Two"},
        "hearth.plugin_versions": {"4.3.1": "own", "2.0-rc1": "own.two:Two", "9": "other"},
    }
    build.site(site, "own", "0.1.0", groups)
    found = discover([])
    assert found.find("org.example.One").version == "4.3.1"
    assert found.find("org.example.Two").version == "2.0-rc1"


def test_egg_info_folders_count_and_incomplete_metadata_does_not(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ``.egg-info`` folder declares plugins as well; metadata without a version, or a path to nothing, does not."""
    points = "[hearth.predicates]\norg.example.{0} = own:{0}\n"
    for folder, name in (("old.egg-info", "Old"), ("half.dist-info", "Half")):
        (site / folder).mkdir()
        (site / folder / "entry_points.txt").write_text(points.format(name))
    (site / "old.egg-info" / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 1.5\n")
    (site / "empty.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "nowhere")
    own = {each.class_name: each.version for each in discover([]).plugins if each.reference.startswith("own:")}
    assert own == {"org.example.Old": "1.5"}


@pytest.mark.parametrize("form", ["archive", "egg", "egg that is a directory"])
def test_plugins_in_archives_on_the_hosts_path_count_as_well(
    form: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python imports from them, too; older installers have left eggs, whose metadata has another name."""
    points = "[hearth.predicates]\norg.example.Packed = own:Packed\n"
    folder, name = ("own-2.5.dist-info", "METADATA") if form == "archive" else ("EGG-INFO", "PKG-INFO")
    facts = "Metadata-Version: 2.1\nName: own\nVersion: 2.5\n"
    files = {f"{folder}/entry_points.txt": points, f"{folder}/{name}": facts}
    place = tmp_path / ("own.zip" if form == "archive" else "own-2.5-py3.egg")
    if form == "egg that is a directory":
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    else:
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    monkeypatch.syspath_prepend(place)
    assert discover([]).find("org.example.Packed").version == "2.5"

"""Bundles are read in every form, and refused with a reason."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError, Rejected, discover
from hearth.discovery.catalogue import read
from hearth.discovery.metadata import declared
from hearth.discovery.python_bundle import PythonBundle
from tests.bundles import build

SOURCE = {"hearth.source_connectors": {"org.example.DemoSourceConnector": "demo:DemoSource"}}


def _wheel(folder: Path) -> Path:
    return build.plain_wheel(folder, "demo", groups=SOURCE)


def _wheels(folder: Path) -> Path:
    inside = folder / "wheels-of-demo"
    inside.mkdir()
    _wheel(inside)
    build.plain_wheel(inside, "library")
    return inside


def _wheels_in_a_folder_of_a_folder(folder: Path) -> Path:
    inside = folder / "outer"
    (inside / "wheels").mkdir(parents=True)
    (inside / "README.md").write_text("")
    _wheel(inside / "wheels")
    return inside


def _site(folder: Path) -> Path:
    inside = folder / "site-of-demo"
    build.site(inside, "library")
    return build.site(inside, "demo", groups=SOURCE)


def _zip_of(make: Callable[[Path], Path], top: str = "") -> Callable[[Path], Path]:
    def zip_(folder: Path) -> Path:
        source, target = make(folder), folder / "packed" / "demo.zip"
        target.parent.mkdir()
        with zipfile.ZipFile(target, "w") as archive:
            for file in source.rglob("*"):
                archive.write(file, top + str(file.relative_to(source)))
        return target

    return zip_


def _tar_of(make: Callable[[Path], Path], top: str) -> Callable[[Path], Path]:
    def tar(folder: Path) -> Path:
        source, target = make(folder), folder / "packed" / "demo.tar.gz"
        target.parent.mkdir()
        with tarfile.open(target, "w:gz") as archive:
            archive.add(source, arcname=top)
        return target

    return tar


def _link_to(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def link(folder: Path) -> Path:
        source = make(folder)
        target = folder / "links" / source.name
        target.parent.mkdir()
        target.symlink_to(os.path.relpath(source, target.parent))
        return target

    return link


GOOD = {
    "wheel": _wheel,
    "directory of wheels": _wheels,
    "directory with a directory of wheels": _wheels_in_a_folder_of_a_folder,
    "directory of dist-info": _site,
    "zip of wheels": _zip_of(_wheels),
    "zip of wheels in a folder": _zip_of(_wheels, "demo-1.0/"),
    "zip of dist-info": _zip_of(_site),
    "zip of dist-info in a folder": _zip_of(_site, "demo-1.0/"),
    "tar.gz of wheels": _tar_of(_wheels, "."),
    "tar.gz of wheels in a folder": _tar_of(_wheels, "demo-1.0"),
    "tar.gz of dist-info in a folder": _tar_of(_site, "demo-1.0"),
    "link to a wheel": _link_to(_wheel),
    "link to a directory of wheels": _link_to(_wheels),
    "link to a directory of dist-info": _link_to(_site),
    "link to a zip": _link_to(_zip_of(_wheels)),
}


@pytest.mark.parametrize("form", GOOD)
def test_every_form_of_a_bundle_declares_the_same(form: str, tmp_path: Path) -> None:
    """What a bundle is stored in makes no difference to what it declares."""
    bundle = read(GOOD[form](tmp_path))
    assert isinstance(bundle, PythonBundle), bundle
    assert (bundle.name, bundle.version, bundle.requires_python) == ("demo", "1.0", ">=3.10")
    assert bundle.roots == ("demo==1.0",)
    (declaration,) = bundle.declarations
    assert declaration.class_name == "org.example.DemoSourceConnector"
    assert (declaration.type, declaration.version, declaration.reference) == ("source", "1.0", "demo:DemoSource")


@pytest.mark.parametrize("form", GOOD)
def test_unpacking_yields_wheels_or_packages(form: str, tmp_path: Path) -> None:
    """Whatever the form, unpacking leaves wheels or a site directory that holds the plugin's module."""
    bundle = read(GOOD[form](tmp_path))
    assert isinstance(bundle, PythonBundle)
    target = tmp_path / "unpacked"
    bundle.unpack(target)
    expected = "demo.py" if bundle.is_site else "demo-1.0-py3-none-any.whl"
    assert (target / expected).is_file()


def test_digest_depends_on_content_alone(tmp_path: Path) -> None:
    """The same wheels in a directory and in a zip have one digest, another wheel has another."""
    directory, archive = (
        read(_wheels(tmp_path)),
        read(_zip_of(lambda folder: folder / "wheels-of-demo")(tmp_path)),
    )
    assert isinstance(directory, Bundle)
    assert isinstance(archive, Bundle)
    assert directory.digest() == archive.digest()
    build.plain_wheel(directory.location, "library", version="1.1")
    assert directory.digest() != archive.digest()


def test_directory_that_links_to_itself_is_read_once(tmp_path: Path) -> None:
    """A loop of symbolic links does not keep the search going."""
    inside = _wheels(tmp_path)
    (inside / "again").symlink_to(inside)
    bundle = read(inside)
    assert isinstance(bundle, PythonBundle)
    assert len(bundle.declarations) == 1


def test_broken_link_inside_a_bundle_is_left_out(tmp_path: Path) -> None:
    """As in Kafka, a link that leads nowhere does not spoil the bundle around it."""
    inside = _wheels(tmp_path)
    (inside / "gone.whl").symlink_to(tmp_path / "nowhere.whl")
    assert isinstance(read(inside), Bundle)


def _named(target: Path, content: bytes = b"") -> Path:
    target.write_bytes(content)
    return target


def _venv(folder: Path, python: str = "3.11.7") -> Path:
    """Lay out a virtual environment as ``venv`` does, with a plugin, what it needs, and pip."""
    home = folder / "venv-of-demo"
    packages = home / "lib" / "python3.11" / "site-packages"
    build.site(packages, "demo", groups=SOURCE)
    build.site(packages, "pip")
    (home / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {python}\n")
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to("/usr/bin/python3")
    (home / "lib64").symlink_to("lib")
    return home


@pytest.mark.parametrize("make", [_venv, _link_to(_venv)])
def test_virtual_environment_is_a_bundle_for_its_python(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """Its packages are used in place; another Python could not load the compiled ones."""
    location = make(tmp_path)
    bundle = read(location)
    assert isinstance(bundle, PythonBundle), bundle
    assert [each.class_name for each in bundle.declarations] == ["org.example.DemoSourceConnector"]
    assert bundle.requires_python == ">=3.10,==3.11.*"
    assert bundle.site == location / "lib" / "python3.11" / "site-packages"
    assert [each.location for each in discover([location], include_host=False).plugins] == [str(location)]


def test_a_package_installed_into_a_virtual_environment_later_is_detected(tmp_path: Path) -> None:
    """Its own directory stays as it is meanwhile."""
    location = _venv(tmp_path)
    bundle = read(location)
    assert isinstance(bundle, PythonBundle)
    assert bundle.is_current
    build.site(location / "lib" / "python3.11" / "site-packages", "more")
    assert not bundle.is_current


def test_a_host_in_a_virtual_environment_is_no_part_of_the_bundle(tmp_path: Path) -> None:
    """An author's environment contains a host, whose converters must not replace those of the running host."""
    location = _venv(tmp_path)
    packages = location / "lib" / "python3.11" / "site-packages"
    build.site(packages, "hearth-json", groups={"hearth.converters": {"org.apache.JsonConverter": "json_:Json"}})
    folder = packages / "hearth_connect-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: hearth-connect\nVersion: 0.1.0\nRequires-Dist: hearth-json==0.1.0\n")
    bundle = read(location)
    assert isinstance(bundle, PythonBundle)
    assert [each.class_name for each in bundle.declarations] == ["org.example.DemoSourceConnector"]


def _editable(folder: Path) -> Path:
    location = _venv(folder)
    origin = location / "lib" / "python3.11" / "site-packages" / "demo-1.0.dist-info" / "direct_url.json"
    origin.write_text('{"dir_info": {"editable": true}, "url": "file:///home/me/demo"}')
    return location


def _empty_venv(folder: Path) -> Path:
    location = _venv(folder)
    shutil.rmtree(location / "lib")
    return location


def _directory(folder: Path, *files: str) -> Path:
    inside = folder / "candidate"
    for file in files:
        (inside / file).parent.mkdir(parents=True, exist_ok=True)
        (inside / file).write_text("")
    inside.mkdir(exist_ok=True)
    return inside


def _bad_zip_in_zip(folder: Path) -> Path:
    target = folder / "bundle.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("wheels/x-1.0-py3-none-any.whl", b"PK no wheel")
    return target


def _cut(folder: Path) -> Path:
    whole = _tar_of(_wheels, "demo")(folder)
    whole.write_bytes(whole.read_bytes()[:200])
    return whole


def _backslash(folder: Path) -> Path:
    target = folder / "b.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("..\\outside.py", "")
    return target


BAD: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "truncated wheel": (build.truncated, "truncated or not a zip file", "again"),
    "truncated tar": (_cut, "truncated or not a tar archive", "again"),
    "empty wheel": (lambda f: _named(f / "a-1.0-py3-none-any.whl"), "truncated or not a zip file", "again"),
    "broken wheel inside": (_bad_zip_in_zip, "x-1.0-py3-none-any.whl: it is truncated", "again"),
    "path traversal in zip": (build.traversal, "'../outside.py', which points outside", "do not install"),
    "path traversal with backslash": (_backslash, "which points outside the archive", "do not install"),
    "path traversal in tar": (build.traversal_tar, "'/outside.py', which points outside", "do not install"),
    "no metadata": (build.without_metadata, "has no METADATA", "pack"),
    "no entry points": (
        lambda f: build.plain_wheel(f, "plain"),
        "no plugin is declared: plain 1.0",
        "entry-points",
    ),
    "bad entry point": (
        lambda f: build.plain_wheel(f, "demo", groups={"hearth.converters": {"a.B": "demo"}}),
        "entry point 'a.B' of hearth.converters is 'demo', not module:Class",
        "correct the entry points",
    ),
    "empty directory": (lambda f: _directory(f), "it is empty", "bundle"),
    "directory of jars": (lambda f: _directory(f, "lib/a.jar"), "a.jar is truncated or not a Java archive", "again"),
    "jar": (lambda f: _named(f / "a.jar"), "a.jar is truncated or not a Java archive", "again"),
    "project": (
        lambda f: _directory(f, "pyproject.toml", "src/a.py"),
        "source of a project",
        "hearth bundle pack",
    ),
    "project of setuptools": (
        lambda f: _directory(f, "setup.py", "a.py"),
        "source of a project",
        "hearth bundle install",
    ),
    "source distribution": (
        lambda f: _directory(f, "a-1.0/pyproject.toml", "a-1.0/PKG-INFO", "a-1.0/src/a.py"),
        "it is a source distribution",
        "hearth bundle install",
    ),
    "archives one level down": (lambda f: _directory(f, "a/b.zip"), "one level too deep", "plugin.path"),
    "anything else": (lambda f: _directory(f, "a.txt"), "no metadata", "pack"),
    "editable": (_editable, "it is installed as editable, so its code is elsewhere: install it without -e", ""),
    "packed virtual environment": (
        _tar_of(_venv, "demo"),
        "it holds the link 'demo/bin/python' to '/usr/bin/python3', which points outside",
        "name a virtual environment by its directory",
    ),
    "empty virtual environment": (_empty_venv, "a virtual environment without packages", "install into it"),
    "unknown file": (lambda f: _named(f / "a.txt"), "no bundle format", "wheel"),
}


@pytest.mark.parametrize("case", BAD)
def test_candidate_that_is_no_bundle_is_rejected_with_reason_and_hint(case: str, tmp_path: Path) -> None:
    """Whatever is wrong with a candidate, the answer names it, says why and what to do."""
    make, reason, hint = BAD[case]
    location = make(tmp_path)
    rejected = read(location)
    assert isinstance(rejected, Rejected)
    assert rejected.location == str(location)
    assert reason in rejected.reason
    assert hint in rejected.hint


def test_good_entry_points_survive_a_bad_one(tmp_path: Path) -> None:
    """One malformed entry point costs its own plugin, not the bundle."""
    bundle = read(build.wheel("bad_entry_points"))
    assert isinstance(bundle, PythonBundle)
    assert [each.class_name for each in bundle.declarations] == ["org.example.GoodConverter"]
    assert bundle.faults == (
        "entry point 'org.example.BadConverter' of hearth.converters is 'bad_entry_points', not module:Class "
        "(of bad-entry-points 1.0)",
    )


def test_an_unknown_entry_point_group_is_reported_with_the_nearest_one(tmp_path: Path) -> None:
    """A bundle of nothing else is turned away for it; groups of others are no concern of this host."""
    build.plain_wheel(tmp_path, "demo", "1.0", {"hearth.source_conectors": {"a.B": "a:B"}, "console_scripts": {}})
    rejected = read(tmp_path)
    assert isinstance(rejected, Rejected)
    assert rejected.reason == (
        "entry point 'a.B' is of 'hearth.source_conectors', no group of Hearth, "
        "did you mean 'hearth.source_connectors'? (of demo 1.0)"
    )


def test_modules_to_be_loaded_before_a_fork_are_no_plugins() -> None:
    """They are named by a group of Hearth as well, which is for stages to read."""
    assert declared("[hearth.preloads]\nall = demo.task\n", "1.0") == ([], [])


def test_malformed_lines_of_entry_points_cost_only_themselves(tmp_path: Path) -> None:
    """A file that no packaging tool would write is read as far as it makes sense."""
    points = "stray\n[x]\n= \n[hearth.sink_connectors]\n# comment\nno value\n = a:B\nGood = demo : Demo [extra]\n"
    declarations, faults = declared(points, "1.0")
    assert [(each.class_name, each.reference) for each in declarations] == [("Good", "demo:Demo")]
    assert len(faults) == 2


def test_two_versions_of_a_distribution_in_one_bundle_count_once(tmp_path: Path) -> None:
    """An environment can hold one version only, so the newer one counts and the other is reported."""
    build.plain_wheel(tmp_path, "demo", "1.9", SOURCE)
    build.plain_wheel(tmp_path, "demo", "1.10", SOURCE)
    bundle = read(tmp_path)
    assert isinstance(bundle, PythonBundle)
    assert bundle.roots == ("demo==1.10",)
    assert "declared by demo 1.9 and by demo 1.10; the latter is used" in bundle.faults[0]


def test_packed_bundle_is_read_from_its_manifest(tmp_path: Path) -> None:
    """A packed bundle carries versions and configuration definitions of its plugins."""
    bundle = read(build.packed("greeting_source"))
    assert isinstance(bundle, PythonBundle)
    assert (bundle.name, bundle.version) == ("greeting-source", "1.1")
    (declaration,) = bundle.declarations
    assert declaration.definitions is not None
    assert [key["name"] for key in declaration.definitions] == ["topic", "count"]


def test_unpacked_copy_of_a_packed_bundle_is_the_same_bundle(tmp_path: Path) -> None:
    """Unzipping a bundle into plugin.path changes nothing but the location."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unzipped")
    zipped, unzipped = read(build.packed("greeting_source")), read(tmp_path / "unzipped")
    assert isinstance(zipped, Bundle)
    assert isinstance(unzipped, Bundle)
    assert unzipped.declarations == zipped.declarations
    assert unzipped.digest() == zipped.digest()


def test_file_that_changed_after_packing_is_refused(tmp_path: Path) -> None:
    """The manifest's hashes are checked whenever files leave the bundle."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unzipped")
    wheel = next((tmp_path / "unzipped" / "wheels").glob("greeting-*"))
    wheel.write_bytes(build.wheel("greeting_2").read_bytes())
    bundle = read(tmp_path / "unzipped")
    assert isinstance(bundle, PythonBundle)
    with pytest.raises(BundleError, match="is not the file that was packed"):
        bundle.unpack(tmp_path / "out")


def test_listed_file_that_is_missing_rejects_the_bundle(tmp_path: Path) -> None:
    """A packed bundle with a missing file is rejected when it is listed."""
    shutil.unpack_archive(build.packed("greeting_source"), tmp_path / "unzipped")
    next((tmp_path / "unzipped" / "wheels").glob("greeting-*")).unlink()
    rejected = read(tmp_path / "unzipped")
    assert isinstance(rejected, Rejected)
    assert "greeting-1.0-py3-none-any.whl is listed in hearth-bundle.json but missing" in rejected.reason

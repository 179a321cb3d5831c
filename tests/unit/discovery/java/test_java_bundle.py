"""Java bundles are read in every form that Java Connect reads, and in those that people download."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery import Rejected, discover
from hearth.discovery.bundle_kind import read_bundle
from hearth.discovery.catalogue import read
from hearth.discovery.java import known_files
from hearth.discovery.java.described_version import remember_versions
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.tree import Tree
from tests.bundles.java import SINK, TRANSFORMATION, jar, java_class

SINK_CLASS = java_class("org/example/DemoSinkConnector", SINK)
UPPER = java_class("org/example/Upper", interfaces=[TRANSFORMATION], release=21)
HUB = {
    "name": "kafka-connect-demo",
    "version": "1.2.0",
    "title": "Demo",
    "owner": {"username": "example", "name": "Example Inc."},
    "license": [{"name": "Apache License 2.0", "url": "https://example.org"}],
    "component_types": ["sink"],
}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))


def _folder(folder: Path) -> Path:
    demo = folder / "demo"
    jar(demo / "lib" / "deep" / "upper.jar", UPPER)
    jar(demo / "sink.jar", SINK_CLASS)
    (demo / "README.md").write_text("")
    return demo


def _jar(folder: Path) -> Path:
    return jar(folder / "demo.jar", SINK_CLASS, UPPER)


def _classes(folder: Path) -> Path:
    package = folder / "demo" / "org" / "example"
    package.mkdir(parents=True)
    (package / "DemoSinkConnector.class").write_bytes(SINK_CLASS)
    (package / "Upper.class").write_bytes(UPPER)
    return folder / "demo"


def _tar(folder: Path) -> Path:
    with tarfile.open(folder / "demo-1.0-plugin.tar.gz", "w:gz") as archive:
        archive.add(_folder(folder / "source"), "demo")
    return folder / "demo-1.0-plugin.tar.gz"


def _zip(folder: Path) -> Path:
    source = _folder(folder / "source")
    with zipfile.ZipFile(folder / "demo-1.0.zip", "w") as archive:
        for file in filter(Path.is_file, source.rglob("*")):
            archive.write(file, f"demo/{file.relative_to(source)}")
    return folder / "demo-1.0.zip"


def _link(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def link(folder: Path) -> Path:
        found = make(folder / "source") if make is _folder else make(folder)
        (folder / "links").mkdir()
        (folder / "links" / found.name).symlink_to(found)
        return folder / "links" / found.name

    return link


FORMS: dict[str, Callable[[Path], Path]] = {
    "directory": _folder,
    "jar": _jar,
    "directory of class files": _classes,
    "tar.gz with a top folder": _tar,
    "zip with a top folder": _zip,
    "link to a directory": _link(_folder),
    "link to a jar": _link(_jar),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_plugins(form: str, tmp_path: Path) -> None:
    """The class name is the reference, and the version unknown before a JVM was asked."""
    bundle = read(FORMS[form](tmp_path))
    assert isinstance(bundle, JavaBundle), bundle
    assert (bundle.kind, bundle.name, bundle.version, bundle.release) == ("java", "demo", "undefined", 21)
    assert [(each.class_name, each.type, each.version, each.reference) for each in bundle.declarations] == [
        ("org.example.DemoSinkConnector", "sink", "undefined", "org.example.DemoSinkConnector"),
        ("org.example.Upper", "transformation", "undefined", "org.example.Upper"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_unpacking_leaves_the_class_path(form: str, tmp_path: Path) -> None:
    """The archives of the class path, or the class files themselves."""
    bundle = read(FORMS[form](tmp_path))
    assert isinstance(bundle, JavaBundle)
    bundle.unpack(tmp_path / "unpacked")
    files = [str(each.relative_to(tmp_path / "unpacked")) for each in (tmp_path / "unpacked").rglob("*.*")]
    expected = list(bundle.class_path) or ["org/example/DemoSinkConnector.class", "org/example/Upper.class"]
    assert sorted(files) == sorted(expected)


@pytest.mark.parametrize("form", FORMS)
def test_unchanged_bundle_is_listed_without_being_opened(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second listing takes what the first has kept, and so does the name of its environment."""
    monkeypatch.setattr(known_files, "SETTLED_NS", -3_600_000_000_000)
    location = FORMS[form](tmp_path)
    first = read(location)

    def opener() -> Tree:
        raise AssertionError("it is opened")

    again = read_bundle(location, opener)
    assert isinstance(again, JavaBundle)
    assert isinstance(first, JavaBundle)
    assert (again.declarations, again.key, again.digest()) == (first.declarations, first.key, first.key)
    assert (again.name, again.class_path, again.release, again.top) == (
        first.name,
        first.class_path,
        first.release,
        first.top,
    )


@pytest.mark.parametrize("form", ["directory", "jar", "tar.gz with a top folder"])
def test_changed_bundle_is_read_again(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list and the name of its environment follow the files."""
    monkeypatch.setattr(known_files, "SETTLED_NS", -3_600_000_000_000)
    location = FORMS[form](tmp_path)
    first = read(location)
    assert isinstance(first, JavaBundle)
    other = jar(tmp_path / "other.jar", java_class("org/example/Other", SINK))
    if location.is_dir():
        other.rename(location / "sink.jar")
    elif form == "jar":
        other.rename(location)
    else:
        with tarfile.open(location, "w:gz") as archive:
            for name in first.class_path:
                archive.add(other, f"demo/{name}")
    again = read(location)
    assert isinstance(again, JavaBundle)
    assert "org.example.Other" in [each.class_name for each in again.declarations]
    assert first.digest() == again.digest() != first.key


def test_class_path_has_the_order_of_java_connect(tmp_path: Path) -> None:
    """Sorted by the bytes of absolute paths, with links resolved; a file counts once."""
    real = jar(tmp_path / "0" / "real.jar", UPPER)
    demo = tmp_path / "demo"
    for name in ("b.jar", "lib-x/a.jar", "lib/a.jar", "Z.jar"):
        jar(demo / name, SINK_CLASS)
    (demo / "zz.jar").symlink_to(real)
    (demo / "zzz.jar").symlink_to(real)
    bundle = read(demo)
    assert isinstance(bundle, JavaBundle)
    assert bundle.class_path == ("zz.jar", "Z.jar", "b.jar", "lib-x/a.jar", "lib/a.jar")


def test_an_archive_of_confluent_hub_has_the_name_and_version_of_its_manifest(tmp_path: Path) -> None:
    """Its manifest has name, version, title, owner and licence; the classes are found all the same."""
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        archive.writestr("example-kafka-connect-demo-1.2.0/manifest.json", json.dumps(HUB))
        archive.write(_jar(tmp_path), "example-kafka-connect-demo-1.2.0/lib/demo.jar")
    bundle = read(tmp_path / "demo.zip")
    assert isinstance(bundle, JavaBundle), bundle
    assert (bundle.name, bundle.version, bundle.class_path) == ("kafka-connect-demo", "1.2.0", ("lib/demo.jar",))
    assert bundle.hub is not None
    assert (bundle.hub.title, bundle.hub.owner, bundle.hub.licence) == ("Demo", "Example Inc.", "Apache License 2.0")


@pytest.mark.parametrize("text", ["{", "[]", '{"name": 1, "version": "1"}', '{"name": "a\\nb", "version": "1"}'])
def test_manifest_of_confluent_hub_without_a_name_is_refused(text: str, tmp_path: Path) -> None:
    """The name reaches terminals and file names."""
    (_folder(tmp_path) / "manifest.json").write_text(text)
    found = read(tmp_path / "demo")
    assert isinstance(found, Rejected)
    assert found.reason.startswith("manifest.json ")


def test_versions_that_a_jvm_returned_are_shown(tmp_path: Path) -> None:
    """They belong to the content: the same files elsewhere have them, too."""
    first = read(_folder(tmp_path))
    assert isinstance(first, JavaBundle)
    remember_versions(first.key, {"org.example.Upper": "2.5"})
    shutil.move(tmp_path / "demo", tmp_path / "moved")
    again = read(tmp_path / "moved")
    assert isinstance(again, JavaBundle)
    assert [each.version for each in again.declarations] == ["undefined", "2.5"]


def test_adjacent_jars_are_separate_bundles(tmp_path: Path) -> None:
    """As in Java Connect: each child of an element of plugin.path is one location."""
    jar(tmp_path / "path" / "a.jar", SINK_CLASS)
    jar(tmp_path / "path" / "b.jar", UPPER)
    _folder(tmp_path / "path")
    found = discover([tmp_path / "path"], include_host=False)
    assert [(each.class_name.rpartition(".")[2], Path(each.location).name) for each in found.plugins] == [
        ("DemoSinkConnector", "a.jar"),
        ("DemoSinkConnector", "demo"),
        ("Upper", "b.jar"),
        ("Upper", "demo"),
    ]
    assert found.find("DemoSink").location.endswith("/demo")


def test_jars_without_plugins_are_no_bundle(tmp_path: Path) -> None:
    """A library next to the plugins, for example."""
    found = read(jar(tmp_path / "library.jar", java_class("org/example/Library")))
    assert isinstance(found, Rejected)
    assert "none of its Java classes is a plugin" in found.reason


def test_packages_are_named_by_their_pom(tmp_path: Path) -> None:
    """A jar made of several projects, or without a pom, is named by its file."""
    pom = b"#Generated\ngroupId=org.example\nartifactId=demo\nversion=3.1\n"
    jar(tmp_path / "d" / "a.jar", SINK_CLASS, **{"META-INF/maven/org.example/demo/pom.properties": pom})
    two = {f"META-INF/maven/org.example/{name}/pom.properties": pom for name in "xy"}
    jar(tmp_path / "d" / "other-lib-2.0.jar", **two)
    bundle = read(tmp_path / "d")
    assert isinstance(bundle, JavaBundle)
    assert [(each.name, each.version, each.purl) for each in bundle.packages()] == [
        ("org.example:demo", "3.1", "pkg:maven/org.example/demo@3.1"),
        ("other-lib", "2.0", "pkg:generic/other-lib@2.0"),
    ]


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({"pom.xml": "<licenses><license><name> MIT &amp; more </name></license></licenses>"}, "MIT & more"),
        (
            {"pom.xml": "<licenses><license><name>A</name></license><license><name>B</name></license></licenses>"},
            "A AND B",
        ),
        ({"MANIFEST.MF": 'Bundle-License: "EPL-\r\n 2.0";link="https://example.org"\r\n'}, "EPL-2.0"),
        ({"pom.xml": "<licenses><license><name>A\x1b</name>", "MANIFEST.MF": "Bundle-License: B, C\n"}, "B"),
        ({"pom.xml": "<licenses>" + "<license>" * 100_000}, ""),
        ({}, ""),
    ],
)
def test_licence_is_that_of_the_pom_or_else_of_the_manifest(
    files: dict[str, str], licence: str, tmp_path: Path
) -> None:
    """A pom often leaves it to its parent, which is not in the jar."""
    folder = "META-INF/maven/org.example/demo"
    places = {"pom.xml": f"{folder}/pom.xml", "MANIFEST.MF": "META-INF/MANIFEST.MF"}
    texts = {places[name]: text.encode() for name, text in files.items()}
    pom = b"groupId=org.example\nartifactId=demo\nversion=3.1\n"
    bundle = read(jar(tmp_path / "a.jar", SINK_CLASS, **{f"{folder}/pom.properties": pom}, **texts))
    assert isinstance(bundle, JavaBundle)
    assert [each.licence for each in bundle.packages()] == [licence]

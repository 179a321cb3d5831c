"""A packed bundle of Java plugins has the hashes of its files, so it can be signed and trusted."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery import BundleError, read
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.trust import Trust
from hearth.packaging.audit import audit
from hearth.packaging.java_pack import pack_java
from hearth.packaging.sign import new_key, sign
from tests.bundles.java import SINK, jar, java_class

SINK_CLASS = java_class("org/example/DemoSinkConnector", SINK)
PROPERTIES = "META-INF/maven/org.example/demo/pom.properties"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with a jar and a licence."""
    named = {PROPERTIES: b"groupId=org.example\nartifactId=demo\nversion=3.1\n"}
    jar(tmp_path / "demo" / "lib" / "demo.jar", SINK_CLASS, **named)
    (tmp_path / "demo" / "LICENSE.txt").write_text("free")
    return tmp_path / "demo"


def bundle_at(location: Path) -> JavaBundle:
    """Read a bundle."""
    found = read(location)
    assert isinstance(found, JavaBundle), found
    return found


def signed(folder: Path, target: Path) -> Path:
    """Return the directory as a signed bundle, and the key in the same place."""
    packed = pack_java(bundle_at(folder), target)
    new_key(target / "key")
    sign(packed, target / "key")
    return packed


def test_packed_bundle_is_named_by_its_only_jar(folder: Path, tmp_path: Path) -> None:
    """It lists each file with its hash; packing again gives the same bytes."""
    packed = pack_java(bundle_at(folder), tmp_path / "one")
    assert packed.name == "demo-3.1.zip"
    bundle = bundle_at(packed)
    assert (bundle.name, bundle.version, bundle.class_path) == ("demo", "3.1", ("lib/demo.jar",))
    assert bundle.hashes is not None
    assert [*bundle.hashes] == ["LICENSE.txt", "lib/demo.jar", "manifest.json", "sbom.cdx.json"]
    with zipfile.ZipFile(packed) as archive:
        bill = json.loads(archive.read("sbom.cdx.json"))
    assert bill["metadata"]["component"]["purl"] == "pkg:maven/org.example/demo@3.1"
    assert pack_java(bundle_at(folder), tmp_path / "other.zip").read_bytes() == packed.read_bytes()
    with pytest.raises(BundleError, match="is packed already"):
        pack_java(bundle, tmp_path / "two")


def test_workers_that_want_a_signature_take_signed_jars_alone(folder: Path, tmp_path: Path) -> None:
    """Those that want hashes take packed ones; signing leaves the content as it was."""
    location = signed(folder, tmp_path / "dist")
    trust = Trust("signed", [str(tmp_path / "dist" / "key.pub")])
    trust.admit(bundle_at(location))
    assert audit([location]) == []
    Trust("hashed").admit(bundle_at(location))
    for level, reason in ((trust, "it has no hearth-bundle.json"), (Trust("hashed"), "its files have no hashes")):
        with pytest.raises(BundleError, match=reason):
            level.admit(bundle_at(folder))


def _replaced(files: dict[str, bytes]) -> None:
    files["lib/demo.jar"] += b" "


def _added(files: dict[str, bytes]) -> None:
    files["lib/other.jar"] = files["lib/demo.jar"]


def _removed(files: dict[str, bytes]) -> None:
    del files["LICENSE.txt"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_replaced, "lib/demo.jar is not the file that was packed"),
        (_added, "lib/other.jar is in it and was not signed"),
        (_removed, "LICENSE.txt is listed in hearth-bundle.json but missing"),
    ],
)
def test_no_file_of_a_signed_bundle_can_be_changed(
    change: Callable[[dict[str, bytes]], None], reason: str, folder: Path, tmp_path: Path
) -> None:
    """An altered jar is found when it is unpacked, before a JVM sees it."""
    with zipfile.ZipFile(signed(folder, tmp_path / "dist")) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)

    def use() -> None:
        found = read(tmp_path / "changed.zip")
        if not isinstance(found, JavaBundle):
            raise BundleError(getattr(found, "reason", ""))
        Trust("signed", [str(tmp_path / "dist" / "key.pub")]).admit(found)
        found.unpack(tmp_path / "unpacked")

    with pytest.raises(BundleError, match=reason):
        use()


@pytest.mark.parametrize("bill", ["", "[]", '{"components": [{"hashes": [{}]}]}'])
def test_malformed_bill_of_materials_is_named(bill: str, folder: Path, tmp_path: Path) -> None:
    """The bundle is listed all the same."""
    with zipfile.ZipFile(pack_java(bundle_at(folder), tmp_path / "dist")) as archive:
        archive.extractall(tmp_path / "unpacked")
    (tmp_path / "unpacked" / "sbom.cdx.json").write_text(bill)
    with pytest.raises(BundleError, match="its bill of materials is malformed"):
        list(bundle_at(tmp_path / "unpacked").packages())


def test_class_files_are_packed_and_unpacked_without_what_signs_them(tmp_path: Path) -> None:
    """The manifest and the signatures are no part of a class hierarchy."""
    (tmp_path / "demo" / "org" / "example").mkdir(parents=True)
    (tmp_path / "demo" / "org" / "example" / "DemoSinkConnector.class").write_bytes(SINK_CLASS)
    bundle_at(signed(tmp_path / "demo", tmp_path / "dist")).unpack(tmp_path / "unpacked")
    assert {each.name for each in (tmp_path / "unpacked").iterdir()} == {"org", "manifest.json", "sbom.cdx.json"}

"""A bundle that is made of a Maven artifact says who it is and what it has."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.maven.ivy import Coordinates
from hearth.packaging.integrity import usable
from hearth.packaging.maven_bundle import maven_bundle
from tests.bundles.java import SINK, jar, java_class

DEMO, LIBRARY = Coordinates("org.example", "demo", "3.1"), Coordinates("org.other", "lib", "2.0")
SINK_CLASS = java_class("org/example/DemoSinkConnector", SINK)
POM = {"META-INF/MANIFEST.MF": b"Bundle-License: Apache-2.0\n"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))


def licences(artifacts: Sequence[Coordinates]) -> dict[Coordinates, list[str]]:
    """Return what the poms of some artifacts would say."""
    return {each: ["BSD-3-Clause", "MIT"] for each in artifacts if each == LIBRARY}


def _bill(bundle: Path) -> tuple[str, list[str]]:
    """Return the address of the subject, and those of the parts, of which each has a hash."""
    with zipfile.ZipFile(bundle) as archive:
        bill = json.loads(archive.read("sbom.cdx.json"))
    assert all(len(each["hashes"][0]["content"]) == 64 for each in bill["components"])
    return bill["metadata"]["component"]["purl"], [each["purl"] for each in bill["components"]]


def test_jar_comes_with_what_it_needs(tmp_path: Path) -> None:
    """Name and version are those of the artifact, also where the jars do not say them."""
    main = jar(tmp_path / "cache" / "org.example.demo-3.1.jar", SINK_CLASS, **POM)
    library = jar(tmp_path / "cache" / "org.other.lib-2.0.jar", java_class("org/other/Lib"))
    made = maven_bundle([(DEMO, main), (LIBRARY, library)], tmp_path, licences)
    bundle = usable(made)
    assert isinstance(bundle, JavaBundle)
    assert (bundle.name, bundle.version, bundle.class_path) == ("demo", "3.1", ("lib/demo-3.1.jar", "lib/lib-2.0.jar"))
    assert bundle.hub is not None
    assert (bundle.hub.owner, bundle.hub.licence) == ("org.example", "Apache-2.0")
    assert _bill(made) == ("pkg:maven/org.example/demo@3.1", ["pkg:maven/org.other/lib@2.0"])
    assert [(each.name, each.licence) for each in bundle.packages()] == [
        ("org.example:demo", "Apache-2.0"),
        ("org.other:lib", "BSD-3-Clause AND MIT"),
    ]
    with zipfile.ZipFile(made) as archive:
        (part,) = json.loads(archive.read("sbom.cdx.json"))["components"]
    assert part["licenses"] == [{"license": {"name": "BSD-3-Clause AND MIT"}}]


def test_archive_has_all_it_needs(tmp_path: Path) -> None:
    """Its folder is left out; jars are named as they name themselves."""
    inner = jar(tmp_path / "demo-core-3.1.jar", SINK_CLASS)
    with tarfile.open(tmp_path / "org.example.demo-3.1-plugin.tar.gz", "w:gz") as archive:
        archive.add(inner, "demo/demo-core-3.1.jar")
    wanted = Coordinates("org.example", "demo", "3.1", "plugin", "tar.gz")
    made = maven_bundle([(wanted, tmp_path / "org.example.demo-3.1-plugin.tar.gz")], tmp_path, licences)
    bundle = usable(made)
    assert isinstance(bundle, JavaBundle)
    assert (bundle.name, bundle.version, bundle.class_path) == ("demo", "3.1", ("demo-core-3.1.jar",))
    assert _bill(made) == ("pkg:maven/org.example/demo@3.1", ["pkg:generic/demo-core@3.1"])


def test_artifact_without_plugins_is_refused(tmp_path: Path) -> None:
    """The message names the artifact."""
    library = jar(tmp_path / "lib.jar", java_class("org/other/Lib"))
    with pytest.raises(BundleError, match=r"org\.other:lib:2\.0: none of its Java classes is a plugin"):
        maven_bundle([(LIBRARY, library)], tmp_path, licences)

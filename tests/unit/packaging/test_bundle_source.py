"""A bundle comes from the given source, and is the requested one."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError, read
from hearth.packaging.bundle_source import BundleSource
from hearth.packaging.project import is_source
from hearth_api import ConfigError, ConnectError
from tests.bundles import build
from tests.bundles.java import SINK, jar, java_class
from tests.web_server import web_server

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Provide the address of a server whose files are in ``tmp_path``."""
    with web_server(tmp_path) as address:
        yield address


def obtained(source: BundleSource) -> tuple[str, str]:
    """Return name and version of the bundle, and check that it is deleted afterwards unless it existed before."""
    with source.obtained(build.environments()) as path:
        found = read(path)
        assert isinstance(found, Bundle), found
    assert path.exists() == (source.text in str(path) or bool(source.indexes))
    return found.name, found.version


def test_file_and_name_in_a_directory(tmp_path: Path) -> None:
    """A directory of bundles goes before the package index."""
    wheel = build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    assert obtained(BundleSource(str(wheel))) == ("demo", "1.0")
    assert obtained(BundleSource("demo<2", [str(tmp_path)])) == ("demo", "1.0")


def test_source_distribution_is_built_and_packed(address: str, tmp_path: Path) -> None:
    """It is installed as by pip, like the unpacked project; the hash is that of the published file."""
    sdist = tmp_path / "greeting_source-1.1.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(build.SOURCES / "greeting_source", "greeting_source-1.1")
    links = [build.wheel(name).parent for name in build.LIBRARIES]
    digits = hashlib.sha256(sdist.read_bytes()).hexdigest()
    source = BundleSource(f"{address}/{sdist.name}", (), links, True, digits)
    with source.obtained(build.environments()) as path:
        assert path.read_bytes() == build.packed("greeting_source").read_bytes()
    assert not path.exists()


def test_a_bundle_that_contains_its_source_is_not_built(tmp_path: Path) -> None:
    """Only a project is built: a bundle is installed unchanged."""
    assert is_source(build.SOURCES / "greeting_source")
    beside = tmp_path / "beside"
    shutil.copytree(build.SOURCES / "greeting_source", beside)
    build.plain_wheel(beside, "demo", "1.0", POINTS)
    (tmp_path / "nothing.tar.gz").write_bytes(b"no archive")
    (tmp_path / "empty").mkdir()
    assert not [name for name in ("beside", "nothing.tar.gz", "empty", "nowhere.tgz") if is_source(tmp_path / name)]


def test_package_is_packed_with_its_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were a project here, but for that it needs no building."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    links = [build.wheel(name).parent for name in ("greeting_source", *build.LIBRARIES)]
    with BundleSource("Greeting-source==1.1", [], links, True).obtained(build.environments()) as path:
        assert path.read_bytes() == build.packed("greeting_source").read_bytes()


def test_http_address_is_downloaded_only_with_a_hash(address: str, tmp_path: Path) -> None:
    """Without one what comes unprotected may be anybody's."""
    wheel = build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert obtained(BundleSource(f"{address}/{wheel.name}", sha256=digest.upper())) == ("demo", "1.0")
    assert obtained(BundleSource(f"{address}/{wheel.name}", sha256=f"sha256:{digest}")) == ("demo", "1.0")
    with pytest.raises(ConfigError, match="not protected against tampering") as raised:
        obtained(BundleSource(f"{address}/{wheel.name}"))
    assert "--sha256" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("path", "digest", "kind", "words"),
    [
        ("demo-1.0-py3-none-any.whl", "0" * 64, BundleError, f"expected {'0' * 64}"),
        ("nothing.zip", "0" * 64, ConnectError, "404"),
        ("page.html", "0" * 64, ConfigError, "names no bundle"),
    ],
)
def test_unexpected_bundle_is_refused(
    path: str, digest: str, kind: type[ConnectError], words: str, address: str, tmp_path: Path
) -> None:
    """With what came instead."""
    build.plain_wheel(tmp_path, "demo", "1.0", POINTS)
    with pytest.raises(kind, match=words):
        obtained(BundleSource(f"{address}/{path}", sha256=digest))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (BundleSource("nowhere/demo.zip"), r"nowhere/demo\.zip does not exist"),
        (BundleSource("demo.zip"), r"demo\.zip does not exist"),
        (BundleSource("ftp://example.org/demo.zip"), "cannot be fetched"),
        (BundleSource("http://127.0.0.1:9/demo.zip", sha256="abc"), "'abc' is not a SHA-256"),
    ],
)
def test_a_source_that_cannot_be_a_bundle_is_refused_first(source: BundleSource, words: str) -> None:
    """With what would be one."""
    with pytest.raises(ConfigError, match=words) as raised:
        obtained(source)
    assert raised.value.hint


def test_maven_artifact_becomes_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was fetched before needs no network; the hash is that of the artifact's own file."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    main = jar(tmp_path / "jars" / "org.example.demo-3.1.jar", java_class("org/example/DemoSink", SINK))
    digits = hashlib.sha256(main.read_bytes()).hexdigest()
    (tmp_path / "jars" / "locks").mkdir()
    row = f"{digits} {main.stat().st_size} org.example:demo:3.1\n"
    (tmp_path / "jars" / "locks" / "org.example.demo-3.1.jar.txt").write_text(row)
    text = "maven:org.example:demo:3.1"
    with BundleSource(text, is_offline=True, sha256=digits).obtained(build.environments()) as path:
        found = read(path)
        assert isinstance(found, Bundle), found
        assert (found.name, found.version, path.suffix) == ("demo", "3.1", ".zip")
    with (
        pytest.raises(BundleError, match=rf"has the SHA-256 {digits}, expected 0000"),
        BundleSource(text, sha256="0" * 64).obtained(build.environments()),
    ):
        pass

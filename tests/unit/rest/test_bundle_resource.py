"""Bundles over HTTP: listing, rejections and installation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.discovery import PluginScanner
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment_store import EnvironmentStore
from tests.bundles import build
from tests.unit.rest.client import Answer, Client, error, serve

ENABLED = {"plugin.rest.install.enable": "true"}
ZIP = "application/zip"


class Installer:
    """A server whose plugin.path is a directory."""

    def __init__(self, client: Client, folder: Path, directory: PluginDirectory) -> None:
        self.client, self.folder, self.directory = client, folder, directory
        self.scratch = folder.parent / "scratch"
        self.scratch.mkdir()

    def bundle(self, version: str, class_name: str = "a.DemoConnector") -> bytes:
        """Return a bundle, a directory of packages in a zip file."""
        points = {"hearth.source_connectors": {class_name: "demo:Demo"}}
        site = build.site(self.scratch / f"{version}-{class_name}", "demo", version, points)
        return build.zip_folder(site, self.scratch / "demo.zip").read_bytes()

    def post(self, content: bytes, content_type: str | None = ZIP, file: str = "demo.zip") -> Answer:
        """Send a bundle."""
        return self.client.call("POST", f"/plugins?file={file}", content, content_type)

    def versions(self) -> list[str]:
        """Return the versions of the connector that are listed."""
        listed = self.client.call("GET", "/connector-plugins").json
        return [each["version"] for each in listed if each["class"] == "a.DemoConnector"]


def _served(tmp_path: Path, worker: dict[str, str]) -> Iterator[Installer]:
    folder = tmp_path / "plugin_path"
    folder.mkdir()
    known = PluginDirectory(PluginScanner([folder]).look, EnvironmentStore(tmp_path / "environments"))
    for client in serve(tmp_path / "bench", worker, known=known):
        yield Installer(client, folder, known)


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    """Provide a server that allows installation."""
    yield from _served(tmp_path, ENABLED)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Installer]:
    """Provide a server that does not, which is the default."""
    yield from _served(tmp_path, {})


def test_bundles_are_listed_and_rejected_ones_have_a_reason(closed: Installer) -> None:
    """So users find a missing plugin without the log."""
    (closed.folder / "demo.zip").write_bytes(closed.bundle("1.0"))
    (closed.folder / "half.whl").write_bytes(b"PK half of it")
    found = closed.client.call("GET", "/plugins").json
    assert found["bundles"] == [
        {
            "name": "demo",
            "version": "1.0",
            "location": str(closed.folder / "demo.zip"),
            "plugins": [{"class": "a.DemoConnector", "type": "source", "version": "1.0"}],
        }
    ]
    (closed.folder / "same.zip").write_bytes((closed.folder / "demo.zip").read_bytes())
    closed.directory.look()
    refused, shadowed = closed.client.call("GET", "/plugins").json["rejected"]
    assert shadowed["location"] == str(closed.folder / "demo.zip")
    assert "which is the one that is used" in shadowed["reason"]
    assert refused["location"] == str(closed.folder / "half.whl")
    assert "truncated or not a zip file" in refused["reason"]
    assert refused["hint"]


def test_installation_is_disabled_by_default(closed: Installer) -> None:
    """It allows clients to run code on the host."""
    refused = error(403, "this worker does not install bundles over REST: plugin.rest.install.enable is false")
    for answer in (
        closed.post(closed.bundle("1.0")),
        closed.client.call("DELETE", "/plugins/demo"),
        closed.client.call("POST", "/plugins/demo/rollback"),
    ):
        assert (answer.status, answer.text) == refused
    assert list(closed.folder.iterdir()) == []


def test_a_bundle_is_installed_upgraded_rolled_back_and_removed(installer: Installer) -> None:
    """Each takes effect with its response."""
    made = installer.post(installer.bundle("1.0"))
    assert made.status == 201
    where = made.json["location"]
    assert made.json == {"action": "install", "name": "demo", "before": None, "after": "1.0", "location": where}
    assert Path(where).parent == installer.folder
    assert installer.versions() == ["1.0"]
    newer = installer.bundle("1.1")
    raised = installer.post(newer)
    assert (raised.status, raised.json["before"], raised.json["after"]) == (200, "1.0", "1.1")
    assert installer.versions() == ["1.1"]
    assert installer.post(newer).json["action"] == "keep"
    back = installer.client.call("POST", "/plugins/demo/rollback")
    assert (back.status, back.json["after"]) == (200, "1.0")
    assert installer.versions() == ["1.0"]
    gone = installer.client.call("DELETE", "/plugins/demo")
    assert (gone.status, gone.json["action"], gone.json["before"]) == (200, "remove", "1.0")
    assert installer.versions() == []
    assert installer.client.call("DELETE", "/plugins/demo").status == 404


@pytest.mark.parametrize(
    ("content", "content_type", "file", "status", "words"),
    [
        (b"PK half of it", ZIP, "demo.zip", 400, "truncated or not a zip file"),
        (b"", ZIP, "demo.zip", 400, "truncated or not a zip file"),
        (b"text", "application/octet-stream", "demo.txt", 400, "no bundle format reads it"),
        (b"x", ZIP, "../demo.zip", 400, "a plain file name is expected"),
        (b"x", ZIP, ".demo.zip", 400, "a plain file name is expected"),
        (b"x", ZIP, "demo.zip%00", 400, "a plain file name is expected"),
        (b"x", ZIP, "", 400, "a plain file name is expected"),
        (b"x", None, "demo.zip", 415, "Unsupported Media Type"),
        (b"x", "text/plain", "demo.zip", 415, "Unsupported Media Type"),
        (b"{}", "application/json", "demo.zip", 415, "Unsupported Media Type"),
    ],
)
def test_an_invalid_bundle_is_rejected_without_a_trace(
    installer: Installer, content: bytes, content_type: str | None, file: str, status: int, words: str
) -> None:
    """Pages of other origins cannot send forms, or bodies without a content type."""
    answer = installer.post(content, content_type, file)
    assert answer.status == status, answer
    assert words in answer.json["message"]
    assert [each for each in installer.folder.iterdir() if not each.name.startswith(".")] == []
    assert installer.versions() == []

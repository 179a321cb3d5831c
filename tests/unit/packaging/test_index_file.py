"""A directory of bundles with a list is an index at whatever address it is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.cli.main import run
from hearth.packaging.bundle_index import VARIABLE, find, named_indexes, search
from hearth.packaging.index_file import INDEX, read_index
from hearth_api import ConfigError
from tests.bundles import build
from tests.web_server import certificate, web_server

POINTS = {"hearth.predicates": {"a.Demo": "demo:Demo"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a directory with versions of a bundle, one for another host, whose name needs escaping."""
    folder = tmp_path / "bundles"
    folder.mkdir()
    for version in ("1.0", "1.1+local.1"):
        build.plain_wheel(folder, "demo", version, POINTS, requires=("hearth-api",))
    build.plain_wheel(folder, "demo", "2.0", POINTS, requires=("hearth-api>=99",))
    build.site(folder / "directory", "other", groups=POINTS)
    return folder


@pytest.fixture
def address(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Provide the address of a server that has these files, with their list."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path / "server.pem")))
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert run(["bundle", "index", str(folder)]) == 0
    with web_server(folder, tmp_path / "server.pem") as address:
        yield address


def test_a_list_gives_the_same_entries_as_its_directory(address: str, folder: Path) -> None:
    """All but what is no file; the newest that this host can take comes from its address, by its hash."""
    assert [each.version for each in search("demo", [address])] == ["1.0", "1.1+local.1", "2.0"]
    assert search("other", [address]) == []
    entry = find("demo", [address])
    assert (entry.version, entry.plugins) == ("1.1+local.1", ("a.Demo",))
    assert entry.location == f"{address}/demo-1.1%2Blocal.1-py3-none-any.whl"
    assert find("demo", [str(folder)]).version == entry.version


def test_bundles_are_installed_from_the_address(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named by an option, or in the variable; `search` says where they are."""
    place = ["--plugin-path", str(tmp_path / "plugins")]
    capsys.readouterr()
    assert run(["bundle", "install", "demo<1.1", "--index", f"{address}/", *place]) == 0
    assert "installed demo 1.0 in" in capsys.readouterr().out
    monkeypatch.setenv("HEARTH_INDEX", f"{tmp_path / 'bundles'}:{address}")
    assert run(["bundle", "upgrade", "demo", *place]) == 0
    assert "upgraded demo from 1.0 to 1.1+local.1" in capsys.readouterr().out
    assert run(["bundle", "search", "a.demo", "--index", f"{address}/{INDEX}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [set(each) for each in found] == [{"name", "version", "plugins", "location"}] * 3
    assert all(each["location"].startswith(address) for each in found)


def test_bundle_that_was_exchanged_after_it_was_listed_is_refused(
    address: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the hash in the list."""
    build.plain_wheel(folder, "demo", "1.0", POINTS, code="other = 1")
    words = ["bundle", "install", "demo==1.0", "--index", address, "--plugin-path", str(tmp_path / "plugins")]
    assert run(words) == 2
    assert ", expected " in capsys.readouterr().err
    assert not (tmp_path / "plugins").exists()


def test_list_that_calls_a_bundle_otherwise_is_refused(
    address: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No other or older bundle than the requested one is installed."""
    text = (folder / INDEX).read_text()
    (folder / INDEX).write_text(text.replace('"version": "1.0"', '"version": "1.5"', 1))
    words = ["bundle", "install", "demo==1.5", "--index", address, "--plugin-path", str(tmp_path / "plugins")]
    assert run(words) == 2
    assert "demo-1.0-py3-none-any.whl demo 1.5, it is demo 1.0" in capsys.readouterr().err


def test_list_is_the_same_for_the_same_bundles(address: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mirror has nothing to copy where nothing is new."""
    capsys.readouterr()
    before = (folder / INDEX).read_bytes()
    assert run(["bundle", "index", str(folder)]) == 0
    assert (folder / INDEX).read_bytes() == before
    assert capsys.readouterr().out == f"{folder / INDEX}\n"


ROW = {"name": "a", "version": "1", "file": "a.zip", "sha256": "0", "plugins": [], "requires": []}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<html>", "is no list of bundles"),
        ("[]", "is no list of bundles"),
        ('{"format": 2}', "has a format that is not read here"),
        (json.dumps({"format": 1, "bundles": [{"name": "a"}]}), "is no list of bundles"),
        (json.dumps({"format": 1, "bundles": [{**ROW, "version": 1}]}), "is no list of bundles"),
        (json.dumps({"format": 1, "bundles": [{**ROW, "requires": ["?"]}]}), "is no list of bundles"),
        (json.dumps({"format": 1, "bundles": [{**ROW, "file": "../a.zip"}]}), "points outside"),
        ('{"format":' + "[" * 100_000, "is no list of bundles"),
    ],
)
def test_an_invalid_list_is_refused(text: str, words: str, address: str, folder: Path) -> None:
    """Whatever a server answers."""
    (folder / INDEX).write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_index(address)


def test_list_that_anybody_may_have_changed_is_refused(folder: Path) -> None:
    """It has the hashes, so it has to come over https."""
    with web_server(folder) as plain, pytest.raises(ConfigError, match="not protected against tampering"):
        read_index(plain)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("/a b:/c", ["/a b", "/c"]),
        ("/a:https://h:8443/x https://i/y", ["/a", "https://h:8443/x", "https://i/y"]),
        ("", []),
    ],
)
def test_variable_names_directories_and_addresses(
    text: str, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address has colons of its own, so it ends with the word; what is named otherwise comes before."""
    monkeypatch.setenv(VARIABLE, text)
    assert named_indexes() == named
    assert named_indexes(["/d"]) == ["/d"]

"""What is known of a bundle's files is used while their stamps are the same, and never after a change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hearth.discovery.java import known_files
from hearth.discovery.java.hub_manifest import HubManifest
from hearth.discovery.java.known_files import KnownFiles, keep, recall, stamps_of

HUB = HubManifest("demo", "1.0", "Demo", "Example Inc.", "MIT")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))


@pytest.fixture
def _all_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rely on files that were written just now."""
    monkeypatch.setattr(known_files, "SETTLED_NS", -3_600_000_000_000)


@pytest.fixture(params=["file", "directory"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a file, or a directory with a file in a folder."""
    if request.param == "file":
        (tmp_path / "demo.jar").write_bytes(b"old")
        return tmp_path / "demo.jar"
    (tmp_path / "demo" / "lib").mkdir(parents=True)
    (tmp_path / "demo" / "lib" / "a.jar").write_bytes(b"old")
    return tmp_path / "demo"


def _file(location: Path) -> Path:
    return location / "lib" / "a.jar" if location.is_dir() else location


def _known(location: Path, hub: HubManifest | None = None) -> KnownFiles:
    hashes = {"lib/a.jar": "45"} if hub else None
    return KnownFiles(stamps_of(location), "top", ("lib/a.jar",), "demo", "1.0", hub, hashes, "0123")


@pytest.mark.usefixtures("_all_settled")
@pytest.mark.parametrize("hub", [None, HUB])
def test_facts_of_unchanged_files_are_kept(location: Path, hub: HubManifest | None) -> None:
    """Also for another process, because they are in a file."""
    known = _known(location, hub)
    keep(location, known)
    assert recall(location) == known


@pytest.mark.usefixtures("_all_settled")
def test_change_that_keeps_size_and_time_is_seen(location: Path) -> None:
    """A program can set the time of the content, but not that of the inode."""
    before = _file(location).stat()
    keep(location, _known(location))
    while _file(location).stat().st_ctime_ns == before.st_ctime_ns:
        _file(location).write_bytes(b"new")
        os.utime(_file(location), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert recall(location) is None


@pytest.mark.usefixtures("_all_settled")
def test_replaced_and_added_and_removed_files_are_seen(location: Path) -> None:
    """Each changes the stamps."""
    keep(location, _known(location))
    fresh = location.with_name("fresh")
    fresh.write_bytes(b"old")
    fresh.replace(_file(location))
    assert recall(location) is None
    keep(location, _known(location))
    assert recall(location) is not None
    if location.is_dir():
        (location / "lib" / "b.jar").touch()
        assert recall(location) is None
        (location / "lib" / "b.jar").unlink()
        assert recall(location) is not None
    _file(location).unlink()
    assert recall(location) is None


def test_files_changed_just_now_are_not_relied_on(location: Path) -> None:
    """A change within the same tick of the clock would leave the same stamp."""
    assert stamps_of(location) is None
    keep(location, _known(location))
    assert recall(location) is None


@pytest.mark.usefixtures("_all_settled")
@pytest.mark.parametrize("change", [{"stamps": 1}, {"hub": {"name": "x"}}, {"more": 1}, {"location": "/elsewhere"}])
def test_damaged_record_is_ignored(location: Path, change: dict[str, object], tmp_path: Path) -> None:
    """It is written again after the files were read."""
    keep(location, _known(location))
    (record,) = (tmp_path / "home").rglob("at-*.json")
    record.write_text(json.dumps(json.loads(record.read_text()) | change))
    assert recall(location) is None
    record.write_text("{")
    assert recall(location) is None
    record.write_text("[]")
    assert recall(location) is None

"""The contract of a spool store, for each kind of store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spool_location import spool_store
from hearth.datasource.spool_store import SpoolStore
from hearth_api import ConfigError

ADDRESS = os.environ.get("HEARTH_TEST_SPOOL", "memory://spools")
"""Below which address the rules are tried: a bucket may be named, with s3fs for example beside."""


@pytest.fixture(params=["directory", "address"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SpoolStore:
    """Provide an empty place of each kind."""
    if request.param == "address":
        return spool_store(f"{ADDRESS}{tmp_path}")
    return spool_store(str(tmp_path / "spool"))


def test_file_is_created_only_once(store: SpoolStore) -> None:
    """By the first, whose file stays as it is; what is put there replaces what was."""
    store.lock(0)()
    store.create("state", b"first")
    with pytest.raises(FileExistsError):
        store.create("state", b"second")
    assert store.read("state") == b"first"
    store.put("state", b"third")
    assert store.read("state") == b"third"


def test_published_draft_is_complete(store: SpoolStore) -> None:
    """Under its name, and in the list of its folder; the draft is gone."""
    unlock = store.lock(0)
    draft = store.draft("task-0/a")
    draft.write_bytes(b"0123456789")
    assert store.read("task-0/a") is None
    store.publish(draft, "task-0/a")
    assert not draft.exists()
    assert store.names("task-0") == ["a"]
    assert "task-0" in store.names()
    assert store.end("task-0/a", 3) == b"789"
    assert store.end("task-0/a", 30) == b"0123456789"
    assert store.open("task-0/a").read() == b"0123456789"
    store.remove("task-0/a")
    store.remove("task-0/a")
    assert store.names("task-0") == []
    unlock()


def test_missing_file_is_none(store: SpoolStore) -> None:
    """It is not an error: tasks look for files that may appear later."""
    store.lock(0)()
    assert store.read("none") is None
    assert store.end("task-9/none", 3) is None
    assert store.names("task-9") == []


def test_directory_may_be_a_path_or_a_file_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, also from here, or an address of a file."""
    monkeypatch.chdir(tmp_path)
    for address in ("s", str(tmp_path / "s"), f"file://{tmp_path}/s", f"file:{tmp_path}/s"):
        store = spool_store(address)
        assert isinstance(store, DirectoryStore)
        assert store.root == tmp_path / "s"


@pytest.mark.parametrize("address", ["ftp://there/spool", "https://there/spool"])
def test_file_system_without_atomic_creation_is_refused(address: str) -> None:
    """The error names the file systems that are supported."""
    with pytest.raises(ConfigError, match=r"hearth\.spool.*create files atomically"):
        spool_store(address)


def test_store_that_overwrites_files_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is tried before anything depends on it."""
    original = MemoryFileSystem.pipe_file
    monkeypatch.setattr(
        MemoryFileSystem, "pipe_file", lambda self, path, value, mode="overwrite": original(self, path, value)
    )
    with pytest.raises(ConfigError, match="can be created again"):
        spool_store(f"memory://spools{tmp_path}").lock(0)

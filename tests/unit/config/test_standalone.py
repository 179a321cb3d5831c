"""A host that works alone."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hearth.config import StandaloneConfig

MINIMAL = {
    "bootstrap.servers": "a:1, b:2",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "/tmp/connect.offsets",
}


def test_a_host_is_known_by_its_offset_file(tmp_path: Path) -> None:
    """However it is written: the tasks of a host that was started again are the same members of their groups."""
    (tmp_path / "link").symlink_to(tmp_path)
    names = ("offsets", "link/offsets", "other")
    first, again, other = (_identity(tmp_path / name) for name in names)
    assert first == again != other


def _identity(offsets: Path) -> str:
    return StandaloneConfig({**MINIMAL, "offset.storage.file.filename": str(offsets)}).identity


def test_hosts_of_two_machines_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path on another machine is another file."""
    here = _identity(tmp_path / "offsets")
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert _identity(tmp_path / "offsets") != here

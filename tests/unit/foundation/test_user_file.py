"""Files are in the configured directories and are replaced atomically."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth.foundation.user_file import cache_directory, make_directory, replace_text, replacing, state_directory


def test_hearth_home_holds_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One variable moves all that Hearth keeps."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    assert cache_directory("jars") == tmp_path / "jars"
    assert state_directory("broker") == tmp_path / "broker"


def test_xdg_directories_are_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without HEARTH_HOME the XDG variables decide, and their defaults below the home directory."""
    monkeypatch.delenv("HEARTH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory("jars") == tmp_path / "c" / "hearth" / "jars"
    assert state_directory("broker") == tmp_path / ".local" / "state" / "hearth" / "broker"


def test_relative_xdg_path_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The XDG rules forbid relative paths; such a value counts as unset."""
    monkeypatch.delenv("HEARTH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "hearth"


def test_created_directories_are_private(tmp_path: Path) -> None:
    """Also their new parents, whatever the umask; an existing one keeps its mode."""
    tmp_path.chmod(0o777)
    before = os.umask(0)
    try:
        make_directory(tmp_path / "a" / "b")
        make_directory(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [0o777, 0o755, 0o755]


def test_file_has_the_new_text_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    """Directories are made as needed, and others may read the file."""
    target = tmp_path / "new" / "file.txt"
    replace_text(target, "one")
    replace_text(target, "two")
    assert target.read_text() == "two"
    assert list(target.parent.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o644


def test_failure_keeps_the_old_file(tmp_path: Path) -> None:
    """When writing fails half way, readers never see that half."""
    target = tmp_path / "file.txt"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as fresh:
            fresh.write_text("half")
            raise ValueError("disk on fire")

    with pytest.raises(ValueError, match="disk on fire"):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_full_disk_error_names_the_target(tmp_path: Path) -> None:
    """The system names the file that was read, or none."""
    target = tmp_path / "file.txt"

    def write() -> None:
        with replacing(target), open("/dev/full", "wb") as full:
            full.write(b"more than there is room for")

    with pytest.raises(OSError, match="No space left on device") as raised:
        write()
    assert raised.value.filename == str(target)
    assert list(tmp_path.iterdir()) == []

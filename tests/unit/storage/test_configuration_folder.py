"""Worker configurations as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.config.worker_configuration import DEFAULT, WorkerConfiguration
from hearth.storage import ConfigurationFolder
from hearth_api import ConfigError, ConflictError, NotFoundError

TEXT = "description=Lines, as they are\nkey.converter=K\nvalue.converter = V\n"


@pytest.fixture
def folder(tmp_path: Path) -> ConfigurationFolder:
    """Provide a folder without files."""
    return ConfigurationFolder(str(tmp_path))


def test_a_file_is_a_configuration(folder: ConfigurationFolder, tmp_path: Path) -> None:
    """Its name is the file's, and one of its keys describes it; what other files are called is no name."""
    assert folder.names() == ["default"]
    for name in ("lines.properties", "a b.properties", ".hidden.properties", "notes.txt", "default.properties"):
        (tmp_path / name).write_text(TEXT)
    assert folder.names() == ["default", "lines"]
    properties = {"key.converter": "K", "value.converter": "V"}
    assert folder.find("lines") == WorkerConfiguration("lines", "Lines, as they are", properties)
    assert folder.find("default") is DEFAULT


def test_what_is_made_is_a_file_that_others_do_not_read(folder: ConfigurationFolder, tmp_path: Path) -> None:
    """Whatever characters it has; it may hold secrets, and is the same after a restart."""
    made = WorkerConfiguration("my.own-1", "für Zeilen = # \\", {"key.converter": "K", "a b": " ü\n"})
    folder.create(made)
    assert ConfigurationFolder(str(tmp_path)).find("my.own-1") == made
    assert [each.name for each in tmp_path.iterdir()] == ["my.own-1.properties"]
    assert (tmp_path / "my.own-1.properties").stat().st_mode & 0o077 == 0
    folder.delete("my.own-1")
    assert folder.names() == ["default"]


def test_what_is_there_is_not_overwritten(folder: ConfigurationFolder) -> None:
    """Neither is the default, which nobody can delete."""
    folder.create(WorkerConfiguration("lines", "", {"key.converter": "K"}))
    for name in ("lines", "default"):
        with pytest.raises(ConflictError, match=f"worker configuration '{name}' already exists"):
            folder.create(WorkerConfiguration(name, "", {"key.converter": "other"}))
    assert folder.find("lines").properties == {"key.converter": "K"}
    with pytest.raises(ConflictError, match="worker configuration 'default' cannot be deleted"):
        folder.delete("default")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "-", "ü", "x" * 129, "a b", "x\n"])
def test_a_name_that_is_no_name_of_a_file_is_refused(folder: ConfigurationFolder, tmp_path: Path, name: str) -> None:
    """Nothing is written, and nothing outside is read."""
    with pytest.raises(ConfigError, match="a name has at most 128 characters"):
        folder.create(WorkerConfiguration(name, "", {}))
    assert list(tmp_path.iterdir()) == []
    for act in (folder.find, folder.delete):
        with pytest.raises(NotFoundError, match="not found, there are: default"):
            act(name)


def test_a_file_that_cannot_be_read_is_named(folder: ConfigurationFolder, tmp_path: Path) -> None:
    """With the line."""
    (tmp_path / "bad.properties").write_text("a=\\uzz")
    with pytest.raises(ConfigError, match=r"bad\.properties, line 1: malformed escape"):
        folder.find("bad")


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    """The error names the key that would change that; a folder that is none is told at the start."""
    with pytest.raises(ConfigError, match=r"the worker has no worker\.configuration\.path"):
        ConfigurationFolder(None).create(WorkerConfiguration("x", "", {}))
    assert ConfigurationFolder(None).names() == ["default"]
    ConfigurationFolder(None).check()
    with pytest.raises(ConfigError, match=r"worker\.configuration\.path='.*/none' is not a directory"):
        ConfigurationFolder(str(tmp_path / "none")).check()

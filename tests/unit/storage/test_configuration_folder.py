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
    """The file name is its name, and one of its keys the description; other files are ignored."""
    assert folder.names() == ["default"]
    for name in ("lines.properties", "a b.properties", ".hidden.properties", "notes.txt", "default.properties"):
        (tmp_path / name).write_text(TEXT)
    assert folder.names() == ["default", "lines"]
    properties = {"key.converter": "K", "value.converter": "V"}
    assert folder.find("lines") == WorkerConfiguration("lines", "Lines, as they are", properties)
    assert folder.find("default") is DEFAULT


def test_a_created_configuration_is_a_private_file(folder: ConfigurationFolder, tmp_path: Path) -> None:
    """With any characters; it may contain secrets, and is the same after a restart."""
    made = WorkerConfiguration("my.own-1", "für Zeilen = # \\", {"key.converter": "K", "a b": " ü\n"})
    folder.create(made)
    assert ConfigurationFolder(str(tmp_path)).find("my.own-1") == made
    assert [each.name for each in tmp_path.iterdir()] == ["my.own-1.properties"]
    assert (tmp_path / "my.own-1.properties").stat().st_mode & 0o077 == 0
    folder.delete("my.own-1")
    assert folder.names() == ["default"]


def test_an_existing_configuration_is_not_overwritten(folder: ConfigurationFolder) -> None:
    """Nor is the default, which cannot be deleted either."""
    folder.create(WorkerConfiguration("lines", "", {"key.converter": "K"}))
    for name in ("lines", "default"):
        with pytest.raises(ConflictError, match=f"worker configuration '{name}' already exists"):
            folder.create(WorkerConfiguration(name, "", {"key.converter": "other"}))
    assert folder.find("lines").properties == {"key.converter": "K"}
    with pytest.raises(ConflictError, match="worker configuration 'default' cannot be deleted"):
        folder.delete("default")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "-", "ü", "x" * 129, "a b", "x\n"])
def test_an_invalid_name_is_rejected(folder: ConfigurationFolder, tmp_path: Path, name: str) -> None:
    """Nothing is written, and no file outside the folder is read."""
    with pytest.raises(ConfigError, match="a name has at most 128 characters"):
        folder.create(WorkerConfiguration(name, "", {}))
    assert list(tmp_path.iterdir()) == []
    for act in (folder.find, folder.delete):
        with pytest.raises(NotFoundError, match="not found, there are: default"):
            act(name)


def test_a_file_that_cannot_be_read_is_named(folder: ConfigurationFolder, tmp_path: Path) -> None:
    """With the line number."""
    (tmp_path / "bad.properties").write_text("a=\\uzz")
    with pytest.raises(ConfigError, match=r"bad\.properties, line 1: malformed escape"):
        folder.find("bad")


def test_without_a_folder_no_configuration_is_created(tmp_path: Path) -> None:
    """The error names the key to set; a path that is not a directory is reported at startup."""
    with pytest.raises(ConfigError, match=r"the worker has no worker\.configuration\.path"):
        ConfigurationFolder(None).create(WorkerConfiguration("x", "", {}))
    assert ConfigurationFolder(None).names() == ["default"]
    ConfigurationFolder(None).check()
    with pytest.raises(ConfigError, match=r"worker\.configuration\.path='.*/none' is not a directory"):
        ConfigurationFolder(str(tmp_path / "none")).check()

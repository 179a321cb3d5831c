"""A data directory is used by one server at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hearth.broker.data_directory import DataDirectory
from hearth_api import ConflictError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.broker.data_directory._LOCK_TIMEOUT", 0.0)


def test_second_server_is_refused_until_the_lock_is_released(tmp_path: Path) -> None:
    """The error names the owner. The directory need not exist."""
    first, second = DataDirectory(tmp_path / "data"), DataDirectory(tmp_path / "data")
    first.take("registry")
    with pytest.raises(ConflictError, match=f"another registry uses {first.path}"):
        second.take("registry")
    first.give_back()
    second.take("registry")
    second.give_back()


def test_inherited_lock_is_held(tmp_path: Path) -> None:
    """A server may live on for a moment behind the one that started it."""
    directory = DataDirectory(tmp_path)
    directory.take("broker")
    inherited = os.dup(directory.fileno())
    directory.give_back()
    with pytest.raises(ConflictError):
        DataDirectory(tmp_path).take("broker")
    os.close(inherited)
    directory.take("broker")
    directory.give_back()

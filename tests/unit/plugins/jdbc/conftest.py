"""The databases that the contract of dialects is tested on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth_jdbc import jdbc_source_task
from tests.unit.plugins.jdbc.database import Database, SqliteDatabase


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Provide an empty database of each product."""
    return SqliteDatabase(tmp_path / "database")


@pytest.fixture(autouse=True)
def _short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let polls that find nothing return soon."""
    monkeypatch.setattr(jdbc_source_task, "LONGEST_POLL", 0.06)
    monkeypatch.setattr(jdbc_source_task, "RETRY_AFTER", 0.01)

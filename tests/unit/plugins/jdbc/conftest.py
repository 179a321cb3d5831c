"""The databases that the contract of dialects is tested on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth_jdbc import jdbc_source_task
from tests import mariadb, postgresql
from tests.mariadb import MariaDb
from tests.postgresql import PostgreSql
from tests.unit.plugins.jdbc.database import (
    Database,
    DuckDbDatabase,
    MariaDbDatabase,
    PostgreSqlDatabase,
    SqliteDatabase,
)

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgreSql]:
    """Provide a server for all tests of this process."""
    if not postgresql.is_installed():
        pytest.skip("no PostgreSQL on this machine: apt install postgresql")
    with postgresql.serving() as running:
        yield running


@pytest.fixture(scope="session")
def mysqld() -> Iterator[MariaDb]:
    """Provide a MariaDB server for all tests of this process."""
    if not mariadb.is_installed():
        pytest.skip("no MariaDB on this machine: apt install mariadb-server")
    with mariadb.serving() as running:
        yield running


@pytest.fixture(
    params=["sqlite", "duckdb", *(pytest.param(each, marks=pytest.mark.slow) for each in ("postgresql", "mariadb"))]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Provide an empty database of each product."""
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "database")
    if request.param == "duckdb":
        return DuckDbDatabase(tmp_path / "database")
    if request.param == "mariadb":
        return MariaDbDatabase(request.getfixturevalue("mysqld"), f"test_{next(_numbers)}")
    return PostgreSqlDatabase(request.getfixturevalue("server"), f"test_{next(_numbers)}")


@pytest.fixture
def shop(server: PostgreSql) -> PostgreSqlDatabase:
    """Provide an empty database of PostgreSQL."""
    return PostgreSqlDatabase(server, f"test_{next(_numbers)}")


@pytest.fixture(autouse=True)
def _short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let polls that find nothing return soon."""
    monkeypatch.setattr(jdbc_source_task, "LONGEST_POLL", 0.06)
    monkeypatch.setattr(jdbc_source_task, "RETRY_AFTER", 0.01)

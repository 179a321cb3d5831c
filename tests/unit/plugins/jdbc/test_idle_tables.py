"""Many tables of one task: one statement finds those with new rows."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hearth_api import RetriableError
from hearth_jdbc.horizon import Horizon
from hearth_jdbc.table_query import Bound
from tests.unit.plugins.jdbc.database import Database, values

MODES = {
    "incrementing": {"mode": "incrementing", "incrementing_column_name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp_column_name": "moment"},
}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide the names of tables that were looked at one by one."""
    found: list[str] = []
    advance = Horizon.advance

    def counted(self: Horizon, *given: object) -> Bound | None:
        found.append(self._query.table.name if self._query.table is not None else "")
        return advance(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Horizon, "advance", counted)
    return found


@pytest.fixture
def shop(database: Database) -> Database:
    """Provide a database with five tables, each with a row."""
    for number in range(5):
        database.run(f"CREATE TABLE t{number}(id INTEGER NOT NULL, moment {database.MOMENT})")
        database.run(f"INSERT INTO t{number} VALUES (1, '2020-01-01 10:00:00')")
    return database


@pytest.mark.parametrize("mode", MODES)
def test_only_tables_with_new_rows_are_looked_at(shop: Database, mode: str, looks: list[str]) -> None:
    """All rows come, and a table that has none costs no query of its own."""
    with shop.source(**MODES[mode]) as run:
        assert sorted(str(each.topic) for each in run.take(5)) == [f"t{number}" for number in range(5)]
        for _ in range(50):
            looks.clear()
            assert not run.poll() + run.poll()
            if not looks:  # tables come to be due together
                break
        assert looks == []
        shop.run("INSERT INTO t3 VALUES (2, '2020-01-01 10:00:01')")
        (found,) = run.take(1)
    assert (found.topic, found.value["id"], set(looks)) == ("t3", 2, {"t3"})


def test_a_table_that_is_gone_stops_no_other(shop: Database) -> None:
    """The statement for all fails, so each is read by itself."""
    with shop.source(**MODES["incrementing"]) as run:
        run.take(5)
        shop.run("DROP TABLE t2", "INSERT INTO t4 VALUES (2, '2020-01-01 10:00:01')")
        found = []
        for _ in range(100):
            with suppress(RetriableError):
                found += run.poll()
            if found:
                break
    assert values(found, "id") == [2]

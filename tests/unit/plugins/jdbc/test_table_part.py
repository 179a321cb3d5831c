"""bulk.split: several tasks read ranges of one table, on PostgreSQL from one snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_api.testing import MemorySourceTaskContext, SourceRun
from hearth_jdbc.dialect import postgresql_snapshot
from hearth_jdbc.jdbc_source import JdbcSourceConnector
from hearth_jdbc.jdbc_source_task import JdbcSourceTask
from hearth_jdbc.table_part import TablePart
from tests.unit.plugins.jdbc.database import Database, PostgreSqlDatabase, dotted, values

SPLIT = {"mode": "bulk", "bulk_split": "true", "name": "split", "poll_interval_ms": "600000"}


def split(database: Database, tasks: int, **settings: str) -> SourceRun:
    """Return a run of so many tasks."""
    config = {**database.settings(), **dotted({**SPLIT, **settings})}
    return SourceRun(JdbcSourceConnector, config, max_tasks=tasks, in_columns=True)


@pytest.fixture
def people(database: Database) -> Database:
    """Provide a table with a hundred rows, and one without a key."""
    database.run("CREATE TABLE people(id BIGINT PRIMARY KEY NOT NULL, n INTEGER)", "CREATE TABLE plain(n INTEGER)")
    database.insert("people", [(number * 10, 1) for number in range(1, 101)])
    database.insert("plain", [(1,)])
    return database


def test_parts_hold_each_row_once(people: Database) -> None:
    """Also rows outside of the range that was there when the parts were made."""
    people.insert("people", [(-5, 1)])
    with split(people, 3, table_whitelist="people") as run:
        parts = [TablePart.of(config) for config in run.task_configs(3)]
        assert [(part.place, part.count, part.column) for part in parts if part] == [(n, 3, "id") for n in range(3)]
        people.insert("people", [(-100, 1), (99_999, 1)])
        assert sorted(values(run.take(103), "id")) == [-100, -5, *range(10, 1001, 10), 99_999]
        assert not run.poll()
        assert run.task_configs(3) == run.task_configs(3)


def test_tables_share_the_tasks(people: Database) -> None:
    """A table without a primary key is read by one task; without `bulk.split`, or tasks enough, nobody reads parts."""
    with split(people, 5) as run:
        shares = [(config["tables"].rpartition(".")[2], "table.part" in config) for config in run.task_configs(5)]
        assert shares == [('"people"', True)] * 3 + [('"plain"', False)]
        assert len(run.task_configs(2)) == 2
        assert len(run.take(101)) == 101
    with split(people, 5, bulk_split="false") as run:
        assert ["table.part" in config for config in run.task_configs(5)] == [False, False]


@pytest.mark.slow
def test_all_parts_are_of_one_moment(shop: PostgreSqlDatabase) -> None:
    """Rows that change after the first task has its snapshot are read as they were, by tasks that come later too."""
    shop.run("CREATE TABLE people(id INT PRIMARY KEY, n INT)")
    shop.run("INSERT INTO people SELECT i, 1 FROM generate_series(1, 90) i")
    with split(shop, 3, batch_max_rows="5", poll_interval_ms="20") as run:
        found = run.poll()
        assert 0 < len(found) < 30
        shop.run("UPDATE people SET n = 2, id = id + 1000")
        while len(found) < 90:
            found += run.poll()
        assert sorted((row.value["id"], row.value["n"]) for row in found) == [(number, 1) for number in range(1, 91)]
        again = run.take(90)
        assert {row.value["n"] for row in again} == {2}


@pytest.mark.slow
def test_keys_of_other_types_are_divided_by_statistics(shop: PostgreSqlDatabase) -> None:
    """Texts, with quotes among them; without statistics there is one part."""
    words = "SELECT chr(60 + i % 50) || '''' || i FROM generate_series(1, 500) i"
    table = "CREATE TABLE people(id TEXT PRIMARY KEY) WITH (autovacuum_enabled = false)"
    shop.run(table, f"INSERT INTO people {words}")
    with split(shop, 4) as run:
        assert len(run.task_configs(4)) == 1
    shop.run("ANALYZE people")
    with split(shop, 4) as run:
        parts = [part for config in run.task_configs(4) if (part := TablePart.of(config))]
        assert len(set(values(run.take(500), "id"))) == 500
    sizes = [shop.rows(f"SELECT count(*) FROM people WHERE {part.condition('id')}")[0][0] for part in parts]
    assert len(sizes) == 4
    assert all(80 < size < 170 for size in sizes)


@pytest.mark.slow
def test_a_part_does_not_wait_for_ever(
    shop: PostgreSqlDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the first part for the others, nor another for the first; the log says so."""
    monkeypatch.setattr(postgresql_snapshot, "LONGEST_MEETING", 0.2)
    shop.run("CREATE TABLE people(id INT PRIMARY KEY)", "INSERT INTO people SELECT generate_series(1, 90)")
    with split(shop, 3) as run:
        configs = run.task_configs(3)
    for config in configs[:2]:
        caplog.clear()
        assert _count(config) == 30
        assert "of 3 of a table is read without the others" in caplog.text


def _count(config: Any) -> int:
    task = JdbcSourceTask()
    task.initialize(MemorySourceTaskContext(config))
    task.start(config)
    try:
        found = None
        while not found:
            found = task.poll_batch()
        return len(found[0])
    finally:
        task.stop()

"""table.notifications=trigger: PostgreSQL tells the source that there are rows to read."""

from __future__ import annotations

import threading
import time

import pytest

from hearth_api import ConnectError
from hearth_jdbc import jdbc_source_task
from tests.unit.plugins.jdbc.database import PostgreSqlDatabase, SqliteDatabase, values

pytestmark = pytest.mark.slow  # a server starts
SIGNAL = {"mode": "incrementing", "table_notifications": "trigger", "poll_interval_ms": "600000"}


@pytest.fixture
def people(shop: PostgreSqlDatabase) -> PostgreSqlDatabase:
    """Provide two tables, one with a row."""
    shop.run("CREATE TABLE other(id BIGSERIAL PRIMARY KEY)")
    shop.run("CREATE TABLE people(id BIGSERIAL PRIMARY KEY, name TEXT)", "INSERT INTO people(name) VALUES ('a')")
    return shop


def test_a_row_comes_at_once(people: PostgreSqlDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the interval ends, also while a poll waits; half of them within 20 ms."""
    monkeypatch.setattr(jdbc_source_task, "LONGEST_POLL", 1.0)
    with people.source(**SIGNAL) as run:
        assert values(run.take(1), "id") == [1]
        run.poll()
        waits = []
        with people.connect() as connection:
            for number in range(2, 22):

                def insert(number: int = number) -> None:
                    connection.execute("INSERT INTO people(id, name) VALUES (%s, 'b')", (number,))
                    waits.append(time.monotonic())

                threading.Timer(0.02, insert).start()
                assert values(run.take(1), "id") == [number]
                waits[-1] = time.monotonic() - waits[-1]
    print(f"p50 {sorted(waits)[10] * 1000:.1f} ms")
    assert sorted(waits)[10] < 0.2


def test_a_row_that_commits_while_others_wait_is_not_forgotten(people: PostgreSqlDatabase) -> None:
    """Its notification comes while the table waits for an open transaction, with an older bound."""
    with people.source(**SIGNAL) as run, people.connect() as slow:
        run.take(1)
        run.poll()
        slow.execute("BEGIN")
        slow.execute("INSERT INTO people(name) VALUES ('early')")
        people.run("INSERT INTO people(name) VALUES ('late')")
        for _ in range(3):
            assert not run.poll()
        people.run("INSERT INTO people(name) VALUES ('later')")
        assert not run.poll()
        slow.execute("COMMIT")
        assert values(run.take(3), "name") == ["early", "late", "later"]


def test_a_lost_connection_listens_again(people: PostgreSqlDatabase) -> None:
    """And looks at every table, since notifications may be lost with it."""
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()"
    )
    with people.source(**SIGNAL) as run:
        run.take(1)
        run.poll()
        people.run(end, "INSERT INTO people(name) VALUES ('b')")
        assert values(run.take(1), "name") == ["b"]
        people.run("INSERT INTO people(name) VALUES ('c')")
        assert values(run.take(1), "name") == ["c"]


def test_a_user_who_may_not_create_triggers_gets_the_statements(people: PostgreSqlDatabase) -> None:
    """Once somebody else has run them, the source works with the rights to read."""
    reader = f"reader_{people.name}"
    people.run(f"CREATE ROLE {reader} LOGIN PASSWORD 'x'", f"GRANT SELECT ON people TO {reader}")
    user = {"connection_user": reader, "connection_password": "x", "table_whitelist": "people"}
    with pytest.raises(ConnectError, match=r"cannot create a trigger on table public\.people") as caught:
        people.source(**SIGNAL, **user).__enter__()
    assert caught.value.hint is not None
    people.run(caught.value.hint.partition(": ")[2])
    with people.source(**SIGNAL, **user) as run:
        run.take(1)
        people.run("INSERT INTO people(name) VALUES ('b')")
        assert values(run.take(1), "name") == ["b"]


def test_other_databases_have_none(tmp_path: object) -> None:
    """Validation says so at the key."""
    database = SqliteDatabase(tmp_path / "database")  # type: ignore[operator]
    database.run("CREATE TABLE people(id INTEGER PRIMARY KEY)")
    with pytest.raises(ConnectError, match=r"table\.notifications trigger is for PostgreSQL, not for sqlite"):
        database.source(**SIGNAL).__enter__()

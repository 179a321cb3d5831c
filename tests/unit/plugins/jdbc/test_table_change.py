"""Tables and servers that change under running tasks: nothing is lost, and what cannot go on says why."""

from __future__ import annotations

import threading
import time

import pytest

import hearth_api as api
from hearth_api import ConnectError, SchemaBuilder, Struct
from tests.postgresql import USER
from tests.unit.plugins.jdbc.database import Database, PostgreSqlDatabase, record, values

PERSON = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()


def person(offset: int, name: str = "n") -> api.SinkRecord:
    """Return a record of a person with the offset as its number."""
    return record(offset, PERSON, Struct.of(PERSON, {"id": offset, "name": name}))


@pytest.fixture
def people(database: Database) -> Database:
    """Provide a database with a table of one person."""
    database.run(
        f"CREATE TABLE people(id {database.NUMBER}, name VARCHAR(20))", "INSERT INTO people(name) VALUES ('a')"
    )
    return database


def test_a_source_reads_a_column_that_was_added_and_leaves_out_one_that_was_dropped(people: Database) -> None:
    """The schema of its records changes with the next query."""
    with people.source(mode="incrementing") as run:
        run.take(1)
        people.run("ALTER TABLE people ADD age INTEGER", "INSERT INTO people(name, age) VALUES ('b', 7)")
        (found,) = run.take(1)
        assert (found.value["name"], found.value["age"]) == ("b", 7)
        people.run("ALTER TABLE people DROP COLUMN name", "INSERT INTO people(age) VALUES (8)")
        (found,) = run.take(1)
        assert [field.name for field in found.value_schema.fields] == ["id", "age"]  # type: ignore[union-attr]
        assert found.value["age"] == 8


def test_a_source_goes_on_when_its_table_is_dropped_and_created_again(people: Database) -> None:
    """With higher numbers; the task tries again until the table is there."""
    with people.source(mode="incrementing") as run:
        run.take(1)
        people.run("DROP TABLE people")
        assert not run.poll()
        people.run(
            "CREATE TABLE people(id BIGINT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO people VALUES (5, 'later')"
        )
        assert values(run.take(1), "name") == ["later"]


@pytest.mark.parametrize("columns", [True, False])
def test_a_sink_adds_a_column_again_that_was_dropped(people: Database, columns: bool) -> None:
    """With auto.evolve; without, it says which column is missing."""
    people.run("DELETE FROM people")
    with people.sink(columns, auto_evolve="true") as run:
        run.put([person(1)])
        people.run("ALTER TABLE people DROP COLUMN name")
        run.put([person(2, "x")])
    assert people.rows("SELECT id, name FROM people ORDER BY id") == [(1, None), (2, "x")]
    with people.sink(columns) as run:
        run.put([person(3)])
        people.run("ALTER TABLE people DROP COLUMN name")
        with pytest.raises(ConnectError, match="has no columns 'name'"):
            run.put([person(4)])
    assert people.rows("SELECT COUNT(*) FROM people") == [(3,)]


def test_a_sink_creates_a_table_again_that_was_dropped(database: Database) -> None:
    """With auto.create."""
    with database.sink(auto_create="true") as run:
        run.put([person(1)])
        database.run("DROP TABLE people")
        run.put([person(2)])
    assert database.rows("SELECT id FROM people") == [(2,)]


@pytest.mark.slow
def test_a_locked_table_delays_rows_and_loses_none(shop: PostgreSqlDatabase) -> None:
    """The sink waits for the lock, the source for its end."""
    shop.run("CREATE TABLE people(id BIGINT PRIMARY KEY, name TEXT)")
    with shop.source(mode="incrementing", incrementing_column_name="id") as source, shop.sink() as sink:
        sink.put([person(1)])
        assert values(source.take(1), "id") == [1]
        locker = shop.connect()
        locker.execute("BEGIN")
        locker.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
        timer = threading.Timer(0.5, locker.execute, ("COMMIT",))
        timer.start()
        started = time.monotonic()
        sink.put([person(2)])
        assert time.monotonic() - started > 0.4
        assert values(source.take(1), "id") == [2]
        timer.join()
        locker.close()


@pytest.mark.slow
def test_a_password_that_was_changed_is_named_after_the_attempts(shop: PostgreSqlDatabase) -> None:
    """An open connection stays; the next one fails, with the server's words and without the password."""
    shop.run("CREATE ROLE visitor LOGIN SUPERUSER PASSWORD 'old secret'", "CREATE TABLE people(id BIGINT, name TEXT)")
    user = {"connection_user": "visitor", "connection_password": "old secret"}
    attempts = {"connection_attempts": "2", "connection_backoff_ms": "10"}
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'visitor'"
    try:
        with shop.sink(**user, **attempts) as run:
            run.put([person(1)])
            shop.run("ALTER ROLE visitor PASSWORD 'new secret'")
            run.put([person(2)])
            shop.rows(end)
            with pytest.raises(ConnectError, match="password authentication failed") as found:
                run.put([person(3)])
            assert "secret" not in str(found.value)
        with shop.sink(**{**user, "connection_password": "new secret"}) as run:
            run.put([person(3)])
    finally:
        shop.run(f"REASSIGN OWNED BY visitor TO {USER}", "DROP OWNED BY visitor", "DROP ROLE visitor")
    assert shop.rows("SELECT id FROM people ORDER BY id") == [(1,), (2,), (3,)]

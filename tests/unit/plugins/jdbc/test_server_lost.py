"""A server that ends and comes back, again and again: no row is lost, and no put is left half done."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

import hearth_api as api
from hearth_api import SchemaBuilder, Struct
from hearth_api.testing import SinkRun
from tests import postgresql
from tests.postgresql import PostgreSql
from tests.unit.plugins.jdbc.database import PostgreSqlDatabase, record, values

pytestmark = pytest.mark.slow  # a server starts
PERSON = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()
ROUNDS = 4
PUT = 500


@pytest.fixture
def failing() -> Iterator[PostgreSqlDatabase]:
    """Provide a database of a server of its own, whose commits survive its end."""
    if not postgresql.is_installed():
        pytest.skip("no PostgreSQL on this machine: apt install postgresql")
    with postgresql.serving() as running:
        running.stop()
        running.command[running.command.index("fsync=off")] = "fsync=on"
        running.start()
        yield PostgreSqlDatabase(running, "failing")


def outages(server: PostgreSql, seed: int) -> threading.Thread:
    """Return a running thread that ends the server and starts it again."""
    chance = random.Random(seed)

    def run() -> None:
        for _ in range(ROUNDS):
            time.sleep(chance.uniform(0.1, 0.6))
            server.stop(chance.choice([signal.SIGINT, signal.SIGQUIT]))
            time.sleep(chance.uniform(0, 0.2))
            server.start()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("mode", ["upsert", "insert", "exactly once"])
def test_a_sink_writes_every_put_as_a_whole(failing: PostgreSqlDatabase, mode: str) -> None:
    """A put whose commit was not answered comes again; without key it is there twice as a whole, never in part.

    With offsets in the database it is there once.
    """
    failing.run("CREATE TABLE people(id BIGINT, name TEXT)", "CREATE INDEX ON people(id)")
    if mode == "upsert":
        failing.run("ALTER TABLE people ADD PRIMARY KEY (id)")
    keys = {"pk_mode": "record_value", "pk_fields": "id"} if mode == "upsert" else {}
    if mode == "exactly once":
        keys, mode = {"exactly_once_sink": "table", "name": "sink"}, "insert"
    with failing.sink(insert_mode=mode, max_retries="100000", connection_attempts="1", **keys) as run:
        thread, puts = outages(failing.server, 7), 0
        while thread.is_alive() or puts < 10:
            _put(run, puts)
            puts += 1
        thread.join()
    found = dict(failing.rows("SELECT id / 500, count(*) FROM people GROUP BY 1"))
    assert set(found) == set(range(puts))
    assert all(count % PUT == 0 for count in found.values()), found
    if keys:
        assert set(found.values()) == {PUT}


def _put(run: SinkRun, number: int) -> None:
    first = number * PUT
    rows = [{"id": first + each, "name": f"name {each}"} for each in range(PUT)]
    deadline = time.monotonic() + 30
    while True:
        try:
            run.put([record(first + at, PERSON, Struct.of(PERSON, row)) for at, row in enumerate(rows)])
        except api.ConnectError:  # no connection: the host would restart the task
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def test_a_source_goes_on_after_its_last_row(failing: PostgreSqlDatabase) -> None:
    """Each committed row comes exactly once, in order."""
    failing.run("CREATE TABLE people(id BIGSERIAL PRIMARY KEY, name TEXT)")
    committed: list[int] = []
    seen: list[int] = []
    deadline = time.monotonic() + 120
    with failing.source(mode="incrementing", connection_attempts="1000", connection_backoff_ms="50") as run:
        thread = outages(failing.server, 11)

        def write() -> None:
            while thread.is_alive() or len(committed) < 20:
                with contextlib.suppress(psycopg.Error), failing.connect() as writer:
                    while thread.is_alive() or len(committed) < 20:
                        row = writer.execute("INSERT INTO people(name) VALUES ('n') RETURNING id").fetchone()
                        committed.append(0 if row is None else row[0])

        writer = threading.Thread(target=write)
        writer.start()
        while writer.is_alive() or not seen or seen[-1] < committed[-1]:
            assert time.monotonic() < deadline
            seen += values(run.poll(), "id")
    writer.join()
    thread.join()
    assert set(committed) <= set(seen)
    assert seen == [number for (number,) in failing.rows("SELECT id FROM people ORDER BY id")]

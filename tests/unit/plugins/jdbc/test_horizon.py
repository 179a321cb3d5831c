"""No row is missed: transactions of any length and order, and the query of Confluent's connector beside them.

A writer draws a number and the time when it inserts, and commits later. The source must return every committed row
exactly once, in the order of numbers; a query from the last number on, as Confluent's, misses rows.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hearth_api.testing import SourceRun
from hearth_jdbc import horizon
from hearth_jdbc.source_setting import BOTH, INCREMENTING, TIMESTAMP
from tests.unit.plugins.jdbc.database import PostgreSqlDatabase, values

pytestmark = pytest.mark.slow  # a server starts
LEDGER = "CREATE TABLE ledger(id BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now(), word TEXT)"
MODES = {
    INCREMENTING: {"mode": INCREMENTING},
    TIMESTAMP: {"mode": TIMESTAMP, "timestamp_column_name": "at"},
    BOTH: {"mode": BOTH, "timestamp_column_name": "at", "incrementing_column_name": "id"},
}


@pytest.fixture
def ledger(shop: PostgreSqlDatabase) -> PostgreSqlDatabase:
    """Provide a database with an empty ledger."""
    shop.run(LEDGER)
    return shop


@pytest.fixture
def writers(ledger: PostgreSqlDatabase) -> Iterator[list[psycopg.Connection[Any]]]:
    """Provide three connections with a transaction each."""
    found = [ledger.connect() for _ in range(3)]
    for each in found:
        each.execute("BEGIN")
    yield found
    for each in found:
        each.close()


def insert(writer: psycopg.Connection[Any]) -> int:
    """Insert a row and return its number."""
    row = writer.execute("INSERT INTO ledger DEFAULT VALUES RETURNING id").fetchone()
    assert row is not None
    return int(row[0])


def polled(run: SourceRun, polls: int = 3) -> list[int]:
    """Return the numbers that a few polls bring."""
    return [number for _ in range(polls) for number in values(run.poll(), "id")]


@pytest.mark.parametrize("mode", MODES)
def test_a_late_commit_is_not_passed_by(ledger: PostgreSqlDatabase, writers: list[Any], mode: str) -> None:
    """The transaction that drew the lower number got its own number last: age of transactions does not tell."""
    early, late, _ = writers
    late.execute("INSERT INTO ledger(id, at) VALUES (1000, '2000-01-01')")  # late is the older transaction
    late.execute("DELETE FROM ledger")
    assert [insert(early), insert(late)] == [1, 2]
    late.execute("COMMIT")
    with ledger.source(**MODES[mode]) as run:
        assert polled(run) == []
        early.execute("COMMIT")
        for writer in writers[2:]:
            writer.execute("COMMIT")
        assert sorted(values(run.take(2), "id")) == [1, 2]


def test_the_query_of_confluent_misses_the_row(ledger: PostgreSqlDatabase, writers: list[Any]) -> None:
    """open.transactions=pass does the same, so the test above can fail."""
    early, late, _ = writers
    insert(early), insert(late)
    late.execute("COMMIT")
    with ledger.source(mode=INCREMENTING, open_transactions="pass") as run:
        assert values(run.take(1), "id") == [2]
        early.execute("COMMIT")
        assert polled(run) == []


def test_a_reader_does_not_delay_numbers_but_times(ledger: PostgreSqlDatabase, writers: list[Any]) -> None:
    """A transaction that only reads may still insert a row with the time at which it began."""
    reader = writers[0]
    reader.execute("SELECT now()")
    for writer in writers[1:]:
        insert(writer)
        writer.execute("COMMIT")
    with ledger.source(**MODES[INCREMENTING]) as run:
        assert values(run.take(2), "id") == [1, 2]
    with ledger.source(**MODES[TIMESTAMP]) as run:
        assert polled(run) == []
        insert(reader)
        reader.execute("COMMIT")
        assert sorted(values(run.take(3), "id")) == [1, 2, 3]


def test_another_task_that_reads_holds_nobody_up(ledger: PostgreSqlDatabase) -> None:
    """Its transaction is marked as one that only reads."""
    ledger.run("INSERT INTO ledger DEFAULT VALUES", "INSERT INTO ledger DEFAULT VALUES")
    with ledger.source(mode="bulk", batch_max_rows="1") as slow, ledger.source(**MODES[TIMESTAMP]) as run:
        slow.take(1)
        assert ledger.rows("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == [(1,)]
        assert values(run.take(2), "id") == [1, 2]


def test_an_open_transaction_is_no_matter_where_nothing_is_new(
    ledger: PostgreSqlDatabase, writers: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An idle table costs one query."""
    monkeypatch.setattr(horizon, "LONG", 0.0)
    ledger.run("INSERT INTO ledger DEFAULT VALUES")
    with ledger.source(**MODES[INCREMENTING]) as run:
        run.take(1)
        insert(writers[0])
        assert polled(run) == []
    assert not [record for record in caplog.records if record.name == horizon.__name__]


def test_a_number_drawn_before_the_insert_is_waited_for(ledger: PostgreSqlDatabase, writers: list[Any]) -> None:
    """Object mappers ask the sequence first; the lock on the sequence shows it."""
    early, late, _ = writers
    early.execute("SELECT nextval('ledger_id_seq')")
    insert(late)
    late.execute("COMMIT")
    with ledger.source(**MODES[INCREMENTING]) as run:
        assert polled(run) == []
        early.execute("INSERT INTO ledger(id) VALUES (1)")
        early.execute("COMMIT")
        assert values(run.take(2), "id") == [1, 2]


def test_a_prepared_transaction_is_waited_for(ledger: PostgreSqlDatabase, writers: list[Any]) -> None:
    """Also one that was prepared while the source waited for its session."""
    early, late, _ = writers
    insert(early), insert(late)
    late.execute("COMMIT")
    with ledger.source(**MODES[INCREMENTING]) as run:
        assert polled(run) == []
        early.execute("PREPARE TRANSACTION 'two phases'")
        assert polled(run) == []
        early.execute("COMMIT PREPARED 'two phases'")
        assert values(run.take(2), "id") == [1, 2]


def test_a_long_transaction_is_named(
    ledger: PostgreSqlDatabase, writers: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With its process, since when, and what waits; a metric has the time."""
    monkeypatch.setattr(horizon, "LONG", 0.0)
    insert(writers[0])
    insert(writers[1])
    writers[1].execute("COMMIT")
    with ledger.source(**MODES[INCREMENTING]) as run:
        (metric,) = run.tasks[0].context.metrics().values()
        assert (metric.name, metric.value) == ("rows-held-back-seconds", 0.0)
        assert polled(run) == []
        (metric,) = run.tasks[0].context.metrics().values()
        assert isinstance(metric.value, float)
        assert 0 < metric.value < 60
        writers[0].execute("COMMIT")
        run.take(2)
        (metric,) = run.tasks[0].context.metrics().values()
        assert metric.value == 0.0
    messages = [record.getMessage() for record in caplog.records if record.name == horizon.__name__]
    process = writers[0].info.backend_pid
    assert "rows of public.ledger wait for 1 open transactions" in messages[0]
    assert f"of process {process} (no application name, idle in transaction)" in messages[0]


def test_a_sequence_that_gives_numbers_in_advance_is_named(
    ledger: PostgreSqlDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """A session may use such a number at any later time."""
    ledger.run("ALTER SEQUENCE ledger_id_seq CACHE 20")
    with ledger.source(**MODES[INCREMENTING]):
        assert "gives each session 20 numbers in advance" in caplog.text


class Interleaving(RuleBasedStateMachine):
    """Transactions that begin, insert, and end in any order, while the source polls and restarts."""

    def __init__(self, ledger: PostgreSqlDatabase, mode: str) -> None:
        super().__init__()
        self.ledger, self.mode = ledger, mode
        self.open: list[tuple[psycopg.Connection[Any], list[int]]] = []
        self.idle: list[psycopg.Connection[Any]] = []
        self.committed: set[int] = set()
        self.seen: list[int] = []
        self.source: SourceRun | None = None

    @initialize()
    def begin(self) -> None:
        self.ledger.run("TRUNCATE ledger RESTART IDENTITY")
        self.source = self.ledger.source(**MODES[self.mode], batch_max_rows="2").__enter__()

    @rule(is_read=st.booleans())
    @precondition(lambda self: len(self.open) < 4)
    def open_transaction(self, is_read: bool) -> None:
        writer = self.idle.pop() if self.idle else self.ledger.connect()
        writer.execute("BEGIN")
        if is_read:
            writer.execute("SELECT now()")
        self.open.append((writer, []))

    @rule(data=st.data())
    @precondition(lambda self: self.open)
    def insert(self, data: st.DataObject) -> None:
        writer, numbers = data.draw(st.sampled_from(self.open))
        numbers.append(insert(writer))

    @rule(data=st.data(), is_commit=st.booleans())
    @precondition(lambda self: self.open)
    def end(self, data: st.DataObject, is_commit: bool) -> None:
        at = data.draw(st.integers(0, len(self.open) - 1))
        writer, numbers = self.open.pop(at)
        writer.execute("COMMIT" if is_commit else "ROLLBACK")
        self.idle.append(writer)
        if is_commit:
            self.committed.update(numbers)

    @rule()
    def poll(self) -> None:
        assert self.source is not None
        records = self.source.poll()
        self.seen += values(records, "id")
        self.source.committed += [(dict(r.source_partition or {}), dict(r.source_offset or {})) for r in records]

    @rule()
    def restart(self) -> None:
        assert self.source is not None
        self.source.stop()
        self.source = self.ledger.source(self.source.committed, **MODES[self.mode], batch_max_rows="2").__enter__()

    @invariant()
    def only_committed_rows_are_seen(self) -> None:
        assert self.committed.issuperset(self.seen)

    def teardown(self) -> None:
        for writer, numbers in self.open:
            writer.execute("COMMIT")
            self.committed.update(numbers)
        self.idle += [writer for writer, _ in self.open]
        deadline = time.monotonic() + 20
        while not self.committed.issubset(self.seen) and time.monotonic() < deadline:
            self.poll()
        for writer in self.idle:
            writer.close()
        if self.source is not None:
            self.source.stop()
        assert sorted(set(self.seen)) == sorted(self.committed)
        if self.mode != TIMESTAMP:  # equal times come again after a restart
            assert len(self.seen) == len(set(self.seen))
        if self.mode == INCREMENTING:
            assert self.seen == sorted(self.seen)


@pytest.mark.parametrize("mode", MODES)
def test_no_interleaving_misses_a_row(ledger: PostgreSqlDatabase, mode: str) -> None:
    """Every committed row comes, none twice, whatever ends first."""
    run_state_machine_as_test(
        lambda: Interleaving(ledger, mode),  # type: ignore[arg-type]
        settings=settings(
            max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_twenty_writers_at_once(ledger: PostgreSqlDatabase) -> None:
    """Transactions of up to half a second, some rolled back; Confluent's query beside misses some of them."""
    committed: list[int] = []
    lock = threading.Lock()
    end = time.monotonic() + 4

    def write(seed: int) -> None:
        chance = random.Random(seed)
        with ledger.connect() as writer:
            while time.monotonic() < end:
                writer.execute("BEGIN")
                numbers = []
                for _ in range(chance.randint(1, 3)):
                    numbers.append(insert(writer))
                    time.sleep(chance.choice([0, 0.01, 0.1]) * chance.random())
                is_commit = chance.random() < 0.8
                writer.execute("COMMIT" if is_commit else "ROLLBACK")
                if is_commit:
                    with lock:
                        committed.extend(numbers)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(20)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    naive: set[int] = set()
    with ledger.source(mode=INCREMENTING) as run, ledger.connect() as reader:
        while any(thread.is_alive() for thread in threads) or len(seen) < len(committed):
            assert time.monotonic() < end + 20, set(committed) - set(seen)
            seen += values(run.poll(), "id")
            last = max(naive, default=-1)
            naive.update(number for (number,) in reader.execute(f"SELECT id FROM ledger WHERE id > {last}"))
    for thread in threads:
        thread.join()
    assert seen == sorted(committed)
    assert set(committed) - naive, "the query of Confluent's connector would have missed none, so this shows nothing"

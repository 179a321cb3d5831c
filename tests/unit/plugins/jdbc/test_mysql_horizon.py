"""No row of MariaDB is missed: the list of transactions is fresh, and statements on their way are waited for."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hearth_api import ConnectError
from hearth_api.testing import SourceRun
from hearth_jdbc import horizon
from hearth_jdbc.source_setting import BOTH, INCREMENTING, TIMESTAMP, JdbcSourceConfig
from tests.mariadb import MariaDb
from tests.unit.plugins.jdbc.database import MariaDbDatabase, values

pytestmark = pytest.mark.slow  # a server starts
LEDGER = "CREATE TABLE ledger(id BIGINT AUTO_INCREMENT PRIMARY KEY, at {} NOT NULL DEFAULT NOW(6), word TEXT)"
MODES = {
    INCREMENTING: {"mode": INCREMENTING},
    TIMESTAMP: {"mode": TIMESTAMP, "timestamp_column_name": "at"},
    BOTH: {"mode": BOTH, "timestamp_column_name": "at", "incrementing_column_name": "id"},
}
SECONDS = 4


@pytest.fixture(params=["DATETIME(6)", "TIMESTAMP(6)"])
def ledger(mysqld: MariaDb, request: pytest.FixtureRequest) -> Iterator[MariaDbDatabase]:
    """Provide a database with an empty ledger; its times are those of the session, which is in UTC."""
    found = MariaDbDatabase(mysqld, f"ledger_{time.time_ns()}")
    found.run(LEDGER.format(request.param))
    yield found
    found.run(f"DROP DATABASE {found.name}")


@pytest.fixture
def writers(ledger: MariaDbDatabase) -> Iterator[list[Any]]:
    """Provide two connections with a transaction each."""
    found = [ledger.connect() for _ in range(2)]
    for each in found:
        each.query("SET time_zone = '+00:00'")
        each.begin()
    yield found
    for each in found:
        each.close()


def insert(writer: Any) -> int:
    """Insert a row and return its number."""
    writer.query("INSERT INTO ledger() VALUES ()")
    return int(writer.insert_id())


def polled(run: SourceRun, polls: int = 4) -> list[int]:
    """Return the numbers that a few polls bring."""
    return [number for _ in range(polls) for number in values(run.poll(), "id")]


@pytest.mark.parametrize("mode", MODES)
def test_a_late_commit_is_not_passed_by(ledger: MariaDbDatabase, writers: list[Any], mode: str) -> None:
    """And a transaction that only reads delays nothing."""
    early, late = writers
    reader = ledger.connect()
    reader.begin()
    reader.query("SELECT COUNT(*) FROM ledger")
    assert [insert(early), insert(late)] == [1, 2]
    late.commit()
    with ledger.source(**MODES[mode]) as run:
        assert polled(run) == []
        early.commit()
        assert values(run.take(2), "id") == [1, 2]
    reader.close()


def test_the_query_of_confluent_misses_the_row(ledger: MariaDbDatabase, writers: list[Any]) -> None:
    """open.transactions=pass does the same, so the test above can fail."""
    early, late = writers
    insert(early), insert(late)
    late.commit()
    with ledger.source(mode=INCREMENTING, open_transactions="pass") as run:
        assert values(run.take(1), "id") == [2]
        early.commit()
        assert polled(run) == []


def test_a_transaction_of_two_phases_is_waited_for(ledger: MariaDbDatabase, writers: list[Any]) -> None:
    """Also once its session has left."""
    early, late = writers
    early.rollback()
    early.query("XA START 'two'")
    insert(early), insert(late)
    late.commit()
    early.query("XA END 'two'")
    with ledger.source(mode=INCREMENTING) as run:
        assert polled(run) == []
        early.query("XA PREPARE 'two'")
        early.close()
        assert polled(run) == []
        with ledger.connect() as other:
            other.query("XA COMMIT 'two'")
        assert values(run.take(2), "id") == [1, 2]
    early.connect()


def test_the_list_of_transactions_is_fresh_though_others_read_it(ledger: MariaDbDatabase) -> None:
    """InnoDB keeps a list that somebody reads more often than every 100 ms: here a second reader does, for a while."""
    reading = JdbcSourceConfig({**ledger.settings(), "mode": INCREMENTING}).source_dialect()
    connection, writer, other = reading.connect(5), ledger.connect(), ledger.connect()
    end = time.monotonic() + 1.5

    def read() -> None:
        while time.monotonic() < end:
            other.query("SELECT * FROM information_schema.innodb_trx")
            time.sleep(0.01)

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.2)
    writer.begin()
    insert(writer)
    since, found, looks = time.monotonic(), None, 0
    while found is None:
        found, looks = reading.open_transactions(connection, writers_only=True, since=since), looks + 1
        time.sleep(0.005)
    assert time.monotonic() > end, "a list came while the server kept an old one"
    assert looks > 10
    thread.join()
    assert any(f"session {writer.thread_id()} " in words for words in found.values())
    for each in (connection, writer, other):
        each.close()


def test_a_user_who_may_not_see_transactions_is_told(ledger: MariaDbDatabase) -> None:
    """With the right that is missing."""
    user_name = f"poor_{ledger.name}"
    ledger.server.run(
        f"CREATE USER {user_name} IDENTIFIED BY 'secret'; GRANT SELECT ON {ledger.name}.* TO {user_name};"
        f"INSERT INTO {ledger.name}.ledger() VALUES ()"
    )
    user = {"connection_user": user_name, "connection_password": "secret"}
    with (
        ledger.source(mode=INCREMENTING, **user) as run,
        pytest.raises(ConnectError, match="PROCESS privilege") as found,
    ):
        run.poll()
    assert "open.transactions=pass" in (found.value.hint or "")
    with ledger.source(mode=INCREMENTING, open_transactions="pass", **user) as run:
        assert values(run.take(1), "id") == [1]


def test_a_long_transaction_is_named(
    ledger: MariaDbDatabase, writers: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With its session, since when, and what waits."""
    monkeypatch.setattr(horizon, "LONG", 0.0)
    insert(writers[0]), insert(writers[1])
    writers[1].commit()
    with ledger.source(mode=INCREMENTING) as run:
        assert polled(run) == []
    text = "\n".join(record.getMessage() for record in caplog.records if record.name == horizon.__name__)
    assert f"rows of {ledger.name}.ledger wait for 1 open transactions" in text
    assert f"of session {writers[0].thread_id()} (running)" in text


@pytest.mark.parametrize("mode", [INCREMENTING, TIMESTAMP])
@pytest.mark.parametrize("ledger", ["DATETIME(6)"], indirect=True)
def test_twenty_writers_at_once(ledger: MariaDbDatabase, mode: str) -> None:
    """Transactions of up to half a second, some rolled back; Confluent's query beside misses some of them."""
    committed: list[int] = []
    lock = threading.Lock()
    end = time.monotonic() + SECONDS

    def write(seed: int) -> None:
        chance = random.Random(seed)
        with ledger.connect() as writer:
            writer.query("SET time_zone = '+00:00'")
            while time.monotonic() < end:
                writer.begin()
                numbers = []
                for _ in range(chance.randint(1, 3)):
                    numbers.append(insert(writer))
                    time.sleep(chance.choice([0, 0.01, 0.1]) * chance.random())
                is_commit = chance.random() < 0.8
                (writer.commit if is_commit else writer.rollback)()
                if is_commit:
                    with lock:
                        committed.extend(numbers)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(20)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    naive: set[int] = set()
    with ledger.source(**MODES[mode]) as run, ledger.connect() as reader, reader.cursor() as cursor:
        while any(thread.is_alive() for thread in threads) or len(seen) < len(committed):
            assert time.monotonic() < end + 20, set(committed) - set(seen)
            seen += values(run.poll(), "id")
            cursor.execute(f"SELECT id FROM ledger WHERE id > {max(naive, default=-1)}")
            naive.update(number for (number,) in cursor.fetchall())
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(committed)
    if mode == INCREMENTING:
        assert seen == sorted(committed)
    assert set(committed) - naive, "the query of Confluent's connector would have missed none, so this shows nothing"

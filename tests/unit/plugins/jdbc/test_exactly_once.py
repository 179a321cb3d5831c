"""exactly.once.sink=table: each record is one row, whatever ends when, and whoever still writes."""

from __future__ import annotations

from typing import Any

import pytest

import hearth_api as api
from hearth_api import ConnectError, SchemaBuilder, SinkRecord, Struct, TopicPartition
from hearth_api.testing import SinkRun
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from tests.unit.plugins.jdbc.database import TOPIC, Database, DuckDbDatabase, record
from tests.unit.plugins.table_ledger import write_with_kills

PLACE = TopicPartition(TOPIC, 0)
EXACTLY = {"exactly_once_sink": "table", "name": "copy", "auto_create": "true"}
WORD = SchemaBuilder.struct().field("word", api.OPTIONAL_STRING_SCHEMA).build()


def word(offset: int, text: str = "") -> SinkRecord:
    """Return a record with a word."""
    return record(offset, WORD, Struct.of(WORD, {"word": text or f"w{offset}"}))


def words(database: Database) -> list[str]:
    """Return the words in the table."""
    return sorted(each for (each,) in database.rows("SELECT word FROM people"))


def offsets(database: Database) -> list[tuple[Any, ...]]:
    """Return the table of offsets but for the owner."""
    return database.rows("SELECT connector, topic, kafka_partition, next_offset FROM hearth_offsets ORDER BY 1, 2, 3")


def rewound(run: SinkRun) -> dict[TopicPartition, int]:
    """Return where the task wants to read on."""
    return run.tasks[0].context.rewound  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("columns", [True, False])
def test_a_record_that_comes_again_is_not_written_again(database: Database, columns: bool) -> None:
    """Also in a put that brings new ones, and by the next task, which begins after the last."""
    with database.sink(columns, **EXACTLY) as run:
        assert rewound(run) == {}
        run.put([word(0), word(1)])
        run.put([word(1), word(2)])
        run.put([word(0), word(1)])
    assert words(database) == ["w0", "w1", "w2"]
    assert offsets(database) == [("copy", TOPIC, 0, 3)]
    with database.sink(columns, **EXACTLY) as run:
        assert rewound(run) == {PLACE: 3}
        run.put([word(2), word(3)])
    assert words(database) == ["w0", "w1", "w2", "w3"]


def test_without_it_a_record_that_comes_again_is_a_second_row(database: Database) -> None:
    """So the test above can fail."""
    with database.sink(name="copy", auto_create="true") as run:
        run.put([word(0)])
        run.put([word(0)])
    assert words(database) == ["w0", "w0"]


def test_connectors_share_the_table(database: Database) -> None:
    """Each has rows of its own; the name of the table is a key."""
    for name in ("copy", "it's"):
        with database.sink(**{**EXACTLY, "name": name, "exactly_once_table": "places"}) as run:
            run.put([word(0)])
    assert words(database) == ["w0", "w0"]
    assert sorted(database.rows("SELECT connector, next_offset FROM places")) == [("copy", 1), ("it's", 1)]


def test_a_task_that_lost_its_partition_writes_nothing(database: Database) -> None:
    """The row that it must update has another owner."""
    with database.sink(**EXACTLY, max_retries="0") as old:
        old.put([word(0)])
        with database.sink(**EXACTLY) as new:
            assert rewound(new) == {PLACE: 1}
            with pytest.raises(ConnectError, match="another task writes partition 0 of topic people by now"):
                old.put([word(1, "zombie")])
            new.put([word(1)])
            with pytest.raises(ConnectError, match="another task writes"):
                old.put([word(1, "zombie"), word(2, "zombie")])
            new.put([word(2)])
    assert words(database) == ["w0", "w1", "w2"]


@pytest.mark.parametrize("columns", [True, False])
def test_a_bad_record_is_reported_once_and_passed(database: Database, columns: bool) -> None:
    """Its offset is stored once the report is safe."""
    database.run("CREATE TABLE people(word VARCHAR(5) CHECK (length(word) <= 5))")
    given = [word(0), word(1, "much too long"), word(2), word(3, "too long as well")]
    with database.sink(columns, **EXACTLY) as run:
        run.put(given)
        run.put(given)
        assert [each.kafka_offset for each, _ in run.reporter.reported] == [1, 3]
    assert words(database) == ["w0", "w2"]
    assert offsets(database) == [("copy", TOPIC, 0, 4)]


def test_offsets_altered_by_hand_are_altered_in_the_database(database: Database) -> None:
    """A removed one is that of the consumer group again."""
    config = {**database.settings(), "exactly.once.sink": "table", "name": "copy"}
    with database.sink(**EXACTLY) as run:
        run.put([word(0), word(1), word(2)])
    connector = JdbcSinkConnector()
    assert connector.alter_offsets(config, {PLACE: 1})
    with database.sink(**EXACTLY) as run:
        assert rewound(run) == {PLACE: 1}
    assert connector.alter_offsets(config, {PLACE: None})
    with database.sink(**EXACTLY) as run:
        assert rewound(run) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "count"), [(2, 8_000), pytest.param(60, 1_000_000, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_ledger_of_killed_and_stopped_tasks(database: Database, kills: int, count: int) -> None:
    """Tasks are killed, or sleep while a successor writes and then go on: no row is lost and none is there twice."""
    config = {**database.settings(), "name": "ledger", "exactly.once.sink": "table", "auto.create": "true"}
    config |= {"connection.attempts": "500", "connection.backoff.ms": "20", "retry.backoff.ms": "20"}
    is_server = database.product in ("postgresql", "mariadb")  # a sleeper does not lock a whole file
    if isinstance(database, DuckDbDatabase):
        database.connection.close()  # one process at a time has the file
    write_with_kills(JdbcSinkConnector, "jdbc", config, kills, count, stops=is_server)
    if isinstance(database, DuckDbDatabase):
        database.open()
    assert database.rows("SELECT COUNT(*), COUNT(DISTINCT n), MIN(n), MAX(n) FROM ledger") == [
        (count, count, 0, count - 1)
    ]

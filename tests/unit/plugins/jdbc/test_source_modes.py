"""How the source finds rows: the modes, their offsets, what happens at the edges."""

from __future__ import annotations

import pytest

from hearth_api import ConnectError
from hearth_api.testing import SourceRun
from tests.unit.plugins.jdbc.database import Database, values


def moments(database: Database, *seconds: int) -> None:
    """Add rows that changed in seconds of a minute in 2020."""
    database.run(*(f"INSERT INTO people(name, moment) VALUES ('n', '2020-01-01 10:00:{each:02}')" for each in seconds))


@pytest.fixture
def people(database: Database) -> Database:
    """Provide a database with a table of three people."""
    database.run(
        f"CREATE TABLE people(id {database.NUMBER}, name VARCHAR(20) NOT NULL, moment {database.MOMENT})",
        *(f"INSERT INTO people(name, moment) VALUES ('{name}', '2020-01-01 10:00:00.25')" for name in "abc"),
    )
    return database


def nothing_more(run: SourceRun) -> bool:
    """Return whether polls bring nothing."""
    return not any(run.poll() for _ in range(2))


@pytest.mark.parametrize("columns", [True, False])
def test_bulk_reads_all_rows_each_time_without_offsets(people: Database, columns: bool) -> None:
    """Both forms of the task return the same records."""
    with people.source((), columns, mode="bulk", topic_prefix="db-") as run:
        records = run.take(3)
        assert values(records, "name") == ["a", "b", "c"]
        assert {(each.topic, each.source_offset, each.key) for each in records} == {("db-people", None, None)}
        assert records[0].source_partition == {"table": "people"}
        assert records[0].value_schema is not None
        assert records[0].value_schema.name == "people"
        assert values(run.take(3), "name") == ["a", "b", "c"]


def test_incrementing_returns_each_row_once_and_finds_the_column_itself(people: Database) -> None:
    """The offset is Confluent's, member by member in the order of Java."""
    with people.source(mode="incrementing") as run:
        records = run.take(3)
        assert [each.source_offset for each in records] == [{"incrementing": number} for number in (1, 2, 3)]
        assert list(records[0].source_partition or ()) == ["protocol", "table"]
        assert records[0].source_partition == people.partition("people")
        assert nothing_more(run)
        people.run("INSERT INTO people(name, moment) VALUES ('d', '2020-01-01 10:00:00')")
        assert values(run.take(1), "name") == ["d"]


def test_a_stored_offset_of_the_old_form_is_found(people: Database) -> None:
    """Confluent's connector before protocol 1 stored the table without its schema."""
    with people.source([({"table": "people"}, {"incrementing": 2})], mode="incrementing") as run:
        assert values(run.take(1), "id") == [3]


def test_batches_end_at_batch_max_rows(people: Database) -> None:
    """The rest of a query follows with the next poll."""
    with people.source(mode="incrementing", batch_max_rows="2") as run:
        assert [len(run.poll()) for _ in range(2)] == [2, 1]


def test_timestamp_mode_keeps_the_offset_before_until_the_last_row_of_a_timestamp(people: Database) -> None:
    """A crash within a run of equal timestamps repeats rows, it loses none."""
    moments(people, 5)
    with people.source(mode="timestamp", timestamp_column_name="moment", batch_max_rows="2") as run:
        found = [each.source_offset for each in run.take(4)]
    first = {"timestamp_nanos": 250_000_000, "timestamp": 1577872800250}
    none = {"timestamp_nanos": 0, "timestamp": 0}
    assert found == [none, none, first, {"timestamp_nanos": 0, "timestamp": 1577872805000}]
    assert list(first) == list(found[2] or ())
    with people.source([(people.partition("people"), none)], mode="timestamp", timestamp_column_name="moment") as run:
        assert values(run.take(4), "id") == [1, 2, 3, 4]


def test_timestamp_mode_returns_changed_rows(people: Database) -> None:
    """A row comes again when its timestamp grows."""
    with people.source(mode="timestamp", timestamp_column_name="moment") as run:
        run.take(3)
        assert nothing_more(run)
        people.run("UPDATE people SET name = 'x', moment = '2020-01-01 11:00:00' WHERE id = 2")
        assert values(run.take(1), "name") == ["x"]
        assert nothing_more(run)


def test_both_columns_tell_rows_of_one_timestamp_apart(people: Database) -> None:
    """After a crash, only rows that were not returned come."""
    offset = {"timestamp_nanos": 250_000_000, "incrementing": 2, "timestamp": 1577872800250}
    mode = {"mode": "timestamp+incrementing", "timestamp_column_name": "moment", "incrementing_column_name": "ID"}
    with people.source(**mode) as run:
        found = run.take(3)
    assert found[1].source_offset == offset
    assert list(found[1].source_offset or ()) == ["timestamp_nanos", "incrementing", "timestamp"]
    with people.source([(people.partition("people"), offset)], **mode) as run:
        assert values(run.take(1), "id") == [3]
        assert nothing_more(run)


def test_the_first_timestamp_that_is_not_null_counts(database: Database) -> None:
    """As COALESCE of the columns in their order."""
    database.run(
        f"CREATE TABLE people(id {database.NUMBER}, changed TIMESTAMP, made {database.MOMENT})",
        "INSERT INTO people(changed, made) VALUES (NULL, '2020-01-01 10:00:00')",
        "INSERT INTO people(changed, made) VALUES ('2020-01-01 12:00:00', '2020-01-01 10:00:00')",
        "INSERT INTO people(changed, made) VALUES (NULL, '2020-01-01 11:00:00')",
    )
    with database.source(mode="timestamp", timestamp_column_name="changed,made") as run:
        assert values(run.take(3), "id") == [1, 3, 2]


def test_timestamp_initial_skips_older_rows(people: Database) -> None:
    """-1 is the time of the database's clock."""
    moments(people, 30)
    mode = {"mode": "timestamp", "timestamp_column_name": "moment"}
    with people.source(**mode, timestamp_initial="1577872810000") as run:
        assert values(run.take(1), "id") == [4]
    with people.source(**mode, timestamp_initial="-1") as run:
        assert nothing_more(run)


def test_rows_of_the_future_and_young_rows_wait(people: Database) -> None:
    """The upper bound is the clock minus timestamp.delay.interval.ms."""
    people.run("INSERT INTO people(name, moment) VALUES ('later', '2099-01-01 10:00:00')")
    with people.source(mode="timestamp", timestamp_column_name="moment") as run:
        run.take(3)
        assert nothing_more(run)
    long_ago = str(10**12 * 4)
    with people.source(mode="timestamp", timestamp_column_name="moment", timestamp_delay_interval_ms=long_ago) as run:
        assert nothing_more(run)


def test_a_query_is_read_with_an_appended_clause(people: Database) -> None:
    """The topic is the prefix alone, and the struct has no name."""
    query = "SELECT id, name AS who FROM people;"
    with people.source(mode="incrementing", incrementing_column_name="id", query=query, topic_prefix="q") as run:
        records = run.take(3)
    assert {each.topic for each in records} == {"q"}
    assert records[2].source_partition == {"query": "query"}
    assert records[2].source_offset == {"incrementing": 3}
    assert records[0].value_schema is not None
    assert records[0].value_schema.name is None
    assert values(records, "who") == ["a", "b", "c"]


def test_query_suffix_ends_each_query(people: Database) -> None:
    """LIMIT bounds a query, and the next continues."""
    with people.source(mode="incrementing", query_suffix="LIMIT 2") as run:
        assert values(run.take(3), "id") == [1, 2, 3]


def test_a_lost_table_is_tried_again_until_it_is_there(people: Database) -> None:
    """With query.retry.attempts the task fails after so many errors in a row."""
    with people.source(mode="incrementing") as run:
        run.take(3)
        people.run("ALTER TABLE people RENAME TO gone")
        assert not run.poll()
        people.run("ALTER TABLE gone RENAME TO people", "INSERT INTO people(name, moment) VALUES ('d', '2020-01-01')")
        assert values(run.take(1), "id") == [4]
    with people.source(mode="incrementing", query_retry_attempts="0") as run:
        run.take(3)
        people.run("ALTER TABLE people RENAME TO gone")
        with pytest.raises(ConnectError, match=r"cannot read .*people"):
            run.poll()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "incrementing", "incrementing_column_name": "nam"}, "'nam' does not exist in table"),
        ({"mode": "timestamp", "timestamp_column_name": "maybe"}, "'maybe' of table .* allows null"),
        ({"mode": "incrementing", "incrementing_column_name": "name"}, "'name' is of type .*, which is no whole num"),
        ({"mode": "timestamp", "timestamp_column_name": "name"}, "'name' is of type .*, which is no timestamp"),
    ],
)
def test_columns_that_cannot_lead_are_refused(people: Database, settings: dict[str, str], message: str) -> None:
    """The message names column and table."""
    people.run("ALTER TABLE people ADD maybe TIMESTAMP")
    with pytest.raises(ConnectError, match=message), people.source(**settings) as run:
        run.take(1)


def test_tables_are_divided_among_tasks(people: Database) -> None:
    """Each has its topic; new tables make the connector ask for new tasks."""
    people.run("CREATE TABLE other(id INTEGER NOT NULL)", "CREATE TABLE third(id INTEGER NOT NULL)")
    config = {"mode": "bulk", "table_poll_interval_ms": "20", "topic_prefix": "t-"}
    with people.source(**config) as run:
        shares = [each["tables"] for each in run.task_configs(2)]
        name = "" if people.schema is None else f'"{people.schema}".'
        assert shares == [f'{name}"other",{name}"people"', f'{name}"third"']
        assert len(run.task_configs(9)) == 3
        people.run("CREATE TABLE fourth(id INTEGER NOT NULL)")
        for _ in range(500):
            if run.connector_context.requests:
                break
            run.poll()
        assert run.connector_context.requests == 1
        assert len(run.task_configs(9)) == 4


@pytest.mark.parametrize(
    ("lists", "tables"),
    [
        ({"table_whitelist": "people"}, ["people"]),
        ({"table_blacklist": "people"}, ["other"]),
        ({"table_include_list": ".*e.*", "table_exclude_list": ".*other"}, ["people"]),
        ({"table_types": "VIEW"}, ["seen"]),
        ({"table_types": "TABLE,VIEW"}, ["other", "people", "seen"]),
    ],
)
def test_lists_and_types_choose_tables(people: Database, lists: dict[str, str], tables: list[str]) -> None:
    """Regular expressions match the whole name with its schema."""
    people.run("CREATE TABLE other(id INTEGER NOT NULL)", "CREATE VIEW seen AS SELECT * FROM people")
    with people.source(mode="bulk", **lists) as run:
        found = [each["tables"].rpartition(".")[2].strip('"') for each in run.task_configs(9)]
    assert found == tables


def test_columns_by_regular_expression_of_the_table(people: Database) -> None:
    """Every table matches exactly one entry."""
    mode = {"mode": "timestamp+incrementing", "table_include_list": ".*people"}
    mapping = {"timestamp_columns_mapping": ".*people:[moment]", "incrementing_column_mapping": ".*people:id,x:y"}
    with people.source(**mode, **mapping) as run:
        assert values(run.take(3), "id") == [1, 2, 3]
    mapping["incrementing_column_mapping"] = ".*people:id,.*:id"
    with pytest.raises(ConnectError, match="matches 2 entries of incrementing"):
        people.source(**mode, **mapping).__enter__()

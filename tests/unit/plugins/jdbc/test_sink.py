"""How the sink writes: modes, keys, tables that it makes, rows that it cannot write."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import hearth_api as api
from hearth_api import ConnectError, Schema, SchemaBuilder, SinkRecord, Struct
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from tests.unit.plugins.jdbc.database import Database, record

PERSON = (
    SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()
)  # fmt: skip
KEY = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).build()
UPSERT = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "id"}
BY_KEY = {"insert_mode": "upsert", "pk_mode": "record_key", "delete_enabled": "true"}


def person(offset: int, number: int, name: str | None) -> SinkRecord:
    """Return a record of a person without key."""
    return record(offset, PERSON, Struct.of(PERSON, {"id": number, "name": name}))


def keyed(offset: int, number: int, name: str | None, *, deleted: bool = False) -> SinkRecord:
    """Return a record of a person with its number as the key."""
    value = None if deleted else Struct.of(PERSON, {"id": number, "name": name})
    return record(offset, None if deleted else PERSON, value, KEY, Struct.of(KEY, {"id": number}))


@pytest.fixture
def people(database: Database) -> Database:
    """Provide a database with a table of people, who have a name of at most five letters."""
    database.run("CREATE TABLE people(id BIGINT PRIMARY KEY NOT NULL, name VARCHAR(5) CHECK (length(name) <= 5))")
    return database


def rows(database: Database) -> list[tuple[Any, ...]]:
    """Return the people by number."""
    return database.rows("SELECT id, name FROM people ORDER BY id")


@pytest.mark.parametrize("columns", [True, False])
def test_insert_adds_rows(people: Database, columns: bool) -> None:
    """In both forms of the task."""
    with people.sink(columns) as run:
        run.put([person(0, 1, "a"), person(1, 2, None)])
        run.put([])
    assert rows(people) == [(1, "a"), (2, None)]


@pytest.mark.parametrize("columns", [True, False])
def test_upsert_keeps_the_last_row_of_a_key(people: Database, columns: bool) -> None:
    """Also where a key comes twice in one batch."""
    people.run("INSERT INTO people VALUES (1, 'old')")
    with people.sink(columns, **UPSERT) as run:
        run.put([person(0, 1, "a"), person(1, 2, "b"), person(2, 1, "c"), person(3, 2, None)])
    assert rows(people) == [(1, "c"), (2, None)]


def test_update_changes_rows_that_are_there(people: Database) -> None:
    """Others are left out."""
    people.run("INSERT INTO people VALUES (1, 'old')")
    with people.sink(**{**UPSERT, "insert_mode": "update"}) as run:
        run.put([person(0, 1, "a"), person(1, 2, "b"), person(2, 1, "c")])
    assert rows(people) == [(1, "c")]


@pytest.mark.parametrize("columns", [True, False])
def test_records_without_value_delete_in_order(people: Database, columns: bool) -> None:
    """A row that comes after its deletion is there."""
    people.run("INSERT INTO people VALUES (3, 'old')")
    with people.sink(columns, **BY_KEY) as run:
        run.put([keyed(0, 1, "a"), keyed(1, 1, None, deleted=True), keyed(2, 2, "b"), keyed(3, 3, "", deleted=True)])
        run.put([keyed(4, 2, None, deleted=True), keyed(5, 2, "c"), keyed(6, 9, None, deleted=True)])
    assert rows(people) == [(2, "c")]


def test_a_key_that_is_no_struct_is_one_column(people: Database) -> None:
    """pk.fields names it; the value has no such field."""
    named = SchemaBuilder.struct().field("name", api.OPTIONAL_STRING_SCHEMA).build()
    given = record(0, named, Struct.of(named, {"name": "a"}), api.INT64_SCHEMA, 7)
    with people.sink(pk_mode="record_key", pk_fields="id") as run:
        run.put([given])
    assert rows(people) == [(7, "a")]


def test_kafka_coordinates_as_key(database: Database) -> None:
    """Records that come twice are one row."""
    with database.sink(auto_create="true", insert_mode="upsert", pk_mode="kafka") as run:
        for _ in range(2):
            run.put([person(5, 1, "a"), person(6, 1, "b")])
    sql = "SELECT __connect_topic, __connect_partition, __connect_offset, name FROM people ORDER BY 3"
    assert database.rows(sql) == [("people", 0, 5, "a"), ("people", 0, 6, "b")]


def test_a_table_is_made_and_grows(database: Database) -> None:
    """New columns allow null or have a default."""
    wide = (
        SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA)
        .field("age", SchemaBuilder.int32().default(18).build()).field("pet", api.OPTIONAL_STRING_SCHEMA).build()
    )  # fmt: skip
    settings = {"auto_create": "true", "auto_evolve": "true", "pk_mode": "record_value", "pk_fields": "id"}
    with database.sink(**settings) as run:
        value = Struct.of(wide, {"id": 2, "name": "b", "age": 3, "pet": "cat"})
        run.put([person(0, 1, "a"), record(1, wide, value), person(2, 3, "c")])
    assert database.rows("SELECT id, name, age, pet FROM people ORDER BY id") == [
        (1, "a", 18, None), (2, "b", 3, "cat"), (3, "c", 18, None),
    ]  # fmt: skip
    with pytest.raises(Exception, match=r"(?i)unique|null|duplicate"):
        database.run("INSERT INTO people(id) VALUES (1)")


def test_a_missing_table_and_a_missing_column_fail_with_the_remedy(database: Database) -> None:
    """The task does not guess."""
    with database.sink() as run, pytest.raises(ConnectError, match="there is no table 'people'") as found:
        run.put([person(0, 1, "a")])
    assert "auto.create" in (found.value.hint or "")
    database.run("CREATE TABLE people(id BIGINT)")
    with database.sink() as run, pytest.raises(ConnectError, match="has no columns 'name'"):
        run.put([person(0, 1, "a")])


def test_a_required_field_cannot_be_added(database: Database) -> None:
    """The rows that are there would have no value."""
    database.run("CREATE TABLE people(name VARCHAR(5))")
    with database.sink(auto_evolve="true") as run, pytest.raises(ConnectError, match="'id' cannot be added"):
        run.put([person(0, 1, "a")])


@pytest.mark.parametrize("columns", [True, False])
def test_a_bad_row_goes_to_the_reporter_alone(people: Database, columns: bool) -> None:
    """Its neighbours are written, and the error has the database's words."""
    names = ["a", "toolong", "b", "c", "alsolong", "d", "e"]
    with people.sink(columns) as run:
        run.put([person(offset, offset, name) for offset, name in enumerate(names)])
        reported = [(each.kafka_offset, str(error)) for each, error in run.reporter.reported]
    assert [offset for offset, _ in reported] == [1, 4]
    assert all("the database refuses a row" in text for _, text in reported)
    assert [name for _, name in rows(people)] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("columns", [True, False])
def test_a_record_that_is_no_row_goes_to_the_reporter_alone(people: Database, columns: bool) -> None:
    """Without schema, without value, of another type."""
    odd = [
        record(1, None, {"id": 1}), record(2, None, None), record(3, api.INT32_SCHEMA, 3),
    ]  # fmt: skip
    with people.sink(columns) as run:
        run.put([person(0, 1, "a"), *odd, person(4, 2, "b")])
        found = {each.kafka_offset: str(error) for each, error in run.reporter.reported}
    assert sorted(found) == [1, 2, 3]
    assert "have no schema" in found[1]
    assert "has no value" in found[2]
    assert "not a struct" in found[3]
    assert rows(people) == [(1, "a"), (2, "b")]


def test_without_a_reporter_nothing_of_the_put_is_written(people: Database) -> None:
    """All records of a put are one transaction."""
    with people.sink() as run:
        run.tasks[0].context.errant_record_reporter = lambda: None  # type: ignore[method-assign]
        with pytest.raises(api.DataError, match="the database refuses a row"):
            run.put([person(0, 1, "a"), person(1, 1, "b")])
    assert rows(people) == []


def test_a_table_that_comes_back_is_written_to(people: Database) -> None:
    """Errors of the database are tried again, max.retries times."""
    with people.sink(max_retries="0") as run:
        run.put([person(0, 1, "a")])
        people.run("ALTER TABLE people RENAME TO gone")
        with pytest.raises(ConnectError, match="cannot write to jdbc:"):
            run.put([person(1, 2, "b")])
        people.run("ALTER TABLE gone RENAME TO people")
        run.put([person(1, 2, "b")])
    assert rows(people) == [(1, "a"), (2, "b")]


def test_names_of_tables_and_columns_find_their_letters(database: Database) -> None:
    """A field finds the only column that differs in large and small letters."""
    database.run('CREATE TABLE "People of topic"("ID" BIGINT, "Name" VARCHAR(9))')
    with database.sink(table_name_format="People of topic") as run:
        run.put([person(0, 1, "a")])
    assert database.rows('SELECT "ID", "Name" FROM "People of topic"') == [(1, "a")]


def test_the_whitelist_chooses_fields_and_keys_stay(database: Database) -> None:
    """A text as value is one column."""
    with database.sink(auto_create="true", fields_whitelist="name", table_name_format="names") as run:
        run.put([person(0, 1, "a")])
    assert database.rows("SELECT * FROM names") == [("a",)]
    with database.sink(auto_create="true", table_name_format="texts") as run:
        run.put([record(0, api.STRING_SCHEMA, "text")])
    assert database.rows("SELECT record_value FROM texts") == [("text",)]


def defaulted() -> Schema:
    """Return a schema with a default."""
    name = SchemaBuilder.string().optional().default("nobody").build()
    return SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", name).build()


@pytest.mark.parametrize(("replace", "name"), [("true", "nobody"), ("false", None)])
def test_null_becomes_the_default_of_the_schema(database: Database, replace: str, name: str | None) -> None:
    """Unless replace.null.with.default is false."""
    database.run("CREATE TABLE people(id BIGINT, name VARCHAR(9))")
    with database.sink(replace_null_with_default=replace) as run:
        run.put([record(0, defaulted(), Struct.of(defaulted(), {"id": 1, "name": None}))])
    assert rows(database) == [(1, name)]


TIMES = (
    SchemaBuilder.struct().field("moment", api.Timestamp.builder().optional().build())
    .field("micros", api.OPTIONAL_INT64_SCHEMA).field("text", api.OPTIONAL_STRING_SCHEMA)
    .field("day", api.Date.builder().optional().build()).field("price", api.Decimal.builder(2).optional().build())
    .build()
)  # fmt: skip


def test_times_are_of_the_zone_of_the_database(database: Database) -> None:
    """And come back equal; timestamp.fields.list makes timestamps of numbers and texts."""
    moment = dt.datetime(2020, 7, 1, 8, 0, 0, 250_000, tzinfo=dt.timezone.utc)
    value = {
        "moment": moment,
        "micros": 1593590400250000,
        "text": "2020-07-01T08:00:00.25Z",
        "day": dt.date(1500, 3, 14),
    }
    given = Struct.of(TIMES, {**value, "price": Decimal("1.50")})
    zone = {"db_timezone": "Europe/Berlin"}
    with database.sink(auto_create="true", timestamp_fields_list="micros,text", date_timezone="UTC", **zone) as run:
        run.put(
            [record(0, TIMES, given), record(1, TIMES, Struct.of(TIMES, dict.fromkeys(("moment", *value, "price"))))]
        )
    columns = "moment, micros, text, day" if database.product != "sqlite" else "moment, micros, text"
    found = database.rows(f"SELECT {columns} FROM people WHERE price IS NOT NULL")
    assert found == [database.written_moment(dt.datetime(2020, 7, 1, 10, 0, 0, 250_000), dt.date(1500, 3, 4))]
    assert database.rows("SELECT COUNT(*) FROM people WHERE moment IS NULL AND day IS NULL AND price IS NULL") == [
        (1,)
    ]


@pytest.mark.parametrize(("zone", "day"), [("America/New_York", 30), ("Europe/Berlin", 31)])
def test_a_date_is_the_day_of_its_midnight_in_the_zone_of_the_database(
    database: Database, zone: str, day: int
) -> None:
    """As in Confluent's connector; date.timezone=UTC keeps the day."""
    schema = SchemaBuilder.struct().field("day", api.Date.SCHEMA).build()
    given = record(0, schema, Struct.of(schema, {"day": dt.date(2020, 1, 31)}))
    for name, date_zone in (("local", "DB_TIMEZONE"), ("kept", "UTC")):
        settings = {"db_timezone": zone, "date_timezone": date_zone, "table_name_format": name}
        with database.sink(auto_create="true", **settings) as run:
            run.put([given])
    expected = [dt.date(2020, 1, day), dt.date(2020, 1, 31)]
    found = [database.rows(f"SELECT day FROM {name}")[0][0] for name in ("local", "kept")]
    if database.product == "sqlite":
        found = [dt.date(1970, 1, 1) + dt.timedelta(milliseconds=each) for each in found]
    assert found == expected


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"delete.enabled": "true"}, "delete.enabled"),
        ({"insert.mode": "upsert"}, "insert.mode"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "pk.fields"),
        ({"insert.mode": "merge"}, "insert.mode"),
        ({"jdbc.credentials.provider.class": "com.example.Provider"}, "jdbc.credentials.provider.class"),
        ({"db.timezone": "Mars/Olympus"}, "db.timezone"),
        ({"dialect.name": "Db2DatabaseDialect"}, "dialect.name"),
        ({"connection.url": "jdbc:db2://host/x"}, "connection.url"),
        ({"connection.url": "postgresql://host/x"}, "connection.url"),
    ],
)
def test_validation_names_the_key_that_is_wrong(database: Database, settings: dict[str, str], key: str) -> None:
    """And nothing else."""
    found = JdbcSinkConnector().validate({**database.settings(), **settings})
    assert [value.name for value in found.values if value.error_messages] == [key]
    assert not [value for value in JdbcSinkConnector().validate(database.settings()).values if value.error_messages]

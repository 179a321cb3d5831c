"""PostgreSQL: addresses, names, what a lost or busy connection does, values that its types alone have."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
import time
from typing import Any

import pytest

import hearth_api as api
from hearth_api import DataError, SchemaBuilder, Struct
from hearth_jdbc.dialect.interface import SqlType, TableId
from hearth_jdbc.dialect.postgresql_column import column_of, to_array
from hearth_jdbc.dialect.postgresql_sink import PostgreSqlSink
from hearth_jdbc.jdbc_url import JdbcUrl
from hearth_jdbc.sink_setting import JdbcSinkConfig
from tests.unit.plugins.jdbc.database import PostgreSqlDatabase, record, values

pytestmark = pytest.mark.slow  # a server starts
DAY = 86_400_000_000


def address(text: str, **settings: str) -> dict[str, Any]:
    """Return what libpq is told for a URL."""
    url = JdbcUrl.parse(text)
    dialect = PostgreSqlSink(url, settings.get("user"), settings.get("password"), zone="UTC", quotes=True)
    return dialect._address()


def test_parameters_of_a_url_reach_the_driver() -> None:
    """Hosts, TLS, time-outs, names; the setting of a user wins over the parameter."""
    url = (
        "jdbc:postgresql://one:5433,two/shop?user=ann&password=secret&ssl=true&sslrootcert=/ca.pem&connectTimeout=3"
        "&ApplicationName=hearth&socketTimeout=7&targetServerType=primary&reWriteBatchedInserts=true"
    )
    assert address(url, user="bob") == {
        "host": "one,two", "port": "5433,5432", "dbname": "shop", "user": "bob", "password": "secret",
        "sslmode": "verify-full", "sslrootcert": "/ca.pem", "connect_timeout": "3", "application_name": "hearth",
        "tcp_user_timeout": 7000, "target_session_attrs": "primary", "keepalives": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "mode"),
    [("", None), ("?ssl=true", "verify-full"), ("?ssl=false", None), ("?ssl=true&sslmode=require", "require"),
     ("?ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory", "require")],
)  # fmt: skip
def test_tls_as_the_java_driver_has_it(parameters: str, mode: str | None) -> None:
    """`ssl=true` alone checks the certificate."""
    assert address(f"jdbc:postgresql://host/shop{parameters}").get("sslmode") == mode


def test_a_parameter_that_nobody_knows_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Those that steer the Java driver alone are not."""
    address("jdbc:postgresql://host/shop?prepareThreshold=3&sslMode=require")
    assert [each.getMessage() for each in caplog.records] == ["parameter 'sslMode' of connection.url has no effect"]


@pytest.mark.parametrize(
    ("text", "quotes", "table"),
    [
        ("orders", True, TableId(None, "orders")),
        ("Shop.Orders", True, TableId("Shop", "Orders")),
        ('shop."a.b ""c"""', True, TableId("shop", 'a.b "c"')),
        ("database.shop.orders", True, TableId("shop", "orders")),
        ("Shop.Orders", False, TableId("shop", "orders")),
    ],
)
def test_names_of_tables(text: str, quotes: bool, table: TableId) -> None:
    """Without quotes, letters are small, as PostgreSQL takes them."""
    dialect = PostgreSqlSink(JdbcUrl("postgresql"), None, None, zone="UTC", quotes=quotes)
    assert dialect.parse_table(text) == table


def test_the_schema_of_the_url_is_that_of_tables_without_one(shop: PostgreSqlDatabase) -> None:
    """In the sink; the source lists all schemas unless schema.pattern chooses."""
    shop.run("CREATE SCHEMA a", "CREATE TABLE a.people(name TEXT)", "CREATE TABLE other(id INT NOT NULL)")
    settings = shop.settings()
    named = SchemaBuilder.struct().field("name", api.OPTIONAL_STRING_SCHEMA).build()
    with shop.sink(connection_url=f"{settings['connection.url']}&currentSchema=a") as run:
        run.put([record(0, named, Struct.of(named, {"name": "x"}))])
    assert shop.rows("SELECT name FROM a.people") == [("x",)]
    with shop.source(mode="bulk", schema_pattern="a") as run:
        assert [each["tables"] for each in run.task_configs(9)] == ['"a"."people"']


def test_two_tables_of_one_topic_are_refused(shop: PostgreSqlDatabase) -> None:
    """Their rows would be mixed under one schema name."""
    shop.run("CREATE SCHEMA a", "CREATE TABLE a.people(id INT)", "CREATE TABLE people(id INT)")
    with pytest.raises(api.ConnectError, match=r"tables a\.people and public\.people have one topic"):
        shop.source(mode="bulk").__enter__()


def test_identity_columns_partitions_enums_and_domains(shop: PostgreSqlDatabase) -> None:
    """A partitioned table is read as one; a domain as the type below it."""
    shop.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')", "CREATE DOMAIN price AS NUMERIC(8,2)",
        "CREATE TABLE t(id INT GENERATED ALWAYS AS IDENTITY, m mood NOT NULL, p price) PARTITION BY RANGE (id)",
        "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "INSERT INTO t(m, p) VALUES ('glad', 1.5)",
    )  # fmt: skip
    with shop.source(mode="incrementing", table_types="PARTITIONED TABLE", validate_non_null="false") as run:
        (found,) = run.take(1)
    assert (found.value["id"], found.value["m"], str(found.value["p"])) == (1, "glad", "1.50")


def test_a_query_describes_computed_columns_by_their_types(shop: PostgreSqlDatabase) -> None:
    """Those of a table keep NOT NULL; percent signs stay."""
    shop.run("CREATE TABLE t(id INT NOT NULL, p NUMERIC(8,2))", "INSERT INTO t VALUES (5, 1)")
    query = "SELECT id, p, id % 3 AS rest, count(*) OVER () AS n, 'a%s' AS word, p::numeric(9,3) AS wide FROM t"
    with shop.source(mode="bulk", query=query, topic_prefix="q") as run:
        (found,) = run.take(1)
    assert found.value_schema is not None
    kinds = [(field.name, str(field.schema.type), field.schema.optional) for field in found.value_schema.fields]
    assert kinds == [
        ("id", "INT32", False), ("p", "BYTES", True), ("rest", "INT32", True), ("n", "INT64", True),
        ("word", "STRING", True), ("wide", "BYTES", True),
    ]  # fmt: skip
    assert (found.value["rest"], found.value["word"], str(found.value["wide"])) == (2, "a%s", "1.000")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("timestamp", "0044-03-15 10:00:00 BC"),
        ("timestamp", "4713-12-31 00:00:00.000001 BC"),
        ("timestamp", "12020-01-01 10:00:00.5"),
        ("timestamptz", "0001-01-01 00:00:00+00 BC"),
        ("date", "0044-03-15 BC"),
        ("date", "10000-01-01"),
        ("time", "24:00:00"),
        ("timetz", "23:30:00-01:30"),
    ],
)
def test_moments_that_arrow_does_not_read(shop: PostgreSqlDatabase, kind: str, text: str) -> None:
    """Years before 1 and after 9999, midnight as 24:00, offsets of times: the server tells the number."""
    sql = f"SELECT '{kind}'::regtype::oid::bigint, (extract(epoch FROM '{text}'::{kind}) * 1000000)::bigint"
    ((oid, micros),) = shop.rows(sql)
    expected = {"date": micros // DAY, "time": micros % DAY, "timetz": micros % DAY}.get(kind, micros)
    column = column_of("c", kind, oid, -1, "b", "D")
    assert to_array(column, [text, None], "UTC").to_pylist() == [expected, None]


@pytest.mark.parametrize("text", ["infinity", "-infinity"])
def test_infinite_moments_fail_with_their_column(text: str) -> None:
    """Connect has no such value."""
    column = column_of("until", "timestamp", 1114, -1, "b", "D")
    assert column.type is SqlType.TIMESTAMP
    with pytest.raises(DataError, match="column 'until' of type timestamp holds a value that does not fit"):
        to_array(column, [text], "UTC")


def test_a_lost_connection_is_opened_again(shop: PostgreSqlDatabase) -> None:
    """The source goes on after its last row, the sink writes the same records again."""
    shop.run("CREATE TABLE people(id BIGSERIAL PRIMARY KEY, name TEXT)", "INSERT INTO people(name) VALUES ('a')")
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"  # noqa: E501
    named = SchemaBuilder.struct().field("name", api.OPTIONAL_STRING_SCHEMA).build()
    with shop.source(mode="incrementing") as source, shop.sink() as sink:
        assert values(source.take(1), "id") == [1]
        sink.put([record(0, named, Struct.of(named, {"name": "b"}))])
        assert values(source.take(1), "id") == [2]
        shop.rows(end)
        sink.put([record(1, named, Struct.of(named, {"name": "c"}))])
        assert values(source.take(1), "id") == [3]
    assert shop.rows("SELECT name FROM people ORDER BY id") == [("a",), ("b",), ("c",)]


def test_the_isolation_of_reading_transactions(shop: PostgreSqlDatabase) -> None:
    """They are read-only in any case."""
    query = "SELECT current_setting('transaction_isolation') AS level, current_setting('transaction_read_only') AS x"
    for mode, level in (("DEFAULT", "read committed"), ("repeatable_read", "repeatable read")):
        with shop.source(mode="bulk", query=query, topic_prefix="q", transaction_isolation_mode=mode) as run:
            (found,) = run.take(1)
        assert (found.value["level"], found.value["x"]) == (level, "on")


def test_stop_ends_a_long_query(shop: PostgreSqlDatabase) -> None:
    """The poll returns at once."""
    run = shop.source(mode="bulk", query="SELECT pg_sleep(60)::text AS nothing", topic_prefix="q").__enter__()
    (task,) = run.tasks
    failures: list[BaseException] = []

    def poll() -> None:
        try:
            task.poll()
        except api.RetriableError as error:
            failures.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    time.sleep(0.3)
    started = time.monotonic()
    run.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert time.monotonic() - started < 3
    assert "canceling statement" in str(failures[0])


def test_deadlocks_are_tried_again(shop: PostgreSqlDatabase) -> None:
    """A put that the database chose as the victim comes again as a whole."""
    shop.run("CREATE TABLE people(id BIGINT PRIMARY KEY, name TEXT)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    person = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()
    other = shop.connect()
    other.execute("BEGIN")
    other.execute("UPDATE people SET name = 'x' WHERE id = 2")

    def collide() -> None:
        time.sleep(0.2)
        other.execute("SET deadlock_timeout = '10s'")
        other.execute("UPDATE people SET name = 'x' WHERE id = 1")
        other.execute("COMMIT")

    thread = threading.Thread(target=collide)
    thread.start()
    with shop.sink(insert_mode="upsert", pk_mode="record_value", pk_fields="id") as run:
        run.put([record(at, person, Struct.of(person, {"id": at, "name": "new"})) for at in (1, 2)])
    thread.join()
    other.close()
    assert shop.rows("SELECT id, name FROM people ORDER BY id") == [(1, "new"), (2, "new")]


def test_columns_of_types_that_need_a_cast_and_arrays(shop: PostgreSqlDatabase) -> None:
    """Texts fill jsonb, uuid and enums; lists fill arrays, also those that the sink creates."""
    shop.run("CREATE TYPE mood AS ENUM ('glad', 'sad')", "CREATE TABLE people(j JSONB, u UUID, m mood, t TIMESTAMPTZ)")
    texts = SchemaBuilder.struct()
    for name in "jum":
        texts = texts.field(name, api.OPTIONAL_STRING_SCHEMA)
    lists = SchemaBuilder.array(api.OPTIONAL_STRING_SCHEMA).optional().build()
    schema = texts.field("t", api.Timestamp.builder().optional().build()).field("l", lists).build()
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    given = {"j": '{"a": 1}', "u": "0" * 32, "m": "sad", "t": moment, "l": ['a"\\', None, ""]}
    with shop.sink(auto_evolve="true", db_timezone="Europe/Berlin") as run:
        run.put(
            [record(0, schema, Struct.of(schema, given)), record(1, schema, Struct.of(schema, dict.fromkeys(given)))]
        )
    found = shop.rows("SELECT j ->> 'a', u::text, m::text, t AT TIME ZONE 'UTC', l FROM people")
    zeros = "00000000-0000-0000-0000-000000000000"
    assert found == [("1", zeros, "sad", dt.datetime(2020, 1, 1), ['a"\\', None, ""]), (None,) * 5]


def test_a_value_too_large_for_its_column_is_named(shop: PostgreSqlDatabase) -> None:
    """The database's own words have row and column."""
    shop.run("CREATE TABLE people(small SMALLINT)")
    number = SchemaBuilder.struct().field("small", api.INT64_SCHEMA).build()
    with shop.sink() as run:
        run.put([record(at, number, Struct.of(number, {"small": value})) for at, value in enumerate((1, 70_000, 2))])
        ((_, error),) = run.reporter.reported
    assert 'value "70000" is out of range for type smallint' in str(error)
    assert "column small" in str(error)
    assert shop.rows("SELECT small FROM people") == [(1,), (2,)]


def test_settings_give_a_dialect_by_name_as_well() -> None:
    """`dialect.name` wins over the URL."""
    given = {"connection.url": "jdbc:sqlite:x", "dialect.name": "PostgreSqlDatabaseDialect"}
    assert isinstance(JdbcSinkConfig(given).sink_dialect(), PostgreSqlSink)


def test_a_frozen_server_delays_the_stop_no_longer_than_seconds(shop: PostgreSqlDatabase) -> None:
    """The server does not answer while it is frozen; afterwards all goes on."""
    shop.run("CREATE TABLE people(id BIGSERIAL PRIMARY KEY, name TEXT)", "INSERT INTO people(name) VALUES ('a')")
    with shop.source(mode="incrementing", query_suffix="") as run:
        run.take(1)
        (pid,) = shop.rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )[0]
        os.kill(pid, signal.SIGSTOP)
        shop.run("INSERT INTO people(name) VALUES ('b')")
        threading.Timer(0.3, os.kill, (pid, signal.SIGCONT)).start()
        assert values(run.take(1), "id") == [2]

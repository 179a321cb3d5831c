"""Which schemas and values columns become: Confluent's, for each database."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from hearth_api import ConnectError, DataError, Schema, Struct, Type
from hearth_api.java import schema_to_text
from tests.unit.plugins.jdbc.database import Database, PostgreSqlDatabase

GOLDEN = {
    "sqlite": [
        ("INTEGER NOT NULL", "7", "int32", 7),
        ("INTEGER NOT NULL", "3000000000", "int64", 3_000_000_000),
        ("SMALLINT NOT NULL", "-7", "int16", -7),
        ("TINYINT NOT NULL", "7", "int8", 7),
        ("BIGINT NOT NULL", "9223372036854775807", "int64", 2**63 - 1),
        ("BOOLEAN NOT NULL", "1", "boolean", True),
        ("REAL NOT NULL", "1.5", "float", 1.5),
        ("DOUBLE NOT NULL", "0.1", "double", 0.1),
        ("FLOAT NOT NULL", "2", "double", 2.0),
        ("VARCHAR(20) NOT NULL", "'é😀'", "string", "é😀"),
        ("TEXT NOT NULL", "''", "string", ""),
        ("BLOB NOT NULL", "x'00ff'", "bytes", b"\x00\xff"),
        ("DECIMAL(10,2) NOT NULL", "'12.3'", "Decimal:2:10", Decimal("12.30")),
        ("NUMERIC(5,0) NOT NULL", "42", "Decimal:0:5", Decimal(42)),
        ("DATE NOT NULL", "'1969-12-31'", "Date", dt.date(1969, 12, 31)),
        ("DATE NOT NULL", "86400000", "Date", dt.date(1970, 1, 2)),
        ("TIME NOT NULL", "'23:59:59.250'", "Time", dt.time(23, 59, 59, 250_000)),
        (
            "TIMESTAMP NOT NULL",
            "'1969-12-31 23:59:59.999'",
            "Timestamp",
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_000),
        ),
        ("DATETIME NOT NULL", "'2020-01-01T10:00:00Z'", "Timestamp", dt.datetime(2020, 1, 1, 10)),
        ("TIMESTAMP NOT NULL", "1577872800250", "Timestamp", dt.datetime(2020, 1, 1, 10, 0, 0, 250_000)),
        ("", "'text'", "optional string", "text"),
        ("", "12", "optional int64", 12),
        ("INT", "NULL", "optional int32", None),
    ],
    "duckdb": [
        ("TINYINT NOT NULL", "-7", "int8", -7),
        ("UTINYINT NOT NULL", "200", "int16", 200),
        ("SMALLINT NOT NULL", "-7", "int16", -7),
        ("USMALLINT NOT NULL", "65535", "int32", 65535),
        ("INTEGER NOT NULL", "7", "int32", 7),
        ("UINTEGER NOT NULL", "4000000000", "int64", 4_000_000_000),
        ("BIGINT NOT NULL", "9223372036854775807", "int64", 2**63 - 1),
        ("HUGEINT NOT NULL", "-1", "Decimal:0:38", Decimal(-1)),
        ("BOOLEAN NOT NULL", "true", "boolean", True),
        ("FLOAT NOT NULL", "1.5", "float", 1.5),
        ("DOUBLE NOT NULL", "0.1", "double", 0.1),
        ("VARCHAR NOT NULL", "'é😀'", "string", "é😀"),
        ("UUID NOT NULL", f"'{'0' * 8}-0000-0000-0000-{'0' * 12}'", "string", f"{'0' * 8}-0000-0000-0000-{'0' * 12}"),
        ("ENUM('a', 'b(1,2)') NOT NULL", "'b(1,2)'", "string", "b(1,2)"),
        ("BLOB NOT NULL", "'\\x00\\xFF'::BLOB", "bytes", b"\x00\xff"),
        ("DECIMAL(10,2) NOT NULL", "-12.3", "Decimal:2:10", Decimal("-12.30")),
        ("DATE NOT NULL", "'1969-12-31'", "Date", dt.date(1969, 12, 31)),
        ("TIME NOT NULL", "'23:59:59.25'", "Time", dt.time(23, 59, 59, 250_000)),
        (
            "TIMESTAMP NOT NULL",
            "'1969-12-31 23:59:59.5009'",
            "Timestamp",
            dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),
        ),
        ("TIMESTAMP_NS NOT NULL", "'2020-01-01 10:00:00.25'", "Timestamp", dt.datetime(2020, 1, 1, 10, 0, 0, 250_000)),
        ("TIMESTAMPTZ NOT NULL", "'2020-01-01 10:00:00+02'", "Timestamp", dt.datetime(2020, 1, 1, 8)),
        ("INTEGER", "NULL", "optional int32", None),
        ("INTERVAL", "'1 day'", "", None),
        ("INTEGER[]", "[1]", "", None),
    ],
    "mariadb": [
        ("TINYINT NOT NULL", "-7", "int8", -7),
        ("TINYINT(1) NOT NULL", "1", "int8", 1),
        ("TINYINT UNSIGNED NOT NULL", "200", "int16", 200),
        ("SMALLINT NOT NULL", "-7", "int16", -7),
        ("SMALLINT UNSIGNED NOT NULL", "65535", "int32", 65535),
        ("MEDIUMINT NOT NULL", "-7", "int32", -7),
        ("INT NOT NULL", "7", "int32", 7),
        ("INT UNSIGNED NOT NULL", "4000000000", "int64", 4_000_000_000),
        ("BIGINT NOT NULL", "9223372036854775807", "int64", 2**63 - 1),
        ("BIT NOT NULL", "b'1'", "int8", 1),
        ("BIT(8) NOT NULL", "b'11111111'", "int8", -1),
        ("BIT(9) NOT NULL", "b'100000001'", "bytes", b"\x01\x01"),
        ("FLOAT NOT NULL", "1.5", "float", 1.5),
        ("DOUBLE NOT NULL", "0.1", "double", 0.1),
        ("VARCHAR(20) NOT NULL", "'é😀'", "string", "é😀"),
        ("CHAR(3) NOT NULL", "'a'", "string", "a"),
        ("TEXT NOT NULL", "''", "string", ""),
        ("ENUM('a', 'b') NOT NULL", "'b'", "string", "b"),
        ("SET('a', 'b') NOT NULL", "'a,b'", "string", "a,b"),
        ("JSON NOT NULL", "'[1,  2]'", "string", "[1,  2]"),
        ("BINARY(2) NOT NULL", "x'00ff'", "bytes", b"\x00\xff"),
        ("BLOB NOT NULL", "x'00ff'", "bytes", b"\x00\xff"),
        ("LONGBLOB NOT NULL", "REPEAT(x'07', 70000)", "bytes", b"\x07" * 70_000),
        ("DECIMAL(10,2) NOT NULL", "-12.3", "Decimal:2:10", Decimal("-12.30")),
        ("DECIMAL(10,2) UNSIGNED NOT NULL", "12.3", "Decimal:2:10", Decimal("12.30")),
        ("DECIMAL(60,30) NOT NULL", f"{'9' * 30}.{'9' * 30}", "Decimal:30:60", Decimal(f"{'9' * 30}.{'9' * 30}")),
        ("DECIMAL(5) NOT NULL", "42", "Decimal:0:5", Decimal(42)),
        ("DATE NOT NULL", "'1969-12-31'", "Date", dt.date(1969, 12, 31)),
        ("YEAR NOT NULL", "2020", "Date", dt.date(2020, 1, 1)),
        ("TIME NOT NULL", "'23:59:59'", "Time", dt.time(23, 59, 59)),
        ("TIME(3) NOT NULL", "'23:59:59.25'", "Time", dt.time(23, 59, 59, 250_000)),
        ("DATETIME NOT NULL", "'1969-12-31 23:59:59'", "Timestamp", dt.datetime(1969, 12, 31, 23, 59, 59)),
        (
            "DATETIME(6) NOT NULL",
            "'1969-12-31 23:59:59.5009'",
            "Timestamp",
            dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),
        ),
        ("TIMESTAMP(3) NOT NULL", "'2020-01-01 10:00:00.5'", "Timestamp", dt.datetime(2020, 1, 1, 10, 0, 0, 500_000)),
        ("INT", "NULL", "optional int32", None),
        ("TEXT", "NULL", "optional string", None),
    ],
    "postgresql": [
        ("SMALLINT NOT NULL", "-7", "int16", -7),
        ("INT NOT NULL", "7", "int32", 7),
        ("BIGINT NOT NULL", "9223372036854775807", "int64", 2**63 - 1),
        ("OID NOT NULL", "4000000000", "int64", 4_000_000_000),
        ("BOOLEAN NOT NULL", "true", "boolean", True),
        ("BIT NOT NULL", "B'1'", "boolean", True),
        ("BIT(8) NOT NULL", "B'00000101'", "int8", 5),
        ("BIT(9) NOT NULL", "B'000000101'", "bytes", b"000000101"),
        ("REAL NOT NULL", "1.5", "float", 1.5),
        ("DOUBLE PRECISION NOT NULL", "0.1", "double", 0.1),
        ("MONEY NOT NULL", "'-1234.50'", "double", -1234.5),
        ("VARCHAR(20) NOT NULL", "'é😀'", "string", "é😀"),
        ("CHAR(3) NOT NULL", "'a'", "string", "a  "),
        ("TEXT NOT NULL", "''", "string", ""),
        ("BYTEA NOT NULL", "'\\x00ff'", "bytes", b"\x00\xff"),
        ("JSONB NOT NULL", "'[1,  2]'", "string", "[1, 2]"),
        ("JSON NOT NULL", "'[1,  2]'", "string", "[1,  2]"),
        ("XML NOT NULL", "'<a/>'", "string", "<a/>"),
        ("UUID NOT NULL", f"'{'0' * 8}-0000-0000-0000-{'0' * 12}'", "string", f"{'0' * 8}-0000-0000-0000-{'0' * 12}"),
        ("NUMERIC(10,2) NOT NULL", "-12.3", "Decimal:2:10", Decimal("-12.30")),
        ("NUMERIC(60,30) NOT NULL", f"{'9' * 30}.{'9' * 30}", "Decimal:30:60", Decimal(f"{'9' * 30}.{'9' * 30}")),
        ("NUMERIC NOT NULL", "42", "Decimal:0:0", Decimal(42)),
        ("DATE NOT NULL", "'1969-12-31'", "Date", dt.date(1969, 12, 31)),
        ("TIME NOT NULL", "'23:59:59.25'", "Time", dt.time(23, 59, 59, 250_000)),
        ("TIMETZ NOT NULL", "'23:59:59+02'", "Time", dt.time(21, 59, 59)),
        (
            "TIMESTAMP NOT NULL",
            "'1969-12-31 23:59:59.5009'",
            "Timestamp",
            dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),
        ),
        ("TIMESTAMPTZ NOT NULL", "'2020-01-01 10:00:00+02'", "Timestamp", dt.datetime(2020, 1, 1, 8)),
        ("INT", "NULL", "optional int32", None),
        ("INTERVAL", "'1 day'", "", None),
        ("INT[]", "'{1}'", "", None),
    ],
}
"""For each product: a column, a literal, the schema and the value of the record."""


def form(schema: Schema) -> str:
    """Return a schema in words."""
    name = (schema.name or "").rpartition(".")[2]
    names = {"FLOAT32": "float", "FLOAT64": "double"}
    kind = name or names.get(str(schema.type), str(schema.type).lower())
    facts = schema.parameters or {}
    numbers = [facts[key] for key in ("scale", "connect.decimal.precision") if key in facts]
    return ("optional " if schema.optional else "") + ":".join([kind, *numbers])


def read(database: Database, **settings: str) -> tuple[Schema, Any]:
    """Return the schema and the value of the only record of the table."""
    with database.source(mode="bulk", **settings) as run:
        (record,) = run.take(1)
    assert record.value_schema is not None
    return record.value_schema, record.value


OTHERS = {
    "sqlite": [],
    "mariadb": [],
    "duckdb": [
        ("INTERVAL", "'1 day 2 hours'", "1 day 02:00:00"),
        ("INTEGER[]", "[1, NULL]", "[1, NULL]"),
        ("STRUCT(a INTEGER)", "{'a': 1}", "{'a': 1}"),
        ("MAP(VARCHAR, INTEGER)", "MAP {'a': 1}", "{a=1}"),
    ],
    "postgresql": [
        ("INT[]", "'{1,NULL}'", "{1,NULL}"),
        ("TEXT[][]", """ARRAY[['a,b','"'],['', NULL]]""", '{{"a,b","\\""},{"",NULL}}'),
        ("INT4RANGE", "'[1,5)'", "[1,5)"),
        ("TSTZRANGE", "'[2020-01-01 10:00+00,)'", '["2020-01-01 10:00:00+00",)'),
        ("INT8MULTIRANGE", "'{[1,2),[5,6)}'", "{[1,2),[5,6)}"),
        ("INTERVAL", "'1 day 2 hours'", "1 day 02:00:00"),
        ("INET", "'10.0.0.1/8'", "10.0.0.1/8"),
        ("CIDR", "'10.0.0.0/8'", "10.0.0.0/8"),
        ("MACADDR", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03"),
        ("POINT", "'(1,2)'", "(1,2)"),
        ("TSVECTOR", "'a b'", "'a' 'b'"),
        ("HSTORES", "ROW(1, 'x')", "(1,x)"),
    ],
}
"""For each product: columns of types that Connect lacks, a literal, and the text."""


def test_other_types_are_texts_if_asked_for(database: Database) -> None:
    """other.types=text; with nulls beside."""
    cases = OTHERS[database.product]
    if database.product == "postgresql":
        database.run("CREATE TYPE hstores AS (a INT, b TEXT)")
    names = [f"c{number}" for number in range(len(cases))]
    columns = ", ".join(["id INT NOT NULL", *(f"{name} {case[0]}" for name, case in zip(names, cases))])
    literals = ", ".join(["1", *(case[1] for case in cases)])
    database.run(f"CREATE TABLE types({columns})", f"INSERT INTO types VALUES ({literals})")
    schema, value = read(database, other_types="text")
    assert [form(field.schema) for field in schema.fields] == ["int32", *["optional string"] * len(cases)]
    assert [value[name] for name in names] == [case[2] for case in cases]
    schema, _ = read(database)
    assert [field.name for field in schema.fields] == ["id"]
    database.run("DELETE FROM types", "INSERT INTO types(id) VALUES (2)")
    _, value = read(database, other_types="text")
    assert [value[name] for name in names] == [None] * len(cases)


NESTED = {
    "sqlite": [],
    "mariadb": [],
    "duckdb": [
        ("INTEGER[]", "[1, NULL]", "optional array<optional int32>", [1, None]),
        ("DECIMAL(5,2)[]", "[1.5]", "optional array<optional Decimal:2:5>", [Decimal("1.50")]),
        ("VARCHAR[][]", "[['a', ''], NULL]", "optional array<optional array<optional string>>", [["a", ""], None]),
        ("INTEGER[2]", "[3, 4]", "optional array<optional int32>", [3, 4]),
        ("INTERVAL[]", "[INTERVAL 1 DAY]", "optional array<optional string>", ["1 day"]),
        (
            "MAP(VARCHAR, BIGINT)",
            "MAP {'a': 1, 'b': NULL}",
            "optional map<string, optional int64>",
            {"a": 1, "b": None},
        ),
        (
            'STRUCT(a INTEGER, "b c" STRUCT(t TIMESTAMP[], i INTERVAL))',
            "{'a': 1, 'b c': {'t': ['2020-01-01 10:00:00'], 'i': INTERVAL 2 DAY}}",
            "optional struct<a optional int32, b c optional struct<"
            "t optional array<optional Timestamp>, i optional string>>",
            {"a": 1, "b c": {"t": [dt.datetime(2020, 1, 1, 10, tzinfo=dt.timezone.utc)], "i": "2 days"}},
        ),
        ("ENUM('x', 'y')[]", "['y']", "optional array<optional string>", ["y"]),
        ("INTERVAL", "'1 day'", "optional string", "1 day"),
    ],
    "postgresql": [
        ("INT[]", "'{1,NULL}'", "optional array<optional int32>", [1, None]),
        ("NUMERIC(5,2)[]", "'{1.5,-2}'", "optional array<optional Decimal:2:5>", [Decimal("1.50"), Decimal("-2.00")]),
        (
            "TEXT[][]",
            """ARRAY[['a,b','"'],['', NULL]]""",
            "optional array<optional array<optional string>>",
            [["a,b", '"'], ["", None]],
        ),
        ("FLOAT8[]", "'{0.1,-Infinity}'", "optional array<optional double>", [0.1, float("-inf")]),
        ("BOOL[]", "'{t,f}'", "optional array<optional boolean>", [True, False]),
        ("BYTEA[]", """'{"\\\\x00ff"}'""", "optional array<optional bytes>", [b"\x00\xff"]),
        (
            "UUID[]",
            f"'{{{'0' * 8}-0000-0000-0000-{'0' * 12}}}'",
            "optional array<optional string>",
            [f"{'0' * 8}-0000-0000-0000-{'0' * 12}"],
        ),
        ("DATE[]", "'{1969-12-31}'", "optional array<optional Date>", [dt.date(1969, 12, 31)]),
        (
            "TIMESTAMPTZ[]",
            "'{2020-01-01 10:00:00+02}'",
            "optional array<optional Timestamp>",
            [dt.datetime(2020, 1, 1, 8, tzinfo=dt.timezone.utc)],
        ),
        ("JSONB[]", """ARRAY['{"a": [1]}'::jsonb]""", "optional array<optional string>", ['{"a": [1]}']),
        ("INT4RANGE[]", "ARRAY['[1,5)'::int4range]", "optional array<optional string>", ["[1,5)"]),
        ("mood[]", "'{glad,NULL}'", "optional array<optional string>", ["glad", None]),
        ("pair[]", """ARRAY[ROW(1, 'x"y')::pair]""", "optional array<optional string>", ['(1,"x""y")']),
        ("INT[] NOT NULL", "'{}'", "array<optional int32>", []),
        ("INTERVAL", "'1 day'", "optional string", "1 day"),
        ("INET", "'10.0.0.1/8'", "optional string", "10.0.0.1/8"),
        ("POINT", "'(1,2)'", "optional string", "(1,2)"),
    ],
}
"""For each product: columns with parts, a literal, the schema and the value."""


def nested_form(schema: Schema | None) -> str:
    """Return a schema in words, with its parts."""
    assert schema is not None
    start = "optional " if schema.optional else ""
    if schema.type is Type.STRUCT:
        return f"{start}struct<{', '.join(f'{each.name} {nested_form(each.schema)}' for each in schema.fields)}>"
    if schema.type is Type.MAP:
        return f"{start}map<{nested_form(schema.key_schema)}, {nested_form(schema.value_schema)}>"
    return f"{start}array<{nested_form(schema.value_schema)}>" if schema.type is Type.ARRAY else form(schema)


def nested_value(value: Any) -> Any:
    """Return a value with dictionaries for structs."""
    if isinstance(value, Struct):
        return {field.name: nested_value(value[field.name]) for field in value.schema.fields}
    return [nested_value(each) for each in value] if isinstance(value, list) else value


def test_arrays_maps_and_structs_if_asked_for(database: Database) -> None:
    """other.types=nested, in columns and in records; with nulls beside."""
    cases = NESTED[database.product]
    if database.product == "postgresql":
        database.run("CREATE TYPE mood AS ENUM ('glad')", "CREATE TYPE pair AS (a INT, b TEXT)")
    names = [f"c{number}" for number in range(len(cases))]
    columns = ", ".join(["id INT NOT NULL", *(f"{name} {case[0]}" for name, case in zip(names, cases))])
    literals = ", ".join(["1", *(case[1] for case in cases)])
    database.run(f"CREATE TABLE types({columns})", f"INSERT INTO types VALUES ({literals})")
    optional = [name for name, case in zip(names, cases) if "NOT NULL" not in case[0]]
    rest = [case[1] for case in cases if "NOT NULL" in case[0]]
    required = [name for name in names if name not in optional]
    database.run(f"INSERT INTO types({', '.join(['id', *required])}) VALUES ({', '.join(['2', *rest])})")
    with database.source(mode="incrementing", incrementing_column_name="id", other_types="nested") as run:
        first, second = run.take(2)
    assert first.value_schema is not None
    found = [
        (nested_form(field.schema), nested_value(first.value[field.name])) for field in first.value_schema.fields[1:]
    ]
    assert found == [case[2:] for case in cases]
    assert [second.value[name] for name in optional] == [None] * len(optional)


def test_an_array_of_other_dimensions_fails_with_its_column(shop: PostgreSqlDatabase) -> None:
    """PostgreSQL does not look at the dimensions that a column was declared with; a query tells none."""
    shop.run("CREATE TABLE t(n INT[])", "INSERT INTO t VALUES ('{{1,2},{3,4}}')")
    with pytest.raises(DataError, match=r"column 'n' of type _int4 .* other dimensions than"):
        read(shop, other_types="nested")
    query = "SELECT ARRAY[id, 2.5] AS n, 'x'::text AS t FROM generate_series(1, 1) id"
    with shop.source(
        mode="bulk", query=query, topic_prefix="q", other_types="nested", numeric_mapping="best_fit"
    ) as run:
        (found,) = run.take(1)
    assert found.value["n"] == [1.0, 2.5]


def test_types(database: Database) -> None:
    """One table with a column of each; the expectation is data."""
    cases = GOLDEN[database.product]
    names = [f"c{number}" for number in range(len(cases))]
    columns = ", ".join(f"{name} {case[0]}" for name, case in zip(names, cases))
    database.run(
        f"CREATE TABLE types({columns})", f"INSERT INTO types VALUES ({', '.join(case[1] for case in cases)})"
    )
    schema, value = read(database)
    fields = {field.name: form(field.schema) for field in schema.fields}
    found = [(fields.get(name, ""), _plain(value[name]) if name in fields else None) for name in names]
    assert found == [(case[2], case[3]) for case in cases]


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


@pytest.mark.parametrize(
    ("mapping", "kinds"),
    [
        ("none", [*(f"Decimal:0:{digits}" for digits in (2, 4, 9, 18, 19)), "Decimal:2:5", "Decimal:2:20"]),
        ("precision_only", ["int8", "int16", "int32", "int64", "Decimal:0:19", "Decimal:2:5", "Decimal:2:20"]),
        ("best_fit", ["int8", "int16", "int32", "int64", "Decimal:0:19", "double", "Decimal:2:20"]),
        ("best_fit_eager_double", ["int8", "int16", "int32", "int64", "Decimal:0:19", "double", "double"]),
    ],
)  # fmt: skip
def test_numeric_mapping(database: Database, mapping: str, kinds: list[str]) -> None:
    """By the digits and the scale that a NUMERIC was declared with."""
    digits = ["2", "4", "9", "18", "19", "5,2", "20,2"]
    columns = ", ".join(f"c{place} NUMERIC({each}) NOT NULL" for place, each in enumerate(digits))
    database.run(f"CREATE TABLE numbers({columns})", f"INSERT INTO numbers VALUES ({','.join(['7'] * len(digits))})")
    schema, value = read(database, numeric_mapping=mapping)
    found = [form(field.schema) for field in schema.fields]
    if database.product in (
        "mariadb",
        "duckdb",
    ):  # NUMERIC is another word for DECIMAL, which is not mapped, as in Java
        assert found == [*(f"Decimal:0:{digits}" for digits in (2, 4, 9, 18, 19)), "Decimal:2:5", "Decimal:2:20"]
    else:
        assert found == kinds
    assert {float(value[field.name]) for field in schema.fields} == {7.0}


@pytest.mark.parametrize(
    ("granularity", "value"),
    [
        ("micros_long", 1577872800123456),
        ("micros_string", "1577872800123456"),
        ("micros_iso_datetime_string", "2020-01-01T10:00:00.123456"),
        ("nanos_long", 1577872800123456000),
        ("nanos_string", "1577872800123456000"),
        ("nanos_iso_datetime_string", "2020-01-01T10:00:00.123456000"),
    ],
)
def test_timestamp_granularity(database: Database, granularity: str, value: Any) -> None:
    """Numbers and texts keep the microseconds."""
    database.run(f"CREATE TABLE t(moment {database.MOMENT})", "INSERT INTO t VALUES ('2020-01-01 10:00:00.123456')")
    assert read(database, timestamp_granularity=granularity)[1]["moment"] == value


def test_times_without_a_zone_are_of_the_zone_of_the_database(database: Database) -> None:
    """Winter and summer."""
    database.run(f"CREATE TABLE t(moment {database.MOMENT})", "INSERT INTO t VALUES ('2020-07-01 10:00:00')")
    assert read(database, db_timezone="Europe/Berlin")[1]["moment"] == dt.datetime(
        2020, 7, 1, 8, tzinfo=dt.timezone.utc
    )


def test_dates_before_1582_keep_their_digits_in_the_calendar_of_java(database: Database) -> None:
    """4 March 1500 is ten days later in the Julian calendar than in the Gregorian."""
    database.run("CREATE TABLE t(day DATE NOT NULL)", "INSERT INTO t VALUES ('1500-03-04')")
    assert read(database)[1]["day"] == dt.date(1500, 3, 14)
    assert read(database, date_calendar_system="PROLEPTIC_GREGORIAN")[1]["day"] == dt.date(1500, 3, 4)


def test_a_number_that_does_not_fit_fails_with_its_column(database: Database) -> None:
    """Nothing is rounded or cut silently."""
    if database.product in ("mariadb", "duckdb"):
        kind = "BIGINT UNSIGNED" if database.product == "mariadb" else "UBIGINT"
        database.run(f"CREATE TABLE t(price {kind} NOT NULL)", f"INSERT INTO t VALUES ({2**64 - 1})")
        with pytest.raises(DataError, match=r"column 'price' of type u?bigint"):
            read(database)
        return
    database.run("CREATE TABLE t(price NUMERIC NOT NULL)", "INSERT INTO t VALUES (1.25)")
    with pytest.raises(DataError, match="column 'price' of type"):
        read(database)
    assert read(database, numeric_mapping="best_fit")[1]["price"] == 1.25


def test_the_schema_of_a_table_is_the_same_text_each_time(database: Database) -> None:
    """A registry would otherwise get a version per poll."""
    database.run(f"CREATE TABLE t(id {database.NUMBER}, p NUMERIC(8,2))", "INSERT INTO t(p) VALUES (1)")
    assert schema_to_text(read(database)[0]) == schema_to_text(read(database)[0])


def test_a_table_that_is_not_there_is_named(database: Database) -> None:
    """The task fails, since it was given this table."""
    database.run("CREATE TABLE t(id INTEGER)")
    with database.source(mode="bulk") as run:
        (config,) = run.task_configs(1)
        database.run("DROP TABLE t")
        task = run.connector.task_class()()
        task.initialize(run.tasks[0].context)  # type: ignore[attr-defined]
        with pytest.raises(ConnectError, match=r"there is no table '.*t' in jdbc:"):
            task.start(config)
        task.stop()

"""Any table of a product, through source and sink, is an equal table."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth_api import SinkRecord, SourceRecord
from tests.unit.plugins.jdbc.database import TOPIC, Database

_numbers = itertools.count()
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
DATES = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)).filter(
    lambda day: not dt.date(1582, 10, 4) < day < dt.date(1582, 10, 15)
)
MOMENTS = st.datetimes(dt.datetime(1582, 11, 1), dt.datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
TIMES = st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _millis(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)


def whole(bits: int) -> st.SearchStrategy[int]:
    """Return whole numbers of a width."""
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    """Return numbers of a precision and scale."""
    return st.integers(1 - 10**digits, 10**digits - 1).map(lambda number: Decimal(f"{number}E-{scale}"))


COLUMNS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "sqlite": {
        "SMALLINT": whole(16),
        "INTEGER": whole(64),
        "BIGINT": whole(64),
        "BOOLEAN": st.integers(0, 1),
        "DOUBLE": FLOATS,
        "REAL": st.floats(width=32, allow_nan=False, allow_infinity=False),
        "VARCHAR(9)": TEXT,
        "BLOB": st.binary(max_size=9),
        "DECIMAL(9,2)": st.integers(-(10**6), 10**6),
        "DATE": DATES.map(lambda day: _millis(dt.datetime.combine(day, dt.time()))),
        "TIME": TIMES.map(lambda time: _millis(dt.datetime.combine(dt.date(1970, 1, 1), time))),
        "TIMESTAMP": MOMENTS.map(_millis),
    },
    "duckdb": {
        "TINYINT": whole(8),
        "USMALLINT": st.integers(0, 2**16 - 1),
        "INTEGER": whole(32),
        "BIGINT": whole(64),
        "HUGEINT": st.integers(-(2**120), 2**120),
        "BOOLEAN": st.booleans(),
        "DOUBLE": FLOATS | st.sampled_from([float("inf"), float("-inf")]),
        "FLOAT": st.floats(width=32, allow_nan=False),
        "VARCHAR": TEXT,
        "BLOB": st.binary(max_size=9),
        "DECIMAL(20,5)": decimals(20, 5),
        "DECIMAL(38,25)": decimals(38, 25),
        "DATE": DATES,
        "TIME": TIMES,
        "TIMESTAMP": MOMENTS,
        "UUID": st.uuids(),
        "ENUM('a', 'b')": st.sampled_from("ab"),
    },
    "mariadb": {
        "SMALLINT": whole(16),
        "INT UNSIGNED": st.integers(0, 2**32 - 1),
        "BIGINT": whole(64),
        "DOUBLE": FLOATS,
        "FLOAT": st.integers(-(2**20), 2**20).map(lambda number: number / 8),
        "VARCHAR(20)": TEXT | st.sampled_from(["", "'", '"', "\\", "\\'", "a,b", "\r\n", "NULL", "%s"]),
        "LONGTEXT": TEXT,
        "VARBINARY(9)": st.binary(max_size=9),
        "DECIMAL(20,5)": decimals(20, 5),
        "DECIMAL(50,25)": decimals(50, 25),
        "DATE": DATES.filter(lambda day: day.year >= 1000),
        "TIME(3)": TIMES,
        "DATETIME(3)": MOMENTS,
        "JSON": st.just('{"a": [1, null]}'),
    },
    "postgresql": {
        "SMALLINT": whole(16),
        "INT": whole(32),
        "BIGINT": whole(64),
        "BOOLEAN": st.booleans(),
        "DOUBLE PRECISION": FLOATS | st.sampled_from([float("inf"), float("-inf")]),
        "REAL": st.floats(width=32, allow_nan=False),
        "TEXT": TEXT | st.sampled_from(["", '"', "\\.", "\\N", "a,b", "\r\n", "NULL"]),
        "BYTEA": st.binary(max_size=9),
        "NUMERIC(20,5)": decimals(20, 5),
        "NUMERIC(50,25)": decimals(50, 25),
        "DATE": DATES,
        "TIME": TIMES,
        "TIMESTAMP": MOMENTS,
        "JSONB": st.just('{"a": [1, null]}'),
        "UUID": st.uuids().map(str),
    },
}
"""For each product: types of columns and their values, as its driver takes them."""


@st.composite
def tables(draw: st.DrawFn, product: str) -> tuple[list[str], list[list[Any]]]:
    """Draw types of columns, and rows with nulls."""
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS[product])), min_size=1, max_size=6))
    row = st.tuples(*(st.none() | COLUMNS[product][kind] for kind in kinds)).map(list)
    return kinds, draw(st.lists(row, min_size=1, max_size=8))


def sunk(records: Sequence[SourceRecord]) -> list[SinkRecord]:
    """Return the records as a sink receives them."""
    return [
        SinkRecord(TOPIC, 0, None, None, record.value_schema, record.value, offset)
        for offset, record in enumerate(records)
    ]


@pytest.mark.parametrize("mode", ["insert", "upsert"])
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_table_survives(database: Database, mode: str, data: st.DataObject) -> None:
    """Types, nulls, empty texts, every digit; the copy has the types of the original."""
    kinds, rows = data.draw(tables(database.product), label="table")
    original, copy = (f"{name}_{next(_numbers)}" for name in ("original", "copy"))
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
    for name in (original, copy):
        database.run(f"CREATE TABLE {name}(id BIGINT PRIMARY KEY NOT NULL, {columns})")
    database.insert(original, [(number, *row) for number, row in enumerate(rows)])
    keys = {} if mode == "insert" else {"pk_mode": "record_value", "pk_fields": "id"}
    with database.source(mode="incrementing", incrementing_column_name="id", table_whitelist=original) as source:
        records = source.take(len(rows))
    in_columns = data.draw(st.booleans(), label="columns")
    with database.sink(in_columns, insert_mode=mode, table_name_format=copy, **keys) as sink:
        sink.put(sunk(records))
        assert not sink.reporter.reported
    assert database.rows(f"SELECT * FROM {copy} ORDER BY id") == database.rows(f"SELECT * FROM {original} ORDER BY id")
    database.run(f"DROP TABLE {original}", f"DROP TABLE {copy}")

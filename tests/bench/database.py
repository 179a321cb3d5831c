"""Case database: the JDBC connectors beside the bulk ways of each database, on the same machine.

Only Hearth, and only the plugin's part: batches that the source's `poll_batch` returns and the sink's `put_batch`
takes, without converter and Kafka. Rows have six columns with numbers, a decimal, texts, times and nulls. Ratios are
of rows a second: to a read that throws the rows away, to a bulk load of the same rows, and for upsert to one statement
that takes the rows from a table which is there.
"""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from hearth_api import TopicPartition
from hearth_api.batch import Batch
from hearth_api.testing import MemorySinkTaskContext, MemorySourceTaskContext
from hearth_jdbc.jdbc_sink_task import JdbcSinkTask
from hearth_jdbc.jdbc_source_task import JdbcSourceTask
from tests import mariadb, postgresql
from tests.bench.bench import Bench
from tests.bench.result import Metric, Result
from tests.unit.plugins.jdbc.database import (
    Database,
    DuckDbDatabase,
    MariaDbDatabase,
    PostgreSqlDatabase,
    SqliteDatabase,
)

SHARE = 10
"""The number of rows of the cases of DataFrames is divided by this."""
_COLUMNS = "id BIGINT PRIMARY KEY NOT NULL, name VARCHAR(50), price DECIMAL(10,2), n INTEGER, x DOUBLE {}, moment {}"
_NAMES = "id, name, price, n, x, moment"
_UPDATES = "name={0}name{1}, price={0}price{1}, n={0}n{1}, x={0}x{1}, moment={0}moment{1}"
_GOALS = {"postgresql": (0.35, 0.35, 0.7), "mariadb": (0.25,) * 3, "sqlite": (0.25,) * 3, "duckdb": (0.25,) * 3}
_WAYS = ("read", "insert", "upsert")
_METRICS = tuple(
    Metric(f"{product}-{way}", f"of {product}'s own {way}", "higher", goal, absolute=True, format="{:.2f}")
    for product, goals in _GOALS.items()
    for way, goal in zip(_WAYS, goals)
)


def measure(bench: Bench) -> Result:
    """Measure every database once for each pair."""
    result = Result("database", "JDBC connectors", _METRICS)
    if "hearth" not in bench.sides:
        return result
    count = bench.rows // SHARE
    with ExitStack() as servers:
        postgres, maria = servers.enter_context(postgresql.serving()), servers.enter_context(mariadb.serving())
        for pair in range(1, bench.pairs + 1):
            found: dict[str, float] = {}
            for database in (
                PostgreSqlDatabase(postgres, f"bench_{pair}"), MariaDbDatabase(maria, f"bench_{pair}"),
                SqliteDatabase(bench.folder / bench.fresh("sqlite")),
                DuckDbDatabase(bench.folder / bench.fresh("duckdb")),
            ):  # fmt: skip
                found |= _measured(bench, database, count)
            result.add("hearth", **found)
    return result


def _measured(bench: Bench, database: Database, count: int) -> dict[str, float]:
    rows = _rows(count)
    double = "PRECISION" if database.product == "postgresql" else ""
    kind = "DATETIME(6)" if database.product == "mariadb" else "TIMESTAMP"
    for table in ("own", "people"):
        database.run(f"CREATE TABLE {table}({_COLUMNS.format(double, kind)})")
    own = _own_ways(database, bench.folder)
    insert, upsert, read = (own[way] for way in ("insert", "upsert", "read"))
    rates = {"own insert": count / insert(rows)}
    batches = list(_read(database, count))
    assert sum(map(len, batches)) == count
    rates["insert"] = count / _timed(lambda: _write(database, batches, "insert"))
    rates["own upsert"] = count / upsert(rows)
    rates["upsert"] = count / _timed(lambda: _write(database, batches, "upsert"))
    assert database.rows("SELECT COUNT(*) FROM people") == [(count,)]
    rates["own read"] = count / read(rows)
    rates["read"] = count / _timed(lambda: sum(map(len, _read(database, count))))
    bench.say(f"{database.product}: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()) + " rows/s")
    return {f"{database.product}-{way}": rates[way] / rates[f"own {way}"] for way in _WAYS}


def _rows(count: int) -> pa.Table:
    numbers = range(count)
    moments = pa.array([1_577_872_800_000_000 + each * 1_000_001 for each in numbers], pa.timestamp("us"))
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "name": pa.array([None if each % 10 == 0 else f"name of person {each}" for each in numbers]),
        "price": pa.array([f"{each % 1_000_000}.25" for each in numbers]),
        "n": pa.array([None if each % 7 == 0 else each for each in numbers], pa.int32()),
        "x": pa.array([each / 7 for each in numbers]),
        "moment": moments,
    })  # fmt: skip


def _timed(act: Callable[[], Any]) -> float:
    started = time.monotonic()
    act()
    return time.monotonic() - started


def _read(database: Database, count: int) -> Iterator[Batch]:
    config = {**database.settings(), "mode": "bulk", "topic.prefix": "", "poll.interval.ms": "1000000"}
    prefix = "" if database.schema is None else f'"{database.schema}".'
    task = JdbcSourceTask()
    task.initialize(MemorySourceTaskContext(config))
    task.start({**config, "tables": f'{prefix}"own"'})
    try:
        while count > 0:
            for batch in task.poll_batch() or ():
                count -= len(batch)
                yield batch
    finally:
        task.stop()


def _write(database: Database, batches: list[Batch], mode: str) -> None:
    config = {**database.settings(), "name": "bench", "table.name.format": "people", "insert.mode": mode}
    config |= {"pk.mode": "record_value", "pk.fields": "id"}
    task = JdbcSinkTask()
    task.initialize(MemorySinkTaskContext(config))
    task.start(config)
    task.open({TopicPartition("own", 0)})
    for batch in batches:
        task.put_batch([batch])
    task.stop()


Way = Callable[[pa.Table], float]
"""Does something with rows in a database's own way and returns its seconds."""


def _own_ways(database: Database, folder: Path) -> dict[str, Way]:
    into = f"INSERT INTO people({_NAMES}) SELECT {_NAMES} FROM own"
    if isinstance(database, MariaDbDatabase):
        upsert = f"{into} ON DUPLICATE KEY UPDATE {_UPDATES.format('VALUES(', ')')}"
    else:
        upsert = f"{into} WHERE true ON CONFLICT(id) DO UPDATE SET {_UPDATES.format('excluded.', '')}"

    def upserted(rows: pa.Table) -> float:
        return _timed(lambda: database.run(upsert))

    return {"upsert": upserted, **_OWN[database.product](database, folder)}


def _of_postgresql(database: Any, folder: Path) -> dict[str, Way]:
    copy_in = "COPY own FROM STDIN (FORMAT csv)"
    copy_out = "COPY (SELECT * FROM own) TO STDOUT (FORMAT binary)"

    def insert(rows: pa.Table) -> float:
        target = io.BytesIO()
        csv.write_csv(rows, target, csv.WriteOptions(include_header=False))

        def load() -> None:
            with database.connect() as connection, connection.cursor().copy(copy_in) as copy:
                copy.write(target.getvalue())

        return _timed(load)

    def read(rows: pa.Table) -> float:
        def copied() -> None:
            with database.connect() as connection, connection.cursor().copy(copy_out) as copy:
                for _ in copy:
                    pass

        return _timed(copied)

    return {"insert": insert, "read": read}


def _of_mariadb(database: Any, folder: Path) -> dict[str, Way]:
    client = ["mariadb", "--no-defaults", f"--socket={database.server.socket}", "-uroot", database.name, "-q"]

    def insert(rows: pa.Table) -> float:
        path = folder / "rows.csv"
        filled = [column.cast(pa.string()).fill_null("\\N") for column in rows.columns]
        table = pa.table(filled, names=rows.column_names)
        csv.write_csv(table, path, csv.WriteOptions(include_header=False, quoting_style="none"))
        load = f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE own FIELDS TERMINATED BY ','"
        return _timed(lambda: subprocess.run([*client, "--local-infile=1", "-e", load], check=True))

    def read(rows: pa.Table) -> float:
        command = [*client, "-e", "SELECT * FROM own"]
        return _timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    return {"insert": insert, "read": read}


def _of_sqlite(database: Database, folder: Path) -> dict[str, Way]:
    def insert(rows: pa.Table) -> float:
        moments = [str(each) for each in rows["moment"].to_pylist()]
        cells = list(zip(*(rows[name].to_pylist() for name in rows.column_names[:-1]), moments))
        return _timed(lambda: database.insert("own", cells))

    return {"insert": insert, "read": lambda rows: _timed(lambda: database.rows("SELECT * FROM own"))}


def _of_duckdb(database: Any, folder: Path) -> dict[str, Way]:
    def insert(rows: pa.Table) -> float:
        database.connection.register("rows", rows)
        return _timed(lambda: database.run("INSERT INTO own SELECT * FROM rows"))

    def read(rows: pa.Table) -> float:
        return _timed(lambda: database.connection.sql("SELECT * FROM own").to_arrow_table())

    return {"insert": insert, "read": read}


_OWN: dict[str, Callable[[Any, Path], dict[str, Way]]] = {
    "postgresql": _of_postgresql,
    "mariadb": _of_mariadb,
    "sqlite": _of_sqlite,
    "duckdb": _of_duckdb,
}

"""Case jar-changes: Debezium's MariaDB connector, its snapshot of a table and then its stream of changes."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.bench import Bench, running
from tests.bench.jar import unpacked
from tests.bench.meter import Meter
from tests.bench.result import Metric, Result
from tests.bench.throughput import Liveness, follow
from tests.mariadb import PASSWORD, USER, MariaDb, serving
from tests.peer.worker import Worker

_GOAL = 1.3
_SERVER = 184_060
_TABLE = """
create database shop; use shop;
create table orders (
    id int primary key, name varchar(50) not null, price decimal(10, 2), placed datetime not null, note varchar(100)
);
insert into orders
    select seq, concat('customer ', seq), seq / 100, '2026-01-01', repeat('n', 40) from seq_1_to_{rows};
"""
_CHANGES = "update shop.orders set price = price + 1 where id <= {changes};"


def measure(bench: Bench) -> Result:
    """Run a new connector on a table of a third of the records; then change a fifth of its rows."""
    rows = bench.records // 3
    changes = rows // 5
    parts = (("snapshot", f"snapshot of {rows:,} rows"), ("stream", f"stream of {changes:,} changes"))
    metrics = [metric for name, title in parts for metric in _metrics(name, title)]
    result = Result("jar-changes", "Debezium MariaDB, Json with schemas", metrics)
    settings = {"plugin.path": str(unpacked(bench, "debezium-connector-mariadb"))}
    with serving() as database:
        database.run(_TABLE.format(rows=rows))
        for pair, side in bench.runs():
            values = _run(bench, bench.worker(side, settings, strings=False), database, rows, changes)
            result.add(side, **values)
            bench.say(f"jar-changes {pair}/{bench.pairs} {side}: " + ", ".join(f"{v:,.1f}" for v in values.values()))
    return result


def _metrics(name: str, title: str) -> tuple[Metric, Metric]:
    return (
        Metric(f"{name} rate", f"{title}, records/s", goal=_GOAL, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{title}, CPU s per million", "lower", goal=1.0, format="{:.1f}"),
    )


def _run(bench: Bench, worker: Worker, database: MariaDb, rows: int, changes: int) -> dict[str, float]:
    """Run one connector from its start to the last change."""
    name = bench.fresh("changes")
    topic = f"{name}.shop.orders"
    bench.topics.create(topic)
    try:
        with running(worker) as meter, bench.topics.watched(topic) as count:
            answer = worker.rest.create(_connector(bench, database, name))
            assert answer.status == 201, answer.text
            is_alive = Liveness(worker, name)
            values = _phase("snapshot", count, rows, meter, is_alive)
            database.run(_CHANGES.format(changes=changes))
            return values | _phase("stream", lambda: count() - rows, changes, meter, is_alive)
    finally:
        bench.topics.delete([topic, f"{name}-history"])


def _phase(
    name: str, count: Callable[[], float], wanted: int, meter: Meter, is_alive: Callable[[], bool]
) -> dict[str, float]:
    costs: list[float] = []
    progress = follow(count, wanted, is_alive, lambda: costs.append(meter.refreshed().cpu))
    cpu = meter.refreshed().cpu - costs[0]
    return {f"{name} rate": progress.rate, f"{name} cpu": cpu / (progress.count - progress.first_count) * 1e6}


def _connector(bench: Bench, database: MariaDb, name: str) -> dict[str, str]:
    return {
        "name": name,
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.server.id": str(_SERVER),
        "database.ssl.mode": "disable",
        "database.include.list": "shop",
        "topic.prefix": name,
        "schema.history.internal.kafka.bootstrap.servers": bench.broker.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"{name}-history",
    }

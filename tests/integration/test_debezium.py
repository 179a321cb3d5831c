"""Debezium's bundle as it is published reads the changes of a MariaDB server, with its own router."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from tests.mariadb import PASSWORD, USER, MariaDb, is_installed, serving
from tests.peer.hearth_connect import HearthConnect
from tests.peer.plugin_list import place
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

BOARDS = json.loads(Path(__file__).with_name("dashboards.json").read_text())
RENAMED = {"debezium_metrics_NumberOfEventsSkipped", "debezium_metrics_RowsScanned"}
"""An attribute that Debezium has renamed since, and one that is a table, for which the protocol has no form."""
pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_installed(), reason="this machine has no MariaDB")]

JSON = "org.apache.kafka.connect.json.JsonConverter"
TABLE = """
create database shop; use shop;
create table orders_1 (id int primary key auto_increment, name varchar(50), price decimal(10, 2));
create table orders_2 like orders_1;
insert into orders_1 (name, price) values ('a', 1.50), ('b', null);
insert into orders_2 (name, price) values ('c', 3.25);
"""
CHANGES = """
use shop;
insert into orders_2 (name, price) values ('d', 4);
update orders_1 set price = 9 where id = 1;
delete from orders_1 where id = 2;
"""


@pytest.fixture
def database() -> Iterator[MariaDb]:
    """Serve two tables of one shape."""
    with serving() as found:
        found.run(TABLE)
        yield found


def connector(database: MariaDb, broker: KafkaBroker) -> dict[str, str]:
    """Return a configuration as Debezium's guide has it; the password comes from a config provider."""
    return {
        "name": "shop",
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "tasks.max": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": "${secret:password}",
        "database.server.id": "184054",
        "database.ssl.mode": "disable",
        "database.include.list": "shop",
        "topic.prefix": "live",
        "schema.history.internal.kafka.bootstrap.servers": broker.bootstrap_servers,
        "schema.history.internal.kafka.topic": "shop-history",
        "transforms": "route",
        "transforms.route.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.route.topic.regex": r"(.*)orders_\d",
        "transforms.route.topic.replacement": "$1orders",
        "key.converter": JSON,
        "value.converter": JSON,
        "value.converter.schemas.enable": "true",
    }


def unmeasured(worker: HearthConnect) -> list[str]:
    """Return the series that Debezium's dashboard queries and the worker does not have."""
    text = worker.rest.call("GET", "/metrics?names=debezium").text
    found = {line.partition("{")[0] for line in text.splitlines()}
    (board,) = (each for each in BOARDS if each["path"] == "monitoring/debezium-grafana/debezium-dashboard.json")
    wanted = {each.partition("{")[0] for each in board["series"] if each.startswith("debezium_")}
    return sorted(wanted - found - RENAMED)


def is_measured(worker: HearthConnect) -> bool:
    """Return whether the worker has all series of that dashboard."""
    return not unmeasured(worker)


def test_changes_of_tables_become_records(
    database: MariaDb, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot comes first, then each change with its tombstone; a restarted worker continues after them."""
    monkeypatch.setenv("password", PASSWORD)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    place("debezium-connector-mariadb", plugins)
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    settings = {"plugin.path": str(plugins), "offset.flush.interval.ms": "500"}
    settings |= {"config.providers": "secret", "config.providers.secret.class": provider}
    topics, config = Topics(broker.bootstrap_servers), connector(database, broker)

    def changes() -> list[Any]:
        found = []
        for record in topics.read("live.shop.orders"):
            value = None if record.value is None else json.loads(record.value)["payload"]
            key = json.loads(record.key or b"")["payload"]
            found.append((key["id"], value and (value["op"], value["after"] and value["after"]["name"])))
        return found

    def arrived(count: int) -> bool:
        return "live.shop.orders" in topics.names() and len(changes()) >= count

    snapshot = [(1, ("r", "a")), (2, ("r", "b")), (1, ("r", "c"))]
    later = [(2, ("c", "d")), (1, ("u", "a")), (2, ("d", None)), (2, None)]
    for wanted, statements in ((snapshot, ""), ([*snapshot, *later], CHANGES)):
        worker = HearthConnect(tmp_path, broker.bootstrap_servers, settings, [])
        worker.start()
        try:
            assert worker.rest.create(config).status == 201
            database.run(statements)
            assert eventually(partial(arrived, len(wanted)), TIMEOUT), worker.last_words()
            assert changes() == wanted
            status = json.loads(worker.rest.call("GET", "/connectors/shop/status").text)
            assert status["tasks"][0]["version"] == "3.5.0.Final"
            assert PASSWORD not in worker.rest.call("GET", "/connectors/shop").text
            assert eventually(partial(is_measured, worker), TIMEOUT), unmeasured(worker)
        finally:
            worker.stop()

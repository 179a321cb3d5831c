"""Counters in a MariaDB server, whose changes Debezium writes to a topic: a missing number is a lost change."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from hearth.broker import KafkaBroker
from tests.mariadb import PASSWORD, USER, MariaDb
from tests.peer.topic import Topics

KEYS = 8
TOPIC = "ledger.shop.counters"
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
TABLE = f"""
create database shop; use shop;
create table counters (id int primary key, n int not null);
insert into counters values {", ".join(f"({key}, 0)" for key in range(KEYS))};
"""


def connector(database: MariaDb, broker: KafkaBroker) -> dict[str, str]:
    """Return a configuration whose records have the number of a counter after each change."""
    return {
        "name": "ledger",
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "tasks.max": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.server.id": "184055",
        "database.ssl.mode": "disable",
        "database.include.list": "shop",
        "poll.interval.ms": "20",
        "topic.prefix": "ledger",
        "schema.history.internal.kafka.bootstrap.servers": broker.bootstrap_servers,
        "schema.history.internal.kafka.topic": "ledger-history",
        "transforms": "new",
        "transforms.new.type": "io.debezium.transforms.ExtractNewRecordState",
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }


@contextmanager
def counting(database: MariaDb) -> Iterator[None]:
    """Count up all counters, one after the other, each in a transaction of its own, until the block ends."""
    over = threading.Event()
    increments = ";".join(f"update shop.counters set n = n + 1 where id = {key}" for key in range(KEYS))

    def count() -> None:
        while not over.wait(0.02):
            database.run(increments)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def arrived(topics: Topics) -> int:
    """Return how many records there are."""
    return topics.count(TOPIC) if TOPIC in topics.names() else 0


def numbers(topics: Topics) -> dict[int, list[int]]:
    """Return the numbers of each counter in the order of the topic."""
    found: dict[int, list[int]] = {key: [] for key in range(KEYS)}
    for record in topics.read(TOPIC):
        value = json.loads(record.value or b"")
        found[value["id"]].append(value["n"])
    return found


def last_numbers(database: MariaDb) -> Mapping[int, int]:
    """Return the counters as they are in the server."""
    rows = database.run("select id, n from shop.counters").split("\n")[1:-1]
    return {int(key): int(number) for key, number in (row.split("\t") for row in rows)}


def repeats(numbers: Sequence[int]) -> int:
    """Return how many numbers come again; fail if one is missing or out of order."""
    most, count = -1, 0
    for before, number in zip([-1, *numbers], numbers):
        assert number <= most + 1, f"{number} follows {before}, and {most + 1} is missing"
        assert number == before + 1 or number <= most, f"{number} follows {before}"
        count += number <= most
        most = max(most, number)
    return count

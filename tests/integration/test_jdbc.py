"""The JDBC bundle in a worker: rows of PostgreSQL to a topic, and to a table of another product, as they come."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.conftest import Host
from tests.integration.installed_bundle import installed
from tests.peer.topic import Record, Topics
from tests.postgresql import PASSWORD, USER, PostgreSql, is_installed, serving
from tests.timeouts import TIMEOUT, eventually

JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
ROWS = "INSERT INTO orders(name, price) VALUES ('a', 1.50), ('b', NULL), ('c', 3.25)"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSql]:
    """Provide a server with a table of orders."""
    if not is_installed():
        pytest.skip("no PostgreSQL on this machine: apt install postgresql")
    with serving() as running:
        with connect(running) as connection:
            connection.execute("CREATE TABLE orders(id BIGSERIAL PRIMARY KEY, name TEXT, price NUMERIC(10,2))")
            connection.execute(ROWS)
        yield running


@pytest.fixture(scope="module", autouse=True)
def _bundle(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the bundle with its drivers."""
    with installed(host, tmp_path_factory.mktemp("bundles"), "jdbc", "JdbcSourceConnector"):
        yield


def connect(server: PostgreSql) -> psycopg.Connection[Any]:
    """Return a connection as its administrator."""
    where = {"host": "127.0.0.1", "dbname": "postgres", "user": USER, "password": PASSWORD}
    return psycopg.connect(**where, port=server.port, autocommit=True)  # type: ignore[arg-type]


def source(host: Host, server: PostgreSql, name: str) -> dict[str, str]:
    """Return the configuration of a source; the password comes from a config provider."""
    (host.secrets / "database").write_text(PASSWORD)
    return {
        "name": name,
        "connector.class": "JdbcSource",
        "connection.url": f"jdbc:postgresql://127.0.0.1:{server.port}/postgres",
        "connection.user": USER,
        "connection.password": f"${{dir:{host.secrets}:database}}",
        "mode": "incrementing",
        "table.whitelist": "orders",
        "topic.prefix": f"{name}-",
        "poll.interval.ms": "50",
        **JSON,
    }


def sink(name: str, path: Path, **more: str) -> dict[str, str]:
    """Return the configuration of a sink that keeps the last row of each number in SQLite."""
    return {
        "name": f"{name}-sink",
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": f"{name}-orders",
        "connection.url": f"jdbc:sqlite:{path}",
        "table.name.format": "orders",
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "auto.create": "true",
        **JSON,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def written(path: Path) -> list[tuple[Any, ...]]:
    """Return the rows of the sink's table."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        try:
            return connection.execute("SELECT id, name, price FROM orders ORDER BY id").fetchall()
        except sqlite3.OperationalError:  # not created yet
            return []


def test_rows_flow_from_one_database_to_another(
    host: Host, topics: Topics, server: PostgreSql, name: str, tmp_path: Path
) -> None:
    """The offsets are Confluent's; a restart goes on after them; no log has the password."""
    path = tmp_path / "copy"
    topics.create(f"{name}-orders")
    host.run(source(host, server, name))
    host.run(sink(name, path))
    assert eventually(lambda: len(written(path)) >= 3, TIMEOUT), host.last_words()
    assert written(path) == [(1, "a", 1.5), (2, "b", None), (3, "c", 3.25)]
    offsets = f"/connectors/{name}/offsets"
    expected = {"partition": {"protocol": "1", "table": "public.orders"}, "offset": {"incrementing": 3}}
    assert eventually(lambda: host.rest.call("GET", offsets).json["offsets"] == [expected], TIMEOUT)
    host.rest.call("POST", f"/connectors/{name}/restart?includeTasks=true")
    with connect(server) as connection:
        connection.execute("INSERT INTO orders(name, price) VALUES ('d', 4)")
    assert eventually(lambda: len(written(path)) >= 4, TIMEOUT), host.last_words()
    first, *_, last = [json.loads(each.value or b"") for each in topics.read(f"{name}-orders")]
    assert first["schema"]["name"] == "orders"
    assert [field["type"] for field in first["schema"]["fields"]] == ["int64", "string", "bytes"]
    assert last["payload"]["id"] == 4
    assert topics.count(f"{name}-orders") == 4
    assert PASSWORD not in host.last_words()


def test_a_record_that_the_database_refuses_is_a_dead_letter(
    host: Host, topics: Topics, name: str, tmp_path: Path
) -> None:
    """With the words of the database in its headers; its neighbours are written."""
    path, letters = tmp_path / "copy", f"{name}-letters"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'bad'), price)")
    for topic in (f"{name}-orders", letters):
        topics.create(topic)
    fields = [{"field": "id", "type": "int64"}, {"field": "name", "type": "string"}]
    schema = {"type": "struct", "fields": fields, "optional": False}
    payloads = [{"id": number, "name": word} for number, word in enumerate(("good", "bad", "better"))]
    texts = [json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads]
    topics.produce(f"{name}-orders", [Record(None, text) for text in texts])
    tolerance = {"errors_tolerance": "all", "errors_deadletterqueue_topic_name": letters}
    replication = {"errors_deadletterqueue_topic_replication_factor": "1"}
    headers = {"errors_deadletterqueue_context_headers_enable": "true"}
    host.run(sink(name, path, **tolerance, **replication, **headers))
    assert eventually(lambda: len(written(path)) >= 2 and topics.count(letters) >= 1, TIMEOUT), host.last_words()
    assert [row[1] for row in written(path)] == ["good", "better"]
    (letter,) = topics.read(letters)
    assert letter.value == texts[1]
    assert b"CHECK constraint failed" in (dict(letter.headers)["__connect.errors.exception.message"] or b"")


def test_the_offsets_in_the_database_win_over_those_of_the_group(
    host: Host, topics: Topics, name: str, tmp_path: Path
) -> None:
    """exactly.once.sink=table: the group is deleted while the sink is stopped, and no row comes twice."""
    path, topic = tmp_path / "copy", f"{name}-orders"
    topics.create(topic)
    fields = [
        {"field": "id", "type": "int64"},
        {"field": "name", "type": "string"},
        {"field": "price", "type": "string"},
    ]
    schema = {"type": "struct", "fields": fields, "optional": False}

    def produce(*numbers: int) -> None:
        payloads = [{"id": number, "name": "n", "price": "1"} for number in numbers]
        texts = [json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads]
        topics.produce(topic, [Record(None, text) for text in texts])

    produce(1, 2, 3)
    config = sink(name, path, exactly_once_sink="table", insert_mode="insert", pk_mode="none")
    host.run({key: value for key, value in config.items() if key != "pk.fields"})
    assert eventually(lambda: len(written(path)) >= 3, TIMEOUT), host.last_words()
    assert host.rest.call("PUT", f"/connectors/{name}-sink/stop").status == 204
    tasks = f"/connectors/{name}-sink/tasks"
    assert eventually(lambda: host.rest.call("GET", tasks).json == [], TIMEOUT)

    def is_forgotten() -> bool:
        topics.delete_groups([f"connect-{name}-sink"])
        return not host.rest.call("GET", f"/connectors/{name}-sink/offsets").json["offsets"]

    assert eventually(is_forgotten, TIMEOUT)
    assert host.rest.call("PUT", f"/connectors/{name}-sink/resume").status == 202
    produce(4)
    assert eventually(lambda: len(written(path)) >= 4, TIMEOUT), host.last_words()
    assert [row[0] for row in written(path)] == [1, 2, 3, 4]


def test_validation_says_why_the_database_does_not_answer(host: Host, server: PostgreSql, name: str) -> None:
    """Within seconds, at the key of the address."""
    config = {**source(host, server, name), "connection.password": "wrong"}
    path = "/connector-plugins/JdbcSource/config/validate"
    answer = host.rest.call("PUT", path, config).json
    wrong = {each["value"]["name"]: each["value"]["errors"] for each in answer["configs"] if each["value"]["errors"]}
    assert list(wrong) == ["connection.url"]
    assert "password authentication failed" in wrong["connection.url"][0]

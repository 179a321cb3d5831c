"""What the source's validation and its keys refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.foundation.properties import parse
from hearth_api import ConnectError
from hearth_api.testing import MemoryConnectorContext
from hearth_jdbc.connection_setting import log_ignored, zone_of
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from hearth_jdbc.jdbc_source import JdbcSourceConnector
from hearth_jdbc.source_setting import WITHOUT_EFFECT, JdbcSourceConfig
from hearth_jdbc.table_list import tables_of
from tests.page import BLOCKS, ROOT
from tests.unit.plugins.jdbc.database import Database

IDS = {"mode": "incrementing", "incrementing.column.name": "id"}


def wrong(database: Database, **settings: str) -> dict[str, list[str]]:
    """Return the errors by key."""
    given = {**database.settings(), **{name.replace("_", "."): value for name, value in settings.items()}}
    found = JdbcSourceConnector().validate(given)
    return {value.name: value.error_messages for value in found.values if value.error_messages}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "mode"),
        ({"mode": "timestamp"}, "timestamp.column.name"),
        ({"mode": "incrementing", "query": "SELECT 1", "topic.prefix": "t"}, "incrementing.column.name"),
        ({**IDS, "query": "SELECT 1"}, "topic.prefix"),
        ({"mode": "bulk", "query": "SELECT 1", "query.masked": "SELECT 1"}, "query"),
        ({"mode": "bulk", "query": "SELECT 1", "table.whitelist": "a"}, "query"),
        ({"mode": "bulk", "table.whitelist": "a", "table.blacklist": "b"}, "table.blacklist"),
        ({"mode": "bulk", "table.exclude.list": "a"}, "table.exclude.list"),
        ({"mode": "bulk", "table.include.list": "("}, "table.include.list"),
        ({"mode": "bulk", "topic.prefix": "a b"}, "topic.prefix"),
        ({"mode": "bulk", "topic.prefix": "a" * 250}, "topic.prefix"),
        ({"mode": "bulk", "timestamp.granularity": "seconds"}, "timestamp.granularity"),
        ({"mode": "bulk", "numeric.mapping": "exact"}, "numeric.mapping"),
        ({"mode": "bulk", "incrementing.column.mapping": "a"}, "incrementing.column.mapping"),
        ({"mode": "bulk", "timestamp.columns.mapping": "a:b"}, "timestamp.columns.mapping"),
        ({**IDS, "bulk.split": "true"}, "bulk.split"),
        ({"mode": "bulk", "table.notifications": "trigger"}, "table.notifications"),
        ({"mode": "bulk", "transaction.isolation.mode": "SQL_SERVER_SNAPSHOT"}, "transaction.isolation.mode"),
    ],
)
def test_validation_names_the_key_that_is_wrong(database: Database, settings: dict[str, str], key: str) -> None:
    """And nothing else."""
    assert list(wrong(database, **settings)) == [key]


def test_old_and_new_keys_exclude_one_another(database: Database) -> None:
    """Each that is set has the error."""
    both = {"mode": "bulk", "table.whitelist": "a", "timestamp.columns.mapping": "a:[b]"}
    assert sorted(wrong(database, **both)) == ["table.whitelist", "timestamp.columns.mapping"]


def test_a_configuration_of_the_wild_is_right(database: Database) -> None:
    """Keys without effect are known."""
    given = {"mode": "bulk", "poll.linger.ms": "100", "max.buffer.size": "10", "numeric.mapping": "best_fit"}
    assert wrong(database, **given, topic_prefix="a-") == {}


def test_a_database_that_is_not_there_is_an_error_of_its_url(tmp_path: Path) -> None:
    """The message has the words of the driver."""
    missing = {"connection.url": f"jdbc:sqlite:{tmp_path}/none/a.db", "mode": "bulk"}
    found = {value.name: value.error_messages for value in JdbcSourceConnector().validate(missing).values}
    words = f"cannot connect to jdbc:sqlite:{tmp_path}/none/a.db: unable to open database file"
    assert found["connection.url"] == [words]
    connector = JdbcSourceConnector()
    connector.initialize(MemoryConnectorContext())
    with pytest.raises(ConnectError, match="cannot list the tables of jdbc:sqlite"):
        connector.start(missing)


def test_the_tables_of_the_database_are_suggested(database: Database) -> None:
    """None where the database does not answer."""
    database.run("CREATE TABLE people(id INTEGER)", "CREATE TABLE orders(id INTEGER)")
    prefix = "" if database.schema is None else f"{database.schema}."
    given = {**database.settings(), "mode": "bulk"}
    found = JdbcSourceConnector().validate(given)
    assert found["table.whitelist"].recommended_values == [f"{prefix}orders", f"{prefix}people"]
    found = JdbcSourceConnector().validate({**given, "connection.url": "jdbc:sqlite:/none/a.db"})
    assert found["table.blacklist"].recommended_values == []


def test_a_dialect_name_of_another_spelling_has_a_hint(database: Database) -> None:
    """The nearest one."""
    message = wrong(database, **{"mode": "bulk", "connection.url": "jdbc:postgres://host/x"})["connection.url"][0]
    assert "did you mean 'postgresql'?" in message


def test_settings_show_no_password() -> None:
    """Nor does the masked query."""
    settings = JdbcSourceConfig({"connection.password": "secret", "query.masked": "secret", "mode": "bulk"})
    assert "secret" not in repr(settings)
    assert settings.whole_query == "secret"


def test_keys_without_effect_are_logged_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    """Once each, if they are set."""
    with caplog.at_level("INFO"):
        log_ignored({"poll.linger.ms": "1"}, WITHOUT_EFFECT)
    assert [record.getMessage() for record in caplog.records] == [
        "poll.linger.ms has no effect: a poll returns the rows of one query at once"
    ]


def test_names_of_tables_survive_the_configuration_of_a_task() -> None:
    """With quotes, points and commas."""
    tables = tables_of('"a.b"."c,""d""","e"')
    assert [(table.schema, table.name) for table in tables] == [("a.b", 'c,"d"'), (None, "e")]


def test_offsets_are_altered_only_to_whole_numbers() -> None:
    """As Confluent's members."""
    connector, partition = JdbcSourceConnector(), {"protocol": "1", "table": "t"}
    assert connector.alter_offsets({}, [(partition, {"incrementing": 5}), (partition, None)])
    for bad in ({"incrementing": "5"}, {"id": 5}):
        with pytest.raises(ConnectError, match="offset member"):
            connector.alter_offsets({}, [(partition, bad)])
    with pytest.raises(ConnectError, match="neither 'table' nor 'query'"):
        connector.alter_offsets({}, [({"file": "a"}, {"incrementing": 5})])


@pytest.mark.parametrize("text", [each.text for each in BLOCKS if "connector.class=Jdbc" in each.text])
def test_a_configuration_of_the_guide_is_valid_and_names_known_keys(text: str) -> None:
    """But for the database, which is not there."""
    config = parse(text.encode())
    connector = {"JdbcSource": JdbcSourceConnector, "JdbcSink": JdbcSinkConnector}[config["connector.class"]]()
    wrong = {value.name for value in connector.validate(config).values if value.error_messages}
    assert wrong <= {"connection.url"}
    assert config.keys() - {"name", "connector.class", "topics"} <= set(connector.config().names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("Z", "UTC"),
        ("GMT", "UTC"),
        ("+02:00", "Etc/GMT-2"),
        ("UTC-5", "Etc/GMT+5"),
    ],
)
def test_zones_as_java_names_them(text: str, name: str) -> None:
    """With offsets of whole hours."""
    settings = JdbcSourceConfig({"db.timezone": text, "mode": "bulk"})
    assert zone_of(text).key == settings.field_rules().zone == name


def test_the_definitions_of_the_keys_load_neither_arrow_nor_a_driver() -> None:
    """The process of connectors stays small."""
    code = "import sys; from hearth_jdbc import jdbc_source, jdbc_sink\n"
    code += "jdbc_source.JdbcSourceConnector().config(); jdbc_sink.JdbcSinkConnector().config()\n"
    code += "print(*sorted({'numpy', 'pyarrow', 'psycopg', 'sqlite3'} & set(sys.modules)))"
    path = os.pathsep.join(str(ROOT / each) for each in ("host", "plugins/jdbc/src"))
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr

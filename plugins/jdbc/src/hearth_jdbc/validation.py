"""Checks across keys, and whether the database can be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from hearth_api import Config, ConfigError, ConnectError
from hearth_jdbc.connection_setting import URL, ConnectionSettings
from hearth_jdbc.dialect.interface import Dialect
from hearth_jdbc.source_setting import BULK, JdbcSourceConfig

TIMEOUT = 5.0
"""Seconds that validation gives to the database."""
_LISTS = ("table.whitelist", "table.blacklist", "table.include.list", "table.exclude.list")
_OLD = ("table.whitelist", "table.blacklist", "timestamp.column.name", "incrementing.column.name")
_NEW = ("table.include.list", "table.exclude.list", "timestamp.columns.mapping", "incrementing.column.mapping")

S = TypeVar("S", bound=ConnectionSettings)


def validated(
    config: Config, kind: type[S], props: Mapping[str, str], check: Callable[[S], Mapping[str, str]]
) -> Config:
    """Add the faults that `check` finds across keys, and that of a database that does not answer.

    The database is tried only if everything else is right.
    """
    if any(value.error_messages for value in config.values):
        return config
    settings = kind(props)
    faults = dict(check(settings)) or connection_fault(settings)
    for name, fault in faults.items():
        config[name].add_error_message(fault)
    return config


def connection_fault(settings: ConnectionSettings) -> dict[str, str]:
    """Return why the database does not answer, by key; empty if it does."""
    try:
        is_source = isinstance(settings, JdbcSourceConfig)
        dialect: Dialect = settings.source_dialect() if is_source else settings.sink_dialect()
    except ImportError as error:
        return {URL: f"the driver of this database is not in the bundle: {error}"}
    except ConfigError as error:
        return {URL: _with_hint(error)}
    try:
        connection = dialect.connect(TIMEOUT)
    except (dialect.Error, ConnectError) as error:
        return {URL: f"cannot connect to {dialect.url}: {' '.join(str(error).split())}"}
    dialect.close(connection)
    return {}


def source_faults(settings: JdbcSourceConfig) -> dict[str, str]:
    """Return what is wrong across the keys of a source, by key."""
    given = {name for name in (*_LISTS, *_OLD, *_NEW) if _is_set(settings, name)}
    masked = settings.query_masked
    if settings.query and masked is not None and masked.value:
        return {"query": "query and query.masked exclude one another"}
    if settings.whole_query and not given.isdisjoint(_LISTS):
        return {"query": "query excludes lists of tables: remove one of them"}
    if not given.isdisjoint(_OLD) and not given.isdisjoint(_NEW):
        text = f"{', '.join(_OLD)} exclude {', '.join(_NEW)}"
        return dict.fromkeys((name for name in given), text)
    if {"table.whitelist", "table.blacklist"} <= given:
        return {"table.blacklist": "table.whitelist and table.blacklist exclude one another"}
    if "table.exclude.list" in given and "table.include.list" not in given:
        return {"table.exclude.list": "takes tables out of table.include.list, which is missing"}
    return _mode_faults(settings, given)


def _mode_faults(settings: JdbcSourceConfig, given: set[str]) -> dict[str, str]:
    if not settings.mode:
        return {"mode": "is required: bulk, incrementing, timestamp or timestamp+incrementing"}
    if settings.uses_timestamp and given.isdisjoint({"timestamp.column.name", "timestamp.columns.mapping"}):
        return {"timestamp.column.name": f"is required for mode={settings.mode}"}
    number_keys = {"incrementing.column.name", "incrementing.column.mapping"}
    if settings.uses_number and settings.whole_query and given.isdisjoint(number_keys):
        return {"incrementing.column.name": "is required for a query, which has no auto-increment column"}
    if settings.transaction_isolation_mode.lower() == "sql_server_snapshot":
        return {"transaction.isolation.mode": "SQL_SERVER_SNAPSHOT is for SQL Server only"}
    if settings.notifies and (settings.mode == BULK or settings.whole_query):
        return {"table.notifications": "is for tables, in other modes than bulk"}
    if settings.notifies and settings.url.product != "postgresql":
        return {"table.notifications": f"trigger is for PostgreSQL, not for {settings.url.product}"}
    if settings.bulk_split and (settings.mode != BULK or settings.whole_query):
        return {"bulk.split": "is for tables in mode=bulk"}
    if settings.whole_query and settings.mode != BULK and not settings.topic_prefix:
        return {"topic.prefix": "is the topic of the query, and is missing"}
    return {}


def _is_set(settings: ConnectionSettings, name: str) -> bool:
    value = settings.parsed[name]
    return any(each.strip() for each in value) if isinstance(value, list) else bool(value)


def _with_hint(error: ConnectError) -> str:
    return f"{error}: {error.hint}" if error.hint else str(error)

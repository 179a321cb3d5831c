"""The keys that both connectors have: how to reach the database."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from hearth_api import (
    ConfigError,
    ConfigType,
    Importance,
    Lambda,
    Password,
    Range,
    Settings,
    ValidString,
    Width,
    key,
)
from hearth_jdbc.dialect import NAMES, dialect_class
from hearth_jdbc.dialect.sink_dialect import SinkDialect
from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.jdbc_url import JdbcUrl

DATABASE = "Database"
URL = "connection.url"
CREDENTIALS = "jdbc.credentials.provider.class"
_BUILT_IN = "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider"

_OFFSET = re.compile(r"(?=.)(?:UTC|GMT|UT|Z)?(?:([+-])(\d{1,2})(?::?00)?)?")

_log = logging.getLogger(__name__)


def one_of(*names: str) -> Lambda:
    """Return a check that a text is one of some names, in any letters."""

    def check(name: str, value: Any) -> None:
        if value is not None and str(value).lower() not in names:
            raise ConfigError(name, value, f"Must be one of {', '.join(names)}")

    return Lambda(check, f"one of {', '.join(names)}")


def _check_zone(name: str, value: Any) -> None:
    try:
        zone_of(str(value))
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(name, value, "Invalid time zone identifier") from error


def zone_of(text: str) -> ZoneInfo:
    """Return a time zone by its name, or by an offset of whole hours: `+02:00`, `UTC-5`, `Z`."""
    offset = _OFFSET.fullmatch(text)
    if offset is None:
        return ZoneInfo(text)
    hours = int(offset[2] or 0)
    return ZoneInfo(f"Etc/GMT{'-' if offset[1] == '+' else '+'}{hours}" if hours else "UTC")


def _check_provider(name: str, value: Any) -> None:
    if value not in (None, "", _BUILT_IN):
        raise ConfigError(
            name, value, "a credentials provider is a Java class, which cannot run here: use a config provider"
        )


ZONE_CHECK = Lambda(_check_zone, "a time zone identifier")


class ConnectionSettings(Settings):
    """How to reach the database."""

    connection_url: str = key(
        URL, default="", importance=Importance.HIGH, group=DATABASE, order_in_group=1, width=Width.LONG,
        display_name="JDBC URL",
        doc="Address of the database, such as jdbc:postgresql://host:5432/shop or jdbc:sqlite:/data/shop.db."
        " The word after jdbc: selects the dialect.",
    )  # fmt: skip
    connection_user: str | None = key(
        "connection.user", default=None, importance=Importance.HIGH, group=DATABASE, order_in_group=2,
        width=Width.MEDIUM, display_name="JDBC User", doc="User of the database.",
    )  # fmt: skip
    connection_password: Password | None = key(
        "connection.password", default=None, importance=Importance.HIGH, group=DATABASE, order_in_group=3,
        width=Width.MEDIUM, display_name="JDBC Password", doc="Password of the user.",
    )  # fmt: skip
    credentials_provider: str | None = key(
        CREDENTIALS, default=_BUILT_IN, check=Lambda(_check_provider, "the built-in class"), importance=Importance.LOW,
        group=DATABASE, order_in_group=4, width=Width.LONG, display_name="JDBC Credentials Provider Class",
        doc="Only the built-in provider, which takes connection.user and connection.password. Use config providers"
        " for credentials from elsewhere.",
    )  # fmt: skip
    connection_attempts: int = key(
        "connection.attempts", default=3, check=Range.at_least(1), importance=Importance.LOW, group=DATABASE,
        order_in_group=5, width=Width.SHORT, display_name="JDBC connection attempts",
        doc="Attempts to open a connection before the task fails.",
    )  # fmt: skip
    connection_backoff_ms: int = key(
        "connection.backoff.ms", default=10_000, importance=Importance.LOW, group=DATABASE, order_in_group=6,
        type=ConfigType.LONG, width=Width.SHORT, display_name="JDBC connection backoff in milliseconds",
        doc="Pause between these attempts.",
    )  # fmt: skip
    dialect_name: str = key(
        "dialect.name", default="", check=ValidString("", *NAMES), importance=Importance.LOW, group=DATABASE,
        order_in_group=15, width=Width.LONG, display_name="Database Dialect",
        doc="Dialect of the database. Empty: by connection.url.",
    )  # fmt: skip
    db_timezone: str = key(
        "db.timezone", default="UTC", check=ZONE_CHECK, group=DATABASE, order_in_group=17, width=Width.MEDIUM,
        display_name="DB time zone", doc="Time zone of timestamps in the database that have none.",
    )  # fmt: skip
    quote_sql_identifiers: str = key(
        "quote.sql.identifiers", default="ALWAYS", check=one_of("always", "never"), group=DATABASE, order_in_group=18,
        width=Width.MEDIUM, display_name="Quote Identifiers",
        doc="Whether names of tables and columns are quoted in SQL: always or never.",
    )  # fmt: skip
    date_calendar_system: str = key(
        "date.calendar.system", default="LEGACY", check=ValidString("LEGACY", "PROLEPTIC_GREGORIAN"),
        importance=Importance.LOW, group=DATABASE, order_in_group=16, width=Width.MEDIUM,
        display_name="Date Calendar System",
        doc="Calendar of dates before 15 October 1582 in records: LEGACY is Java's, Julian before that day.",
    )  # fmt: skip

    @cached_property
    def url(self) -> JdbcUrl:
        """Return the address; a text that is none raises a ConfigError."""
        return JdbcUrl.parse(self.connection_url, URL)

    @property
    def zone(self) -> str:
        """Return the name of the time zone of the database."""
        return zone_of(self.db_timezone).key

    @property
    def is_hybrid(self) -> bool:
        """Return whether days before 1582 are Julian in records."""
        return self.date_calendar_system == "LEGACY"

    def source_dialect(self) -> SourceDialect:
        """Return the dialect of the database, to read; an unknown one raises a ConfigError."""
        dialect: SourceDialect = self._dialect("Source")
        return dialect

    def sink_dialect(self) -> SinkDialect:
        """Return the dialect of the database, to write; an unknown one raises a ConfigError."""
        dialect: SinkDialect = self._dialect("Sink")
        return dialect

    def _dialect(self, half: str) -> Any:
        password = self.connection_password
        return dialect_class(self.url, self.dialect_name, half)(
            self.url,
            self.connection_user,
            None if password is None else password.value,
            zone=self.zone,
            quotes=self.quote_sql_identifiers.lower() == "always",
        )


def log_ignored(props: Mapping[str, str], keys: Mapping[str, str]) -> None:
    """Log each key that is set and has no effect, with the reason."""
    for name, reason in keys.items():
        if name in props:
            _log.info("%s has no effect: %s", name, reason)

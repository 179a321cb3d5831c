"""JDBC URLs: their parts, and that they never show credentials."""

from __future__ import annotations

import pytest

from hearth_api import ConfigError
from hearth_jdbc.jdbc_url import JdbcUrl


def test_hosts_database_and_parameters() -> None:
    """Several hosts, ports, encoded characters, an address in brackets."""
    url = JdbcUrl.parse("jdbc:postgresql://one:5433,[::1]:5434,two/my%20shop?user=ann&ssl=true&currentSchema=a,b")
    assert url.product == "postgresql"
    assert url.hosts == (("one", 5433), ("::1", 5434), ("two", None))
    assert url.database == "my shop"
    assert url.parameters == {"user": "ann", "ssl": "true", "currentSchema": "a,b"}


@pytest.mark.parametrize(
    ("text", "database"),
    [("jdbc:sqlite:/data/a b.db", "/data/a b.db"), ("JDBC:SQLITE:a.db?cache=shared", "a.db"), ("jdbc:sqlite:", "")],
)
def test_a_file_is_the_database(text: str, database: str) -> None:
    """A path is taken as it is."""
    url = JdbcUrl.parse(text)
    assert (url.product, url.hosts, url.database) == ("sqlite", (), database)


def test_no_text_of_a_url_shows_credentials() -> None:
    """Neither parameters nor the part before the host."""
    url = JdbcUrl.parse("jdbc:postgresql://ann:secret@host:5432/shop?password=secret&user=ann")
    assert str(url) == repr(url) == "jdbc:postgresql://host:5432/shop"
    assert url.parameters["password"] == "secret"


@pytest.mark.parametrize("text", ["", "postgresql://host/x", "jdbc:", "jdbc::x", "jdbc:postgresql://host:port/x"])
def test_other_texts_are_refused_without_showing_them(text: str) -> None:
    """The message names the key."""
    with pytest.raises(ConfigError, match=r"connection\.url"):
        JdbcUrl.parse(text)

"""Dialects: what differs between databases, with a half for the source and a half for the sink.

`interface` is what both halves have in common, `source_dialect` and `sink_dialect` are the halves. A new database is a
word of URLs in `_DIALECTS`, and two modules, found by their names: `postgresql_source` contains
`PostgreSqlSource`, `postgresql_sink` contains `PostgreSqlSink`.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from hearth_api import ConfigError
from hearth_jdbc.jdbc_url import JdbcUrl

_DIALECTS = {
    "postgresql": "PostgreSql", "mysql": "MySql", "mariadb": "MySql", "sqlite": "Sqlite", "duckdb": "DuckDb",
}  # fmt: skip
"""By the word after `jdbc:`: the beginning of the names of classes."""
_SUFFIX = "DatabaseDialect"
NAMES = tuple(f"{name}{_SUFFIX}" for name in dict.fromkeys(_DIALECTS.values()))
"""Values of `dialect.name`."""


def dialect_class(url: JdbcUrl, name: str, half: str) -> Any:
    """Return the class of a half ("Source" or "Sink") of a dialect, by name if there is one, else by the URL.

    The modules of a dialect import its driver, so they are loaded only where its database is used.
    """
    by_name = dict(zip(NAMES, dict.fromkeys(_DIALECTS.values())))
    found = by_name.get(name) if name else _DIALECTS.get(url.product)
    if found is None:
        what = f"dialect.name names {name!r}" if name else f"connection.url is for {url.product!r}"
        near = get_close_matches(name or url.product, by_name if name else _DIALECTS, 1, 0.5)
        raise ConfigError(
            f"{what}, for which there is no dialect; there are {', '.join(_DIALECTS)}",
            hint=f"did you mean {near[0]!r}?" if near else None,
        )
    return getattr(import_module(f"hearth_jdbc.dialect.{found.lower()}_{half.lower()}"), f"{found}{half}")

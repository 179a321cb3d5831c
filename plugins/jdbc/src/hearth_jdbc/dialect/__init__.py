"""Dialects: what differs between databases, one module each.

A new database is a module with a class that derives from `interface.Dialect`, and a line in `_MODULES`.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hearth_api import ConfigError
from hearth_jdbc.jdbc_url import JdbcUrl

if TYPE_CHECKING:
    from hearth_jdbc.dialect.interface import Dialect

_MODULES = {"postgresql": "PostgreSqlDatabaseDialect", "sqlite": "SqliteDatabaseDialect"}
"""By the word after `jdbc:`: the name of the dialect, which is also its class; the module has the word as its name."""
NAMES = tuple(_MODULES.values())


def dialect_class(url: JdbcUrl, name: str) -> type[Dialect]:
    """Return the class of a database's dialect, by name if there is one, else by the URL.

    The module of a dialect imports its driver, so it is loaded only where its database is used.
    """
    products = {dialect: product for product, dialect in _MODULES.items()}
    product = products.get(name) if name else url.product
    if product is None or product not in _MODULES:
        what = f"dialect.name names {name!r}" if name else f"connection.url is for {url.product!r}"
        near = get_close_matches(name or url.product, products if name else _MODULES, 1, 0.5)
        raise ConfigError(
            f"{what}, for which there is no dialect; there are {', '.join(_MODULES)}",
            hint=f"did you mean {near[0]!r}?" if near else None,
        )
    return cast("type[Dialect]", getattr(import_module(f"hearth_jdbc.dialect.{product}"), _MODULES[product]))

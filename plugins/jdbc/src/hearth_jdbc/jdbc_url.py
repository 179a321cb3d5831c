"""Parses `jdbc:` URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from hearth_api import ConfigError

_SCHEME = "jdbc:"


@dataclass(frozen=True)
class JdbcUrl:
    """The parts of a `jdbc:` URL; its text shows neither user nor password."""

    product: str
    """The word after `jdbc:`, such as `postgresql`."""
    hosts: tuple[tuple[str, int | None], ...] = ()
    database: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, key: str = "connection.url") -> JdbcUrl:
        """Return the parts of a URL; one that is not `jdbc:PRODUCT:...` raises a ConfigError that names `key`."""
        scheme, product, rest = [*text.strip().split(":", 2), "", ""][:3]
        if f"{scheme.lower()}:" != _SCHEME or not product:
            raise ConfigError(f"{key} is no JDBC URL", hint="write jdbc:postgresql://host:port/database or alike")
        address, _, query = rest.partition("?")
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        if not address.startswith("//"):
            return cls(product.lower(), (), address, parameters)
        places, _, database = address[2:].partition("/")
        hosts = tuple(_host(place, key) for place in places.split(",") if place)
        return cls(product.lower(), hosts, unquote(database), parameters)

    def __str__(self) -> str:
        """Return the URL without its parameters, which may hold credentials."""
        if not self.hosts:
            return f"{_SCHEME}{self.product}:{self.database}"
        places = ",".join(host if port is None else f"{host}:{port}" for host, port in self.hosts)
        return f"{_SCHEME}{self.product}://{places}/{self.database}"

    def __repr__(self) -> str:
        """Return the same text, so that no traceback shows credentials."""
        return str(self)


def _host(place: str, key: str) -> tuple[str, int | None]:
    place = place.rpartition("@")[2]
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port[1:]
    else:
        host, _, port = place.partition(":")
    if port and not port.isdecimal():
        raise ConfigError(f"{key} names the port {port!r}, which is no number")
    return unquote(host), int(port) if port else None

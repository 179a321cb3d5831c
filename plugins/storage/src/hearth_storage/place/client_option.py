"""What the clients of all stores are told: retries, proxies, and the storage classes that configurations name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from hearth_api import ConfigError, Lambda, Password

STORAGE = "Storage"
"""The group of keys that tell where files are."""


def retries(most: int, backoff_ms: int) -> dict[str, Any]:
    """Return how requests are repeated; the pause doubles up to a quarter of a minute."""
    backoff = {"init_backoff": timedelta(milliseconds=backoff_ms), "max_backoff": timedelta(seconds=15), "base": 2}
    return {"max_retries": most, "backoff": backoff, "retry_timeout": timedelta(minutes=3)}


def client_options(proxy: str, user: str | None, password: Password | None) -> dict[str, Any]:
    """Return options of the HTTP client, with the address of a proxy unless it is empty."""
    if proxy and user:
        parts = urlsplit(proxy)
        word = quote(password.value if password else "", "")
        proxy = urlunsplit(parts._replace(netloc=f"{quote(user, '')}:{word}@{parts.netloc.rpartition('@')[2]}"))
    options = {"allow_http": True, "timeout": "60s"}
    return {**options, "proxy_url": proxy} if proxy else options


def storage_check(known: str) -> Lambda:
    """Return a check that `storage.class` names the only class of a store."""

    def check(name: str, value: Any) -> None:
        if str(value).rpartition(".")[2] != known.rpartition(".")[2]:
            raise ConfigError(name, value, f"is not known; did you mean {known}?")

    return Lambda(check, known)

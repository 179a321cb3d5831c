"""Which kind of place an option names, where a spool is to lie."""

from __future__ import annotations

from pathlib import Path

from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spool_store import SpoolStore


def spool_store(address: str) -> SpoolStore:
    """Return the place of a spool: a directory, or what an address with a scheme names; raises ConfigError."""
    scheme, found, rest = address.partition("://")
    if not found:
        return DirectoryStore(Path(address.removeprefix("file:")).absolute())
    if scheme == "file":
        return DirectoryStore(Path(f"/{rest.lstrip('/')}"))
    from hearth.datasource.spool_address import AddressStore  # few have what it takes

    return AddressStore(address)

"""Chooses the kind of store for the address of a spool."""

from __future__ import annotations

from pathlib import Path

from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spool_store import SpoolStore


def spool_store(address: str) -> SpoolStore:
    """Return the store of a spool: a directory, or an address with a scheme; raises ConfigError."""
    scheme, found, rest = address.partition("://")
    if not found:
        return DirectoryStore(Path(address.removeprefix("file:")).absolute())
    if scheme == "file":
        return DirectoryStore(Path(f"/{rest.lstrip('/')}"))
    from hearth.datasource.spool_address import AddressStore  # imported late: rarely needed

    return AddressStore(address)

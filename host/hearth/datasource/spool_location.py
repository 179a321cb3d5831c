"""Which kind of place an option names, where a spool is to lie."""

from __future__ import annotations

from pathlib import Path

from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spool_store import SpoolStore
from hearth_api import ConfigError


def spool_store(address: str) -> SpoolStore:
    """Return the place of a spool: a directory, or what an address with a scheme names; raises ConfigError."""
    scheme, found, rest = address.partition("://")
    if not found:
        return DirectoryStore(Path(address.removeprefix("file:")).absolute())
    if scheme == "file":
        return DirectoryStore(Path(f"/{rest.lstrip('/')}"))
    raise ConfigError("hearth.spool", address, "of no file system of that name is known that a name is taken once")

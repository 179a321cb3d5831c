"""Index entries: the facts about bundles in an index that are needed to choose one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hearth.discovery.bundle import Bundle
from hearth.isolation.lock import API, unmet_api


class Needs(Protocol):
    """Returns what a bundle requires of the author API; called only for candidates that may be chosen."""

    def __call__(self) -> Iterator[Requirement]:
        """Yield the requirements of all its packages."""


@dataclass(frozen=True)
class IndexEntry:
    """An available bundle: a path, or an address with the SHA-256 of the file."""

    name: str
    version: str
    plugins: tuple[str, ...]
    location: str
    needs: Needs
    sha256: str | None = None

    @property
    def unmet(self) -> list[str]:
        """Return the requirements on the author API that this host does not meet."""
        return [str(each) for each in unmet_api(self.needs())]


def entry_of(bundle: Bundle) -> IndexEntry:
    """Return the entry of a local bundle."""
    plugins = tuple(each.class_name for each in bundle.declarations)
    return IndexEntry(bundle.name, bundle.version, plugins, str(bundle.location), partial(api_needs, bundle))


def api_needs(bundle: Bundle) -> Iterator[Requirement]:
    """Yield the requirements of a bundle's packages on the author API."""
    for part in bundle.packages():
        yield from (each for each in part.requires if canonicalize_name(each.name) == API)

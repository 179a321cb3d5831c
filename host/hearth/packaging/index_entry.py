"""Offers: what an index has, a directory of bundles here or at an address, as far as choosing among them needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hearth.discovery.bundle import Bundle
from hearth.discovery.core_metadata import distributions
from hearth.isolation.lock import API, unmet_api


class Needs(Protocol):
    """Tells what a bundle requires of the author API; asked for the few that are about to be chosen."""

    def __call__(self) -> Iterator[Requirement]:
        """Yield the requirements, those of all its packages."""


@dataclass(frozen=True)
class IndexEntry:
    """A bundle that can be had: a path, or an address with the SHA-256 of what comes from there."""

    name: str
    version: str
    plugins: tuple[str, ...]
    location: str
    needs: Needs
    sha256: str | None = None

    @property
    def unmet(self) -> list[str]:
        """Return what it requires of the author API that this host's does not meet."""
        return [str(each) for each in unmet_api(self.needs())]


def offer_of(bundle: Bundle) -> IndexEntry:
    """Return the offer of a bundle that lies here."""
    plugins = tuple(each.class_name for each in bundle.declarations)
    return IndexEntry(bundle.name, bundle.version, plugins, str(bundle.location), partial(api_needs, bundle))


def api_needs(bundle: Bundle) -> Iterator[Requirement]:
    """Yield what the packages of a bundle require of the author API."""
    for part in distributions(bundle):
        yield from (each for each in part.requires if canonicalize_name(each.name) == API)

"""Revocation: lists of packages, bundles and files that are not to be used any more, and which bundles that means."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hearth.discovery.bundle import Bundle, stamp_of
from hearth.discovery.core_metadata import distributions
from hearth.discovery.refusal import BundleError
from hearth.foundation.digest import sha256_of
from hearth_api import ConfigError

log = logging.getLogger(__name__)

_HASH = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Revocation:
    """A line of a list: packages or bundles by a requirement, or files by their SHA-256; the reason after ``#``.

    Or a version that the package index says to be yanked.
    """

    text: str
    reason: str
    requirement: Requirement | None = None
    kind: str = "revoked"

    def names(self, name: str, version: str) -> bool:
        """Return whether it is about a package or a bundle of a name and version."""
        wanted = self.requirement
        return (
            wanted is not None
            and canonicalize_name(wanted.name) == canonicalize_name(name)
            and wanted.specifier.contains(version, prereleases=True)
        )


def read_revocations(path: Path) -> list[Revocation]:
    """Read a list of what is not to be used; raises ``ConfigError`` with the line that makes no sense."""
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text in UTF-8: {error.reason}", hint="name a list, a line each") from error
    for number, line in enumerate(lines, 1):
        text, _, reason = (part.strip() for part in line.partition("#"))
        if not text:
            continue
        try:
            wanted = None if _HASH.fullmatch(text) else Requirement(text)
        except InvalidRequirement:
            hint = "write a requirement such as orders<1.2, or sha256: and 64 digits"
            raise ConfigError(f"{path}, line {number}: {text!r} is neither", hint=hint) from None
        found.append(Revocation(text, reason or "no reason is given", wanted))
    return found


def revoked_parts(bundle: Bundle, revocations: Sequence[Revocation]) -> Iterator[tuple[str, Revocation]]:
    """Yield what of a bundle is on lists, the bundle itself, packages in it and files; raises for a damaged one."""
    things = _things(bundle, bundle.stamp)
    hashes = _hashes(bundle, bundle.stamp) if any(each.requirement is None for each in revocations) else frozenset()
    for each in revocations:
        for name, version in things:
            if each.names(name, version):
                yield f"{name} {version}", each
        if each.requirement is None and each.text in hashes:
            yield each.text, each


@lru_cache(maxsize=256)
def _things(bundle: Bundle, _stamp: int) -> tuple[tuple[str, str], ...]:
    """Return name and version of a bundle and of the packages in it, read once as long as it is the same."""
    parts = ((each.name, each.version) for each in distributions(bundle))
    return tuple(dict.fromkeys([(bundle.name, bundle.version), *parts]))


@lru_cache(maxsize=256)
def _hashes(bundle: Bundle, _stamp: int) -> frozenset[str]:
    """Return the hashes of the files in a bundle and of the bundle itself, as lists write them."""
    listed = {f"sha256:{each}" for each in (bundle.hashes or {}).values()}
    own = {f"sha256:{sha256_of(bundle.location)}"} if bundle.location.is_file() else set()
    return frozenset(listed | own)


class RevocationLists:
    """The lists that a worker keeps to, read again whenever one is another; safe to call from any thread.

    A list that cannot be read any more counts as it was: it was not taken away so that what it names may run.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read them; raises ``ConfigError`` for a list that makes no sense, ``OSError`` for one that is not there."""
        self._paths = tuple(paths)
        self._known = self.stamp, self._read()

    @property
    def stamp(self) -> object:
        """Return what is another when a list is another."""
        return tuple(map(stamp_of, self._paths))

    def check(self, bundle: Bundle) -> None:
        """Raise ``BundleError`` for a bundle that is on a list, or has something in it that is."""
        for thing, revocation in revoked_parts(bundle, self._now()):
            raise _revoked(thing, revocation)

    def check_packages(self, pins: Mapping[str, Sequence[str]]) -> None:
        """Raise ``BundleError`` where one of these is on a list: ``name==version`` with the hashes of its files."""
        for revocation in self._now():
            for pin, hashes in pins.items():
                name, _, version = pin.partition("==")
                if revocation.names(name, version) or revocation.text in hashes:
                    raise _revoked(f"{name} {version}, which it needs,", revocation)

    def _now(self) -> Sequence[Revocation]:
        stamp = self.stamp
        if stamp != self._known[0]:
            try:
                self._known = stamp, self._read()
            except (ConfigError, OSError) as error:
                log.error("a list of what is revoked cannot be read, what it said before holds: %s", error)
                self._known = stamp, self._known[1]
        return self._known[1]

    def _read(self) -> list[Revocation]:
        return [each for path in self._paths for each in read_revocations(path)]


def _revoked(thing: str, revocation: Revocation) -> BundleError:
    return BundleError(
        f"{thing} is revoked: {revocation.reason}",
        code="bundle.revoked",
        hint="take another version; the list in plugin.revoked says what is not to be used",
    )

"""Revocation lists of packages, bundles and files, and the bundles they affect."""

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
from hearth.discovery.refusal import BundleError
from hearth.foundation.digest import sha256_of
from hearth_api import ConfigError

log = logging.getLogger(__name__)

_HASH = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Revocation:
    """A line of a revocation list: packages or bundles by requirement, or files by SHA-256; the reason after ``#``.

    Also a version that the package index reports as yanked.
    """

    text: str
    reason: str
    requirement: Requirement | None = None
    kind: str = "revoked"

    def names(self, name: str, version: str) -> bool:
        """Return whether it revokes a package or bundle of this name and version."""
        wanted = self.requirement
        return (
            wanted is not None
            and canonicalize_name(wanted.name) == canonicalize_name(name)
            and wanted.specifier.contains(version, prereleases=True)
        )


def read_revocations(path: Path) -> list[Revocation]:
    """Read a revocation list; raise ``ConfigError`` that names the invalid line."""
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error.reason}", hint="name a text file, one entry a line") from error
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
    """Yield the revoked parts of a bundle: itself, its packages and files; raise for a damaged bundle."""
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
    """Return name and version of a bundle and its packages, cached until the bundle changes."""
    parts = ((each.name, each.version) for each in bundle.packages())
    return tuple(dict.fromkeys([(bundle.name, bundle.version), *parts]))


@lru_cache(maxsize=256)
def _hashes(bundle: Bundle, _stamp: int) -> frozenset[str]:
    """Return the hashes of a bundle and its files in the form that revocation lists use."""
    listed = {f"sha256:{each}" for each in (bundle.hashes or {}).values()}
    own = {f"sha256:{sha256_of(bundle.location)}"} if bundle.location.is_file() else set()
    return frozenset(listed | own)


class RevocationLists:
    """The revocation lists of a worker, read again when a file changes. Thread-safe.

    A list that becomes unreadable keeps its last content: removing the file must not lift a revocation.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the lists; raise ``ConfigError`` for an invalid list, ``OSError`` for a missing one."""
        self._paths = tuple(paths)
        self._known = self.stamp, self._read()

    @property
    def stamp(self) -> object:
        """Return a stamp that changes with the lists."""
        return tuple(map(stamp_of, self._paths))

    def check(self, bundle: Bundle) -> None:
        """Raise ``BundleError`` if a bundle or a part of it is revoked."""
        for thing, revocation in revoked_parts(bundle, self._now()):
            raise _revoked(thing, revocation)

    def check_packages(self, pins: Mapping[str, Sequence[str]]) -> None:
        """Raise ``BundleError`` if any package is revoked; ``pins`` has the hashes of each ``name==version``."""
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
                log.error("a revocation list cannot be read, its last content stays in force: %s", error)
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

"""Audit: whether the bundles of plugin.path are what they were, and whether anybody has revoked a part of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hearth.discovery import Bundle, BundleError, Rejected, read
from hearth.discovery.location import candidates
from hearth.discovery.signature import unlisted_files
from hearth.isolation.lock import hash_of
from hearth.packaging.core_metadata import CoreMetadata, distributions
from hearth.packaging.wholeness import altered_files
from hearth.packaging.yanked import yanked
from hearth_api import ConfigError

_HASH = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a bundle: where, of what kind, and what is to be known of it."""

    location: str
    kind: str
    detail: str


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


def read_yanked(plugin_path: Sequence[Path]) -> list[Revocation]:
    """Ask the package index which packages in the bundles of plugin.path have been yanked.

    Raises ``ConnectError`` where it does not answer.
    """
    bundles = (each for each in _outcomes(plugin_path) if isinstance(each, Bundle))
    pins = {f"{part.name}=={part.version}" for each in bundles for part in _readable(each)}
    return [Revocation(pin, reason, Requirement(pin), "yanked") for pin, reason in yanked(pins).items()]


def _readable(bundle: Bundle) -> list[CoreMetadata]:
    """Return the packages in a bundle, none for one that is damaged: the audit tells that itself."""
    try:
        return list(distributions(bundle))
    except BundleError:
        return []


def audit(plugin_path: Sequence[Path], revoked: Sequence[Revocation] = ()) -> list[Finding]:
    """Look through plugin.path: what cannot be read, is not as it was packed, or is on the list."""
    found = []
    for outcome in _outcomes(plugin_path):
        if isinstance(outcome, Rejected):
            found.append(Finding(outcome.location, "rejected", outcome.reason))
        else:
            found += _findings(outcome, revoked)
    return found


def _outcomes(plugin_path: Sequence[Path]) -> Iterator[Bundle | Rejected]:
    for candidate in candidates(plugin_path):
        outcome = candidate if isinstance(candidate, Rejected) else read(candidate, candidate in plugin_path)
        if outcome is not None:
            yield outcome


def _findings(bundle: Bundle, revoked: Sequence[Revocation]) -> Iterator[Finding]:
    where = str(bundle.location)
    try:
        for path in altered_files(bundle):
            yield Finding(where, "altered", f"{path} is not the file that was packed")
        for path in unlisted_files(bundle) if bundle.hashes is not None else ():
            yield Finding(where, "unlisted", f"{path} was not packed")
        things = [(bundle.name, bundle.version), *((each.name, each.version) for each in distributions(bundle))]
    except BundleError as error:
        yield Finding(where, "damaged", str(error))
        return
    hashes = _hashes(bundle) if any(each.requirement is None for each in revoked) else set()
    for each in revoked:
        named = [f"{name} {version}" for name, version in dict.fromkeys(things) if each.names(name, version)]
        if each.requirement is None and each.text in hashes:
            named = [each.text]
        for thing in named:
            yield Finding(where, each.kind, f"{thing}: {each.reason}")


def _hashes(bundle: Bundle) -> set[str]:
    """Return the hashes of the files in a bundle and of the bundle itself, as lists write them."""
    listed = {f"sha256:{each}" for each in (bundle.hashes or {}).values()}
    return listed | {hash_of(bundle.location)} if bundle.location.is_file() else listed

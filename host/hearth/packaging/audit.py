"""Audit: finds bundles on plugin.path that are altered, unreadable or revoked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from hearth.discovery import Bundle, BundleError, Rejected, read
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.location import candidates
from hearth.discovery.revocation import Revocation, revoked_parts
from hearth.discovery.signature import unlisted_files
from hearth.packaging.integrity import altered_files
from hearth.packaging.yanked import yanked


@dataclass(frozen=True)
class Finding:
    """A problem with a bundle: its location, kind and details."""

    location: str
    kind: str
    detail: str


def read_yanked(plugin_path: Sequence[Path]) -> list[Revocation]:
    """Ask the package index which packages in the bundles of plugin.path are yanked.

    Raises ``ConnectError`` if the index does not answer.
    """
    bundles = (each for each in _outcomes(plugin_path) if isinstance(each, Bundle))
    pins = {f"{part.name}=={part.version}" for each in bundles for part in _readable(each)}
    return [Revocation(pin, reason, Requirement(pin), "yanked") for pin, reason in yanked(pins).items()]


def _readable(bundle: Bundle) -> list[CoreMetadata]:
    """Return the packages in a bundle; empty for a damaged one, which the audit reports separately."""
    try:
        return list(bundle.packages())
    except BundleError:
        return []


def audit(plugin_path: Sequence[Path], revoked: Sequence[Revocation] = ()) -> list[Finding]:
    """Check plugin.path for bundles that are unreadable, altered or revoked."""
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
        for thing, each in revoked_parts(bundle, revoked):
            yield Finding(where, each.kind, f"{thing}: {each.reason}")
    except BundleError as error:
        yield Finding(where, "damaged", str(error))

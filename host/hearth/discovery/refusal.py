"""Rejections: the error for an unusable bundle, and its entry in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hearth_api import ConfigError

REPACK = "pack it again with `hearth bundle pack PROJECT`"
COPY_AGAIN = "copy or download it again"
_SHOWN = 120
_LISTED = 3


class BundleError(ConfigError):
    """A bundle is unusable; the argument is the reason, ``hint`` the remedy."""

    code = "bundle.invalid"
    hint = REPACK


@dataclass(frozen=True)
class Rejected:
    """A rejected candidate on plugin.path: its location, the reason and the remedy."""

    location: str
    reason: str
    hint: str


def by_reason(rejected: Iterable[Rejected]) -> dict[tuple[str, str], list[str]]:
    """Return the locations of rejected candidates by reason and hint, which many libraries share."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in rejected:
        found.setdefault((each.reason, each.hint), []).append(each.location)
    return found


def first_of(locations: Sequence[str]) -> list[str]:
    """Return the first locations, and the number of the others."""
    others = len(locations) - _LISTED
    return [*locations[:_LISTED], f"{others} more"] if others > 0 else list(locations)


def quoted(value: object) -> str:
    """Return an untrusted value for a message, escaped and shortened."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""What is turned away from plugin.path and why: an error while it is read, an entry beside the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_api import ConfigError

REPACK = "pack it anew with `hearth bundle pack PROJECT`"
COPY_AGAIN = "copy or download it again"
_SHOWN = 120


class BundleError(ConfigError):
    """A bundle is not usable; the argument is the reason, ``hint`` the remedy."""

    code = "bundle.invalid"
    hint = REPACK


@dataclass(frozen=True)
class Rejected:
    """Something on plugin.path that is not in the catalogue: where, why, and what to do about it."""

    location: str
    reason: str
    hint: str


def quoted(value: object) -> str:
    """Return a value that a bundle holds as messages show it: escaped, and no longer than anyone reads."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

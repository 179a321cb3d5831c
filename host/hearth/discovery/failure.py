"""Why a candidate cannot be read as a bundle."""

from __future__ import annotations

from hearth_api import ConfigError

REPACK = "pack it anew with `hearth bundle pack PROJECT`"
COPY_AGAIN = "copy or download it again"
_SHOWN = 120


class BundleError(ConfigError):
    """A bundle is not usable; the argument is the reason, ``hint`` the remedy."""

    code = "bundle.invalid"
    hint = REPACK


def quoted(value: object) -> str:
    """Return a value that a bundle holds as messages show it: escaped, and no longer than anyone reads."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

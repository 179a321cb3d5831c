"""Why a candidate cannot be read as a bundle."""

from __future__ import annotations

from hearth_api import ConfigError

REPACK = "pack it anew with `hearth bundle pack PROJECT`"
COPY_AGAIN = "copy or download it again"


class BundleError(ConfigError):
    """A bundle is not usable; the argument is the reason, ``hint`` the remedy."""

    code = "bundle.invalid"
    hint = REPACK

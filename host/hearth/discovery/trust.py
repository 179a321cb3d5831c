"""Trust: decides which bundles a worker accepts, before any of their code runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.config.plugin_key import ANY_BUNDLE, HASHED, REVOKED, SIGNED, TRUST, TRUST_KEYS
from hearth.discovery.bundle import Bundle
from hearth.discovery.python_bundle import PythonBundle
from hearth.discovery.refusal import BundleError
from hearth.discovery.signature import TrustedSigner, signer, trusted_signers
from hearth_api import ConfigError, ConfigType
from hearth_api.java import parse_type

if TYPE_CHECKING:
    from hearth.discovery.revocation import RevocationLists


class Trust:
    """A worker's requirements for bundles. Thread-safe."""

    def __init__(self, level: str = ANY_BUNDLE, keys: Sequence[str] = (), revoked: Sequence[str] = ()) -> None:
        """Read the trusted signers and the revocation lists.

        Raises ``ConfigError`` for a file without a signer, if no signer is named, and for an unreadable list.
        """
        if level == SIGNED and not keys:
            hint = "name the files of those whose bundles may run: public keys, or Sigstore identities"
            raise ConfigError(f"{TRUST} is signed, and {TRUST_KEYS} names no key", hint=hint)
        self._level = level
        self._trusted: Sequence[TrustedSigner] = trusted_signers(map(Path, keys)) if level == SIGNED else ()
        self._revoked = _lists(revoked)

    @property
    def stamp(self) -> object:
        """Return a stamp that changes when the decision on a bundle may change."""
        return None if self._revoked is None else self._revoked.stamp

    def admit(self, bundle: Bundle) -> None:
        """Raise ``BundleError`` for a bundle that the worker does not accept.

        The files are checked on every call, because they may have been replaced.
        """
        try:
            if self._level == SIGNED:
                signer(bundle, self._trusted)
            elif self._level == HASHED and not bundle.is_hashed:
                raise BundleError(
                    "its files have no hashes", hint="pack it with `hearth bundle pack PROJECT`, or add a lock"
                )
        except BundleError as error:
            raise self._refused(str(error), error.hint) from error
        if self._revoked is not None:
            self._revoked.check(bundle)

    def admit_packages(self, bundle: PythonBundle, pins: Mapping[str, Sequence[str]]) -> None:
        """Raise ``BundleError`` if a bundle's environment would contain a revoked package or one without a hash.

        Such a package is a requirement that the bundle lacks for this platform or Python and that would come from
        the package index.
        """
        if self._revoked is not None:
            self._revoked.check_packages(pins)
        if self._level == ANY_BUNDLE or bundle.has_lock:
            return
        own = {f"sha256:{each}" for each in (bundle.hashes or {}).values()}
        for pin, hashes in pins.items():
            if not hashes or not own.issuperset(hashes):
                hint = "pack it for this platform and Python as well: hearth bundle pack --platform --python"
                raise self._refused(f"it needs {pin}, which is not in it, so no hash covers it", hint)

    def _refused(self, reason: str, hint: str | None) -> BundleError:
        return BundleError(f"{reason} ({TRUST} is {self._level})", code="bundle.trust", hint=hint)


def trust_of(props: Mapping[str, Any]) -> Trust:
    """Create the trust of a worker from its settings."""
    level = props.get(TRUST) or ANY_BUNDLE
    if level not in (ANY_BUNDLE, HASHED, SIGNED):
        raise ConfigError(TRUST, level, f"String must be one of: {ANY_BUNDLE}, {HASHED}, {SIGNED}")
    keys, revoked = (parse_type(name, props.get(name), ConfigType.LIST) or [] for name in (TRUST_KEYS, REVOKED))
    return Trust(level, keys, revoked)


def _lists(paths: Sequence[str]) -> RevocationLists | None:
    """Return the revocation lists, if any."""
    if not paths:
        return None
    from hearth.discovery.revocation import RevocationLists  # most workers have none

    try:
        return RevocationLists([Path(path) for path in paths])
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ConfigError(f"{REVOKED}: {error.filename}: {why}", hint="name a list, or leave the key out") from error

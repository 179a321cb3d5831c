"""Trust: which bundles a worker takes, asked wherever one is read and before anything of it can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.config.worker_key import ANY_BUNDLE, HASHED, SIGNED, TRUST, TRUST_KEYS
from hearth.discovery.bundle import Bundle
from hearth.discovery.refusal import BundleError
from hearth.discovery.signature import TrustedSigner, signer, trusted_signers
from hearth_api import ConfigError, ConfigType
from hearth_api.java import parse_type


class Trust:
    """What a worker asks of a bundle; safe to call from any thread."""

    def __init__(self, level: str = ANY_BUNDLE, keys: Sequence[str] = ()) -> None:
        """Read who is trusted from their files; raises ``ConfigError`` for one that names nobody, or without any."""
        if level == SIGNED and not keys:
            hint = "name the files of those whose bundles may run: public keys, or Sigstore identities"
            raise ConfigError(f"{TRUST} is signed, and {TRUST_KEYS} names no key", hint=hint)
        self._level = level
        self._trusted: Sequence[TrustedSigner] = trusted_signers(map(Path, keys)) if level == SIGNED else ()

    def admit(self, bundle: Bundle) -> None:
        """Raise ``BundleError`` for a bundle that the worker does not take.

        It is looked at each time anew, for other files may lie at its place by then.
        """
        try:
            if self._level == SIGNED:
                signer(bundle, self._trusted)
            elif self._level == HASHED and bundle.hashes is None and not bundle.has_lock:
                raise BundleError(
                    "its files have no hashes", hint="pack it with `hearth bundle pack PROJECT`, or add a lock"
                )
        except BundleError as error:
            raise BundleError(f"{error} ({TRUST} is {self._level})", code="bundle.trust", hint=error.hint) from error


def trust_of(props: Mapping[str, Any]) -> Trust:
    """Return what the settings of a worker say of trust."""
    level = props.get(TRUST) or ANY_BUNDLE
    if level not in (ANY_BUNDLE, HASHED, SIGNED):
        raise ConfigError(TRUST, level, f"String must be one of: {ANY_BUNDLE}, {HASHED}, {SIGNED}")
    return Trust(level, parse_type(TRUST_KEYS, props.get(TRUST_KEYS), ConfigType.LIST) or [])

"""Sigstore identities: people and workflows that sign without a long-lived key.

Sigstore's authority issues a ten-minute certificate to a user who signs in at an issuer, and its log records the use.
A Sigstore bundle contains the certificate, the signature and the log's receipt, so that the library ``sigstore``
(installed with ``hearth-connect[sigstore]``) verifies it offline. A JSON file names the trusted identity::

    {"identity": "https://github.com/shop/orders/.github/workflows/release.yml@*",
     "issuer": "https://token.actions.githubusercontent.com"}

``identity`` is the e-mail address or URI in the certificate; a trailing ``*`` matches any suffix. ``trust_config`` is
the path, relative to that file, of the ``ClientTrustConfig`` of a private Sigstore.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hearth.discovery.refusal import BundleError
from hearth_api import ConfigError

if TYPE_CHECKING:
    from sigstore.models import ClientTrustConfig
    from sigstore.verify import Verifier

_NEEDED, _OTHER = {"identity", "issuer"}, {"trust_config"}
_FORM = 'write {"identity": "...", "issuer": "https://..."}, and "trust_config" for a Sigstore of your own'


@dataclass(frozen=True)
class TrustedIdentity:
    """A signer that signs in at an issuer under a name or a name prefix."""

    algorithm: ClassVar[str] = "sigstore"
    identity: str
    issuer: str
    verifier: Verifier

    def is_called(self, name: str) -> bool:
        """Return whether the name matches the identity."""
        if self.identity.endswith("*"):
            return name.startswith(self.identity[:-1])
        return name == self.identity

    def check(self, name: str, manifest: bytes, signature: bytes) -> None:
        """Raise ``BundleError`` unless the Sigstore bundle is of that name, this issuer and this manifest."""
        from sigstore.models import Bundle
        from sigstore.verify.policy import Identity

        try:
            found = Bundle.from_json(signature)
            self.verifier.verify_artifact(manifest, found, Identity(identity=name, issuer=self.issuer))
        except Exception as error:  # the library may raise anything for forged bytes
            fact = f"the signature of {name!r} is not valid: {reason_of(error)}"
            raise BundleError(fact, hint="do not use it; get it again from where it was made") from error


def trusted_identity(path: Path, content: bytes) -> TrustedIdentity:
    """Parse a trusted identity from the content of a file; raise ``ConfigError`` that names the error."""
    try:
        members = json.loads(content)
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}", hint=_FORM) from error
    if wrong := (members.keys() ^ _NEEDED) - _OTHER:
        what = "is missing" if min(wrong) in _NEEDED else "is not known"
        raise ConfigError(f"{path}: {min(wrong)!r} {what}", hint=_FORM)
    if wrong := {name for name, value in members.items() if not isinstance(value, str) or not value.strip("* ")}:
        raise ConfigError(f"{path}: {min(wrong)!r} is {members[min(wrong)]!r}", hint=_FORM)
    own = members.get("trust_config")
    config = trust_config(path.parent / own if own else None)
    with _library():
        from sigstore.verify import Verifier

        return TrustedIdentity(members["identity"], members["issuer"], Verifier(trusted_root=config.trusted_root))


def trust_config(path: Path | None) -> ClientTrustConfig:
    """Return the keys and addresses of a Sigstore: from the file, or those of the public Sigstore."""
    with _library():
        from sigstore.models import ClientTrustConfig

        if path is None:
            return _public_sigstore()
        try:
            return ClientTrustConfig.from_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}", hint=_FORM) from error
        except ValueError as error:
            hint = "use a ClientTrustConfig: application/vnd.dev.sigstore.clienttrustconfig.v0.1+json"
            raise ConfigError(f"{path} holds no keys of a Sigstore: {reason_of(error)}", hint=hint) from error


def _public_sigstore() -> ClientTrustConfig:
    """Return the public Sigstore's keys as shipped with the library or updated by its command."""
    from sigstore.models import ClientTrustConfig

    logging.getLogger("sigstore").setLevel(logging.ERROR)  # it warns about the offline mode that is requested here
    try:
        return ClientTrustConfig.production(offline=True)
    except (OSError, ValueError) as error:
        fact = f"the keys of the public Sigstore cannot be kept in the user's cache: {error}"
        raise ConfigError(fact, hint="name a directory in XDG_CACHE_HOME, or their file as trust_config") from error


@contextlib.contextmanager
def _library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        fact = f"identities of Sigstore need the package {error.name}, which is not installed"
        raise ConfigError(fact, hint="pip install 'hearth-connect[sigstore]'") from error


def reason_of(error: Exception) -> str:
    """Return the first line of the library's message; the rest repeats the input."""
    return str(error).partition("\n")[0] or type(error).__name__

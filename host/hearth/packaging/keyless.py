"""Keyless signing: Sigstore vouches for who somebody is, and keeps in its log that he signed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.discovery.refusal import BundleError
from hearth.discovery.trusted_identity import reason_of, trust_config
from hearth_api import ConnectError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.models import ClientTrustConfig
    from sigstore.oidc import IdentityToken

TOKEN = "SIGSTORE_IDENTITY_TOKEN"  # noqa: S105 - the name of the variable, as the program sigstore has it
_ISSUER = "1.3.6.1.4.1.57264.1.1"
"""Where Fulcio's certificates say who has signed the identity's token."""


def sign_keyless(manifest: bytes, config_file: Path | None) -> str:
    """Return the Sigstore bundle of a manifest, as JSON, by whoever runs this.

    Who that is says a token in the environment, or what this machine has (GitHub Actions, ...), else a page in the
    browser. Raises ``ConnectError`` for what Sigstore or the network refuses.
    """
    config = trust_config(config_file)
    from sigstore.sign import SigningContext

    try:
        with SigningContext.from_trust_config(config).signer(_token(config)) as found:
            return str(found.sign_artifact(manifest).to_json())
    except Exception as error:
        hint = f"see whether this machine reaches Sigstore, and whether {TOKEN}, if there is one, is still valid"
        fact = f"Sigstore has not signed: {reason_of(error)}"
        raise ConnectError(fact, code="environment.sigstore", hint=hint) from error


def _token(config: ClientTrustConfig) -> IdentityToken:
    from sigstore.oidc import IdentityToken, Issuer, detect_credential

    found = os.environ.get(TOKEN) or detect_credential()
    return IdentityToken(found) if found else Issuer(config.signing_config.get_oidc_url()).identity_token()


def checked(sigstore_bundle: str, manifest: bytes, config_file: Path | None) -> tuple[str, str]:
    """Return who has made a Sigstore bundle, and which issuer says so.

    Raises ``BundleError`` where it is not one of this manifest, or not of that Sigstore.
    """
    config = trust_config(config_file)
    from sigstore.models import Bundle
    from sigstore.verify import Verifier
    from sigstore.verify.policy import Identity

    try:
        found = Bundle.from_json(sigstore_bundle)
        identity, issuer = _identity(found.signing_certificate)
        policy = Identity(identity=identity, issuer=issuer)
        Verifier(trusted_root=config.trusted_root).verify_artifact(manifest, found, policy)
    except Exception as error:
        hint = "what is to be signed is the file hearth-bundle.json of the bundle, with `sigstore sign` or cosign"
        fact = f"that is no signature of this bundle: {reason_of(error)}"
        raise BundleError(fact, hint=hint) from error
    return identity, issuer


def _identity(certificate: Certificate) -> tuple[str, str]:
    from cryptography import x509

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = [each.value for each in names if isinstance(each, (x509.RFC822Name, x509.UniformResourceIdentifier))]
    issuer = certificate.extensions.get_extension_for_oid(x509.ObjectIdentifier(_ISSUER)).value
    if not found or not isinstance(issuer, x509.UnrecognizedExtension):
        raise ValueError("its certificate names neither an e-mail address nor a URI")
    return found[0], issuer.value.decode()

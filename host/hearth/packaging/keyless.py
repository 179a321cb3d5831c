"""Keyless signing: Sigstore certifies the signer's identity and logs the signature."""

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
"""The extensions of Fulcio's certificates that name the token's issuer."""


def sign_keyless(manifest: bytes, config_file: Path | None) -> str:
    """Sign a manifest with the caller's identity and return the Sigstore bundle as JSON.

    The identity comes from a token in the environment, from the machine (GitHub Actions, ...) or from a login in the
    browser. Raises ``ConnectError`` for errors of Sigstore and the network.
    """
    config = trust_config(config_file)
    from sigstore.sign import SigningContext

    try:
        with SigningContext.from_trust_config(config).signer(_token(config)) as found:
            return str(found.sign_artifact(manifest).to_json())
    except Exception as error:
        hint = f"check that this machine can reach Sigstore and that {TOKEN}, if set, is still valid"
        fact = f"Sigstore did not sign: {reason_of(error)}"
        raise ConnectError(fact, code="environment.sigstore", hint=hint) from error


def _token(config: ClientTrustConfig) -> IdentityToken:
    from sigstore.oidc import IdentityToken, Issuer, detect_credential

    found = os.environ.get(TOKEN) or detect_credential()
    return IdentityToken(found) if found else Issuer(config.signing_config.get_oidc_url()).identity_token()


def checked(sigstore_bundle: str, manifest: bytes, config_file: Path | None) -> tuple[str, str]:
    """Return the identity in a Sigstore bundle and its issuer.

    Raises ``BundleError`` if it is not valid for this manifest or this Sigstore.
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
        hint = "sign the file hearth-bundle.json of the bundle with `sigstore sign` or cosign"
        fact = f"that is not a signature of this bundle: {reason_of(error)}"
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

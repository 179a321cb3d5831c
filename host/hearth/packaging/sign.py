"""Signs bundles with an Ed25519 key or a Sigstore identity."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.discovery.manifest import SIGNATURE
from hearth.discovery.refusal import BundleError
from hearth.discovery.signature import (
    FORMAT,
    TrustedKey,
    fingerprint,
    manifest_of,
    signatures_of,
    signed_bytes,
)
from hearth.discovery.trusted_identity import TrustedIdentity
from hearth.foundation.user_file import replacing
from hearth.packaging.integrity import usable
from hearth.packaging.zip_file import zip_bundle
from hearth_api import ConfigError, ConflictError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PUBLIC = ".pub"
"""Suffix that a public key's file adds to the private key's name."""


def new_key(path: Path) -> Path:
    """Create a key pair: the private key at ``path``, readable only by its owner, the public key next to it.

    Returns the path of the public key. Raises ``ConflictError`` if a file exists, to keep a key that is in use.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = path.with_name(path.name + PUBLIC)
    for each in (path, public):
        if each.exists():
            raise ConflictError(f"{each} already exists", hint="name another file")
    key = Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(private)
        public.write_bytes(key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))
    except BaseException as error:
        if not isinstance(error, FileExistsError):  # another process created it first
            path.unlink(missing_ok=True)
            public.unlink(missing_ok=True)
        raise
    return public


def sign(location: Path, key_file: Path) -> str:
    """Sign a packed bundle (a zip file) in place, keep other signers' signatures, and return the key's fingerprint.

    Raises ``BundleError`` for a bundle that is not as packed, ``ConfigError`` for a file without an Ed25519 key.
    """
    key = _private_key(key_file)
    name = fingerprint(key.public_key())
    _add(location, lambda manifest: (TrustedKey.algorithm, name, key.sign(signed_bytes(manifest))))
    return name


def sign_with_sigstore(location: Path, config_file: Path | None = None, made: Path | None = None) -> tuple[str, str]:
    """Sign a packed bundle with the caller's Sigstore identity; return the identity and its issuer.

    ``made`` is the file of a Sigstore bundle that another program made for the manifest, ``config_file`` the
    configuration of a private Sigstore. Raises the errors of ``sign``, and ``ConnectError`` if Sigstore refuses.
    """
    from hearth.packaging.keyless import checked, sign_keyless

    found = "", ""

    def signed(manifest: bytes) -> tuple[str, str, bytes]:
        nonlocal found
        text = made.read_text(encoding="utf-8", errors="replace") if made else sign_keyless(manifest, config_file)
        found = checked(text, manifest, config_file)
        return TrustedIdentity.algorithm, found[0], text.encode()

    _add(location, signed)
    return found


def _add(location: Path, made: Callable[[bytes], tuple[str, str, bytes]]) -> None:
    """Add the signature that ``made`` computes from the manifest, replacing the same signer's earlier one."""
    bundle = usable(location)
    if location.suffix != ".zip":
        raise BundleError(f"{location} is not a packed bundle", hint="pack it: hearth bundle pack PROJECT")
    algorithm, name, signature = made(manifest_of(bundle))
    others = [each for each in signatures_of(bundle) if (each["algorithm"], each["key"]) != (algorithm, name)]
    own = {"algorithm": algorithm, "key": name, "signature": base64.b64encode(signature).decode()}
    text = json.dumps({"format": FORMAT, "signatures": [*others, own]}, indent=1) + "\n"
    with replacing(location) as fresh:
        zip_bundle(bundle, fresh, {SIGNATURE: lambda: io.BytesIO(text.encode())})


def _private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    hint = f"`hearth bundle key {path}` makes one"
    try:
        found = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}", hint=hint) from error
    except (ValueError, TypeError):
        raise ConfigError(f"{path} holds no private key without a password", hint=hint) from None
    if not isinstance(found, Ed25519PrivateKey):
        raise ConfigError(f"{path} holds a key of another kind than Ed25519", hint=hint)
    return found

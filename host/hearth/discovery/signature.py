"""Signatures of packed bundles, which cover the manifest and so every file that it lists.

A signature covers the bytes of the manifest, which contains the SHA-256 of all other files. The bundle stores them
in ``hearth-signature.json``: ``format``, and ``signatures`` with ``algorithm``, ``key`` (the signer) and ``signature``
in base64. So a bundle stays one file, and a renamed or mirrored bundle stays signed. ``ed25519`` signs a fixed line
and the manifest with a private key and names the signer by the SHA-256 of the public key; ``sigstore`` is a Sigstore
bundle that names the signer by the identity in its certificate.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from hearth.discovery.bundle import Bundle
from hearth.discovery.manifest import MANIFEST, SIGNATURE, Manifest
from hearth.discovery.refusal import BundleError
from hearth_api import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = 1
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_LONGEST_NAME = 300
_MEMBERS = ("algorithm", "key", "signature")
_SIGN = "sign it with `hearth bundle sign BUNDLE --key KEY`"


class TrustedSigner(Protocol):
    """A signer whose signature a worker accepts. Thread-safe."""

    @property
    def algorithm(self) -> str:
        """The algorithm that a signature names."""

    def is_called(self, name: str) -> bool:
        """Return whether a signature with this signer name claims to be from this signer."""

    def check(self, name: str, manifest: bytes, signature: bytes) -> None:
        """Raise ``BundleError`` unless the named signer signed this manifest."""


@dataclass(frozen=True)
class TrustedKey:
    """An Ed25519 public key."""

    algorithm: ClassVar[str] = "ed25519"
    public: Ed25519PublicKey

    def is_called(self, name: str) -> bool:
        """Return whether the name is the key's fingerprint."""
        return name == fingerprint(self.public)

    def check(self, name: str, manifest: bytes, signature: bytes) -> None:
        """Raise ``BundleError`` unless the private key signed this manifest."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.public.verify(signature, signed_bytes(manifest))
        except InvalidSignature:
            raise _false(name) from None


def signed_bytes(manifest: bytes) -> bytes:
    """Return the bytes that a key signs: a line that separates domains, and the manifest."""
    return b"hearth bundle manifest 1\n" + manifest


def trusted_signers(paths: Iterable[Path]) -> list[TrustedSigner]:
    """Read trusted signers from files, each an Ed25519 public key in PEM or a Sigstore identity in JSON.

    Raises ``ConfigError`` for any other file.
    """
    return [_trusted_signer(path) for path in paths]


def _trusted_signer(path: Path) -> TrustedSigner:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}", hint=_key_hint(path)) from error
    if content.lstrip().startswith(b"{"):
        from hearth.discovery.trusted_identity import trusted_identity  # loads Sigstore's library

        return trusted_identity(path, content)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        public = load_pem_public_key(content)
    except ValueError:
        raise ConfigError(f"{path} holds no public key", hint=_key_hint(path)) from None
    if not isinstance(public, Ed25519PublicKey):
        raise ConfigError(f"{path} holds a key of another kind than Ed25519", hint=_key_hint(path))
    return TrustedKey(public)


def fingerprint(public: Ed25519PublicKey) -> str:
    """Return the name of a key in signatures: the SHA-256 of its bytes in hexadecimal digits."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def manifest_of(bundle: Bundle) -> bytes:
    """Return the manifest of a packed bundle, which is what is signed; raise ``BundleError`` without one."""
    if bundle.hashes is None:
        raise BundleError(f"it has no {MANIFEST}, so nothing in it can be signed", hint="pack it: hearth bundle pack")
    with bundle.opener() as tree, contextlib.closing(tree.open(_inside(bundle, MANIFEST))) as file:
        return file.read(tree.size(_inside(bundle, MANIFEST)))


def signatures_of(bundle: Bundle) -> list[dict[str, str]]:
    """Return the unverified signatures in a bundle; empty without a signature file."""
    with bundle.opener() as tree:
        if _inside(bundle, SIGNATURE) not in tree.children(bundle.top)[0]:
            return []
        text = tree.read_text(_inside(bundle, SIGNATURE))
    try:
        members = json.loads(text)
        if members["format"] != FORMAT:
            raise BundleError(f"{SIGNATURE} has a format that is not read here", hint="install a newer Hearth")
        return [{name: str(each[name]) for name in _MEMBERS} for each in members["signatures"]]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise BundleError(f"{SIGNATURE} is malformed ({type(error).__name__})", hint=_SIGN) from error


def signer(bundle: Bundle, trusted: Sequence[TrustedSigner]) -> str:
    """Return the trusted signer of a bundle; raise ``BundleError`` if there is none.

    A false signature in the name of a trusted signer rejects the bundle even if another signature is valid, and so
    does a file that the manifest does not list. The hashes of listed files are checked when they are read.
    """
    manifest, found = manifest_of(bundle), signatures_of(bundle)
    signed = Manifest.from_text(manifest.decode("utf-8", "replace"))
    if not bundle.is_described_by(signed):
        raise BundleError("it was replaced while it was being read", hint="try again")
    if not found:
        raise BundleError("it is not signed", hint=_SIGN)
    claims = [(each, [one for one in trusted if _is_claimed(each, one)]) for each in found]
    known = [(each, those) for each, those in claims if those]
    if not known:
        who = ", ".join(_shown(each["key"]) for each in found)
        raise BundleError(
            f"it is signed by {who}, which is not trusted here", hint="add that signer, if you trust him"
        )
    for each, those in known:
        _check(each, manifest, those)
    if unlisted := unlisted_files(bundle):
        raise BundleError(f"{unlisted[0]} is in it and was not signed", hint="do not use it; get it again")
    return known[0][0]["key"]


def _is_claimed(signature: dict[str, str], trusted: TrustedSigner) -> bool:
    return signature["algorithm"] == trusted.algorithm and trusted.is_called(signature["key"])


def _check(signature: dict[str, str], manifest: bytes, those: Sequence[TrustedSigner]) -> None:
    """Raise ``BundleError`` unless one of the signers with the claimed name made the signature."""
    try:
        content = base64.b64decode(signature["signature"], validate=True)
    except ValueError:  # includes binascii.Error
        raise _false(signature["key"]) from None
    refusals = []
    for one in those:
        try:
            return one.check(signature["key"], manifest, content)
        except BundleError as error:
            refusals.append(error)
    raise refusals[0]


def _false(name: str) -> BundleError:
    hint = "do not use it; get it again from where it was made"
    return BundleError(f"the signature of {_shown(name)} is not that of this bundle", hint=hint)


def _shown(name: str) -> str:
    """Return a signer's name for a message: the start of a fingerprint, the whole of an identity."""
    return name[:16] if _FINGERPRINT.fullmatch(name) else repr(name[:_LONGEST_NAME])


def unlisted_files(bundle: Bundle) -> Sequence[str]:
    """Return the files of a packed bundle that its manifest does not list."""
    with bundle.opener() as tree:
        found = {path[len(bundle.top) :].lstrip("/") for path in tree.walk(bundle.top)}
    return sorted(found - set(bundle.hashes or ()) - {MANIFEST, SIGNATURE})


def _inside(bundle: Bundle, name: str) -> str:
    return f"{bundle.top}/{name}".lstrip("/")


def _key_hint(path: Path) -> str:
    return f"`hearth bundle key {path.with_suffix('')}` makes a pair of keys, the public one ends with .pub"

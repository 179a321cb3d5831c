"""Signatures of packed bundles: who vouches for a manifest, and so for every file that it lists.

Signatures are over the bytes of the manifest, which has the SHA-256 of all else. They stand in the bundle as
``hearth-signature.json``: ``format``, and ``signatures`` of ``algorithm``, ``key`` (who has signed) and ``signature``
in base64. So a bundle stays one file, and what is renamed or mirrored stays signed. ``ed25519`` is a key of one's own,
named by the SHA-256 of the public key, over a fixed line and the manifest; ``sigstore`` is a Sigstore bundle, named by
the identity in its certificate.
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
from hearth.discovery.manifest import MANIFEST, Manifest
from hearth.discovery.refusal import BundleError
from hearth_api import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE = "hearth-signature.json"
"""The name of the file in a bundle, which its manifest does not list."""
FORMAT = 1
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_LONGEST_NAME = 300
_MEMBERS = ("algorithm", "key", "signature")
_SIGN = "sign it with `hearth bundle sign BUNDLE --key KEY`"


class TrustedSigner(Protocol):
    """Somebody whose signature is enough; safe to call from any thread."""

    @property
    def algorithm(self) -> str:
        """What a signature says that it was made with."""

    def is_called(self, name: str) -> bool:
        """Return whether a signature that names its signer so claims to be of this one."""

    def check(self, name: str, manifest: bytes, signature: bytes) -> None:
        """Raise ``BundleError`` unless it is his signature, of whom it names, of this very manifest."""


@dataclass(frozen=True)
class TrustedKey:
    """A public key of Ed25519."""

    algorithm: ClassVar[str] = "ed25519"
    public: Ed25519PublicKey

    def is_called(self, name: str) -> bool:
        """Return whether that is the key's fingerprint."""
        return name == fingerprint(self.public)

    def check(self, name: str, manifest: bytes, signature: bytes) -> None:
        """Raise ``BundleError`` unless the private key has signed this manifest."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.public.verify(signature, said_of(manifest))
        except InvalidSignature:
            raise _false(name) from None


def said_of(manifest: bytes) -> bytes:
    """Return what a key signs: a line with which nothing begins that it signs elsewhere, and the manifest."""
    return b"hearth bundle manifest 1\n" + manifest


def trusted_signers(paths: Iterable[Path]) -> list[TrustedSigner]:
    """Read who is trusted, each from a file: a public key of Ed25519 in PEM, or a Sigstore identity in JSON.

    Raises ``ConfigError`` for a file that holds neither.
    """
    return [_trusted_signer(path) for path in paths]


def _trusted_signer(path: Path) -> TrustedSigner:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}", hint=_key_hint(path)) from error
    if content.lstrip().startswith(b"{"):
        from hearth.discovery.trusted_identity import trusted_identity  # which loads Sigstore's library

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
    """Return what signatures call a key: the SHA-256 of its bytes, in hexadecimal digits."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def manifest_of(bundle: Bundle) -> bytes:
    """Return what is signed of a packed bundle; raises ``BundleError`` for one that has no manifest."""
    if bundle.hashes is None:
        raise BundleError(f"it has no {MANIFEST}, so nothing in it can be signed", hint="pack it: hearth bundle pack")
    with bundle.opener() as tree, contextlib.closing(tree.open(_inside(bundle, MANIFEST))) as file:
        return file.read(tree.size(_inside(bundle, MANIFEST)))


def signatures_of(bundle: Bundle) -> list[dict[str, str]]:
    """Return the signatures that stand in a bundle, none where there is no file of them; they may be false."""
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
    """Return who of those that are trusted has signed a bundle; raises ``BundleError`` where nobody has.

    A signature of one of them that is false condemns the bundle, whoever else has signed it, and so does a file
    that the manifest does not list. That the listed files are as signed is seen when they are read.
    """
    manifest, found = manifest_of(bundle), signatures_of(bundle)
    signed = Manifest.from_text(manifest.decode("utf-8", "replace"))
    was_signed = (signed.name, signed.version, signed.plugins, {file.path: file.sha256 for file in signed.files})
    if was_signed != (bundle.name, bundle.version, bundle.declarations, bundle.hashes):
        raise BundleError("it was exchanged while it was being read", hint="try again")
    if not found:
        raise BundleError("it is not signed", hint=_SIGN)
    claims = [(each, [one for one in trusted if _is_claimed(each, one)]) for each in found]
    known = [(each, those) for each, those in claims if those]
    if not known:
        who = ", ".join(_shown(each["key"]) for each in found)
        raise BundleError(f"it is signed by {who}, whom nobody here trusts", hint="add that signer, if you trust him")
    for each, those in known:
        _check(each, manifest, those)
    if unlisted := unlisted_files(bundle):
        raise BundleError(f"{unlisted[0]} is in it and was not signed", hint="do not use it; get it anew")
    return known[0][0]["key"]


def _is_claimed(signature: dict[str, str], trusted: TrustedSigner) -> bool:
    return signature["algorithm"] == trusted.algorithm and trusted.is_called(signature["key"])


def _check(signature: dict[str, str], manifest: bytes, those: Sequence[TrustedSigner]) -> None:
    """Raise ``BundleError`` unless a signature is that of one of those who may have the name that it claims."""
    try:
        content = base64.b64decode(signature["signature"], validate=True)
    except ValueError:  # of which binascii.Error is one
        raise _false(signature["key"]) from None
    refusals = []
    for one in those:
        try:
            return one.check(signature["key"], manifest, content)
        except BundleError as error:
            refusals.append(error)
    raise refusals[0]


def _false(name: str) -> BundleError:
    hint = "do not use it; get it anew from where it was made"
    return BundleError(f"the signature of {_shown(name)} is not that of this bundle", hint=hint)


def _shown(name: str) -> str:
    """Return who has signed as a message shows it: of a fingerprint the beginning, an identity whole."""
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

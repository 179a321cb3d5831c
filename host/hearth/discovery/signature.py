"""Signatures of packed bundles: who vouches for a manifest, and so for every file that it lists.

A signature is Ed25519 over a fixed text and the bytes of the manifest, which has the SHA-256 of all else; it stands in
the bundle as ``hearth-signature.json``: ``format``, and ``signatures`` of ``algorithm``, ``key`` (the SHA-256 of the
public key) and ``signature`` in base64. So a bundle stays one file, and what is renamed or mirrored stays signed.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.discovery.bundle import Bundle
from hearth.discovery.manifest import MANIFEST, Manifest
from hearth.discovery.refusal import BundleError
from hearth_api import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE = "hearth-signature.json"
"""The name of the file in a bundle, which its manifest does not list."""
FORMAT = 1
ALGORITHM = "ed25519"
_MEMBERS = ("algorithm", "key", "signature")
_SAYS = b"hearth bundle manifest 1\n"
_SIGN = "sign it with `hearth bundle sign BUNDLE --key KEY`"


def public_keys(paths: Iterable[Path]) -> dict[str, Ed25519PublicKey]:
    """Read public keys from PEM files; returns them by what signatures call them.

    Raises ``ConfigError`` for a file that holds none of Ed25519.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    found = {}
    for path in paths:
        try:
            public = load_pem_public_key(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}", hint=_key_hint(path)) from error
        except ValueError:
            raise ConfigError(f"{path} holds no public key", hint=_key_hint(path)) from None
        if not isinstance(public, Ed25519PublicKey):
            raise ConfigError(f"{path} holds a key of another kind than Ed25519", hint=_key_hint(path))
        found[fingerprint(public)] = public
    return found


def fingerprint(public: Ed25519PublicKey) -> str:
    """Return what signatures call a key: the SHA-256 of its bytes, in hexadecimal digits."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def signed_text(bundle: Bundle) -> bytes:
    """Return what is signed of a packed bundle; raises ``BundleError`` for one that has no manifest."""
    if bundle.hashes is None:
        raise BundleError(f"it has no {MANIFEST}, so nothing in it can be signed", hint="pack it: hearth bundle pack")
    with bundle.opener() as tree, contextlib.closing(tree.open(_inside(bundle, MANIFEST))) as file:
        return _SAYS + file.read(tree.size(_inside(bundle, MANIFEST)))


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
        return [
            {name: str(each[name]) for name in ("algorithm", "key", "signature")} for each in members["signatures"]
        ]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise BundleError(f"{SIGNATURE} is malformed ({type(error).__name__})", hint=_SIGN) from error


def signer(bundle: Bundle, keys: Mapping[str, Ed25519PublicKey]) -> str:
    """Return which of the keys has signed a bundle; raises ``BundleError`` where none has.

    A signature of one of the keys that is false condemns the bundle, whoever else has signed it, and so does a file
    that the manifest does not list. That the listed files are as signed is seen when they are read.
    """
    from cryptography.exceptions import InvalidSignature

    text, found = signed_text(bundle), signatures_of(bundle)
    signed = Manifest.from_text(text.removeprefix(_SAYS).decode("utf-8", "replace"))
    was_signed = (signed.name, signed.version, signed.plugins, {file.path: file.sha256 for file in signed.files})
    if was_signed != (bundle.name, bundle.version, bundle.declarations, bundle.hashes):
        raise BundleError("it was exchanged while it was being read", hint="try again")
    if not found:
        raise BundleError("it is not signed", hint=_SIGN)
    known = [each for each in found if each["algorithm"] == ALGORITHM and each["key"] in keys]
    if not known:
        who = ", ".join(each["key"][:16] for each in found)
        raise BundleError(f"it is signed by {who}, whom nobody here trusts", hint="add that key, if you trust it")
    for each in known:
        try:
            keys[each["key"]].verify(base64.b64decode(each["signature"], validate=True), text)
        except (InvalidSignature, binascii.Error):
            hint = "do not use it; get it anew from where it was made"
            raise BundleError(f"the signature of {each['key'][:16]} is not that of this bundle", hint=hint) from None
    if unlisted := unlisted_files(bundle):
        raise BundleError(f"{unlisted[0]} is in it and was not signed", hint="do not use it; get it anew")
    return known[0]["key"]


def unlisted_files(bundle: Bundle) -> Sequence[str]:
    """Return the files of a packed bundle that its manifest does not list."""
    with bundle.opener() as tree:
        found = {path[len(bundle.top) :].lstrip("/") for path in tree.walk(bundle.top)}
    return sorted(found - set(bundle.hashes or ()) - {MANIFEST, SIGNATURE})


def _inside(bundle: Bundle, name: str) -> str:
    return f"{bundle.top}/{name}".lstrip("/")


def _key_hint(path: Path) -> str:
    return f"`hearth bundle key {path.with_suffix('')}` makes a pair of keys, the public one ends with .pub"

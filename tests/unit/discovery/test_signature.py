"""A signature vouches for every file of a bundle, and for no other bundle."""

from __future__ import annotations

import base64
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError, read
from hearth.discovery.manifest import MANIFEST, SIGNATURE
from hearth.discovery.signature import TrustedKey, fingerprint, signatures_of, signer, trusted_signers
from hearth.packaging.sign import new_key, sign
from hearth_api import ConfigError
from tests.bundles import build


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a signed bundle, the key's files, and those of a key that signed nothing."""
    folder = tmp_path_factory.mktemp("signed")
    shutil.copy(build.packed("greeting_source"), folder / "signed.zip")
    for name in ("key", "other"):
        new_key(folder / name)
    sign(folder / "signed.zip", folder / "key")
    return folder


def bundle_at(location: Path) -> Bundle:
    """Read a bundle."""
    found = read(location)
    assert isinstance(found, Bundle)
    return found


def changed(folder: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Bundle:
    """Return the signed bundle with other files in it."""
    with zipfile.ZipFile(folder / "signed.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(target / "changed.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return bundle_at(target / "changed.zip")


def test_signer_is_named(folder: Path) -> None:
    """By the key that is trusted, whatever other keys are."""
    keys = trusted_signers([folder / "other.pub", folder / "key.pub"])
    assert isinstance(keys[1], TrustedKey)
    assert signer(bundle_at(folder / "signed.zip"), keys) == fingerprint(keys[1].public)


def test_signature_stays_in_the_bundle_whatever_it_is_stored_in(folder: Path, tmp_path: Path) -> None:
    """Unpacked it is signed as well."""
    shutil.unpack_archive(folder / "signed.zip", tmp_path / "unpacked")
    assert signer(bundle_at(tmp_path / "unpacked"), trusted_signers([folder / "key.pub"]))


def test_bundle_without_a_trusted_signature_is_refused(folder: Path) -> None:
    """Unsigned, signed by an untrusted key, or of a format that cannot be signed."""
    keys = trusted_signers([folder / "other.pub"])
    for location, words in (
        (build.packed("greeting_source"), "it is not signed"),
        (folder / "signed.zip", "which is not trusted here"),
        (build.wheel("greeting_transform"), f"it has no {MANIFEST}"),
    ):
        with pytest.raises(BundleError, match=words):
            signer(bundle_at(location), keys)


def _other_manifest(files: dict[str, bytes]) -> None:
    files[MANIFEST] = files[MANIFEST].replace(b"1.1", b"1.2", 1)


def _extra(files: dict[str, bytes]) -> None:
    files["wheels/extra.txt"] = b""


def _false(files: dict[str, bytes]) -> None:
    members = json.loads(files[SIGNATURE])
    members["signatures"][0]["signature"] = base64.b64encode(bytes(64)).decode()
    files[SIGNATURE] = json.dumps(members).encode()


def _no_base64(files: dict[str, bytes]) -> None:
    members = json.loads(files[SIGNATURE])
    members["signatures"][0]["signature"] = "!"
    files[SIGNATURE] = json.dumps(members).encode()


def _no_ascii(files: dict[str, bytes]) -> None:
    members = json.loads(files[SIGNATURE])
    members["signatures"][0]["signature"] = "é"
    files[SIGNATURE] = json.dumps(members, ensure_ascii=False).encode()


def _malformed(files: dict[str, bytes]) -> None:
    files[SIGNATURE] = b'{"format": 1, "signatures": [7]}'


def _other_format(files: dict[str, bytes]) -> None:
    files[SIGNATURE] = b'{"format": 2}'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_other_manifest, "is not that of this bundle"),
        (_extra, "wheels/extra.txt is in it and was not signed"),
        (_false, "is not that of this bundle"),
        (_no_base64, "is not that of this bundle"),
        (_no_ascii, "is not that of this bundle"),
        (_malformed, "is malformed"),
        (_other_format, "has a format"),
    ],
)
def test_altered_bundle_is_refused(
    change: Callable[[dict[str, bytes]], None], words: str, folder: Path, tmp_path: Path
) -> None:
    """The manifest, what it lists, what it does not list, the signature itself."""
    with pytest.raises(BundleError, match=words):
        signer(changed(folder, tmp_path, change), trusted_signers([folder / "key.pub"]))


def test_bundle_that_is_exchanged_while_it_is_read_is_refused(folder: Path, tmp_path: Path) -> None:
    """The signature must match the content that was read, not the file a moment later."""
    place = tmp_path / "bundle.zip"
    shutil.copy(build.packed("greeting_transform"), place)
    before = bundle_at(place)
    shutil.copy(folder / "signed.zip", place)
    with pytest.raises(BundleError, match="it was replaced while it was being read"):
        signer(before, trusted_signers([folder / "key.pub"]))


def test_a_bundle_can_have_signatures_of_several_signers(folder: Path, tmp_path: Path) -> None:
    """Signing again with the same key changes nothing: equal bundles have equal signatures."""
    target = tmp_path / "both.zip"
    shutil.copy(folder / "signed.zip", target)
    sign(target, folder / "key")
    assert target.read_bytes() == (folder / "signed.zip").read_bytes()
    sign(target, folder / "other")
    assert len(signatures_of(bundle_at(target))) == 2
    for name in ("key", "other"):
        assert signer(bundle_at(target), trusted_signers([folder / f"{name}.pub"]))


@pytest.mark.parametrize(("text", "words"), [(None, "no such file"), ("", "holds no public key")])
def test_file_without_a_public_key_is_refused(text: str | None, words: str, tmp_path: Path) -> None:
    """With the command that makes one."""
    if text is not None:
        (tmp_path / "k.pub").write_text(text)
    with pytest.raises(ConfigError, match=words) as raised:
        trusted_signers([tmp_path / "k.pub"])
    assert "hearth bundle key" in str(raised.value.hint)

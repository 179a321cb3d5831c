"""A key is its owner's alone, and signs what is whole and nothing else."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from hearth.discovery import BundleError
from hearth.packaging.sign import new_key, sign
from hearth.packaging.verify import verify
from hearth_api import ConfigError, ConflictError
from tests.bundles import build


def test_private_key_is_for_its_owner_and_is_never_overwritten(tmp_path: Path) -> None:
    """Without the old key no upgrade could be signed."""
    public = new_key(tmp_path / "key")
    assert public == tmp_path / "key.pub"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(ConflictError, match="already exists"):
        new_key(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == before


def test_incomplete_key_pair_is_removed(tmp_path: Path) -> None:
    """Else the next attempt would find a key without its other half; the name of the public one is too long here."""
    with pytest.raises(OSError, match="too long"):
        new_key(tmp_path / ("k" * 253))
    assert list(tmp_path.iterdir()) == []


def test_verify_refuses_the_signature_of_an_untrusted_signer(tmp_path: Path) -> None:
    """Before anything of the bundle runs."""
    bundle = tmp_path / "bundle.zip"
    shutil.copy(build.packed("greeting_source"), bundle)
    keys = [new_key(tmp_path / name) for name in ("mine", "other")]
    name = sign(bundle, tmp_path / "mine")
    wrong = [check for check in verify(bundle, keys=keys[1:]) if not check.is_ok]
    assert [(check.name, check.detail) for check in wrong] == [
        ("signature", f"it is signed by {name[:16]}, which is not trusted here")
    ]


def test_verify_refuses_an_unsigned_requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that asks for signatures would; it is well without them."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", build.index(tmp_path / "index", {build.wheel("greeting_1"): ""}))
    lacking, public = build.lacking(tmp_path), new_key(tmp_path / "key")
    sign(lacking, tmp_path / "key")
    (wrong,) = [check for check in verify(lacking, keys=[public]) if not check.is_ok]
    assert wrong.name == "signature"
    assert wrong.detail.startswith("it needs greeting==1.0, which is not in it")
    assert all(check.is_ok for check in verify(lacking))


def test_an_unpacked_or_damaged_bundle_is_not_signed(tmp_path: Path) -> None:
    """A wheel has no manifest, and a damaged bundle must not be signed."""
    new_key(tmp_path / "key")
    for location in (build.truncated(tmp_path), build.wheel("marks_on_import")):
        with pytest.raises(BundleError):
            sign(location, tmp_path / "key")


def test_file_without_a_private_key_is_refused(tmp_path: Path) -> None:
    """The public one will not do."""
    public = new_key(tmp_path / "key")
    for path, words in ((public, "holds no private key"), (tmp_path / "none", "no such file")):
        with pytest.raises(ConfigError, match=words):
            sign(build.packed("greeting_source"), path)

"""Bundles are signed with a Sigstore identity, also by other programs; a refusal changes no bundle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.cli.main import run
from hearth.discovery import Bundle, read
from hearth.discovery.signature import manifest_of, signatures_of
from hearth.packaging.keyless import TOKEN, sign_keyless
from hearth.packaging.sign import new_key, sign
from tests.bundles import build
from tests.sigstore_authority import SigstoreAuthority, served, token


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Provide a bundle that a key has signed."""
    shutil.copy(build.packed("greeting_source"), tmp_path / "bundle.zip")
    new_key(tmp_path / "key")
    sign(tmp_path / "bundle.zip", tmp_path / "key")
    return tmp_path / "bundle.zip"


@pytest.fixture(scope="module")
def authority() -> Iterator[SigstoreAuthority]:
    """Provide a Sigstore."""
    with served() as found:
        yield found


@pytest.fixture
def config(authority: SigstoreAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sign in as me@shop.com, and provide the trust configuration of the Sigstore."""
    monkeypatch.setenv(TOKEN, token("me@shop.com", "https://issuer.example"))
    return authority.trust_config(tmp_path / "keys.json")


def signed_by(location: Path) -> list[str]:
    """Return the algorithm and signer of a bundle's signatures."""
    found = read(location)
    assert isinstance(found, Bundle)
    return [f"{each['algorithm']} {each['key'][:11]}" for each in signatures_of(found)]


def test_command_keeps_other_signatures(
    bundle: Path,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A second signature replaces the first of the same identity; `verify` gets the trusted identity."""
    before = signed_by(bundle)
    for _ in range(2):
        assert run(["bundle", "sign", str(bundle), "--sigstore", "--trust-config", str(config)]) == 0
        assert capsys.readouterr() == (f"{bundle} is signed by me@shop.com, according to https://issuer.example\n", "")
    assert signed_by(bundle) == [*before, "sigstore me@shop.com"]
    assert run(["bundle", "describe", str(bundle)]) == 0
    assert "\nsigned by me@shop.com (not checked)\n" in capsys.readouterr().out
    assert run(["bundle", "describe", str(bundle), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signed_by"][1:] == ["me@shop.com"]
    trusted = tmp_path / "trusted.json"
    members = {"identity": "me@shop.com", "issuer": "https://issuer.example", "trust_config": "keys.json"}
    trusted.write_text(json.dumps(members))
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert run(["bundle", "verify", str(bundle), "--signature", str(trusted)]) == 0
    line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("signature"))
    assert line.endswith("by me@shop.com")


def test_a_signature_of_another_program_is_added_if_it_matches_the_bundle(
    bundle: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signed file is the manifest inside the bundle."""
    before = bundle.read_bytes()
    found = read(bundle)
    assert isinstance(found, Bundle)
    made = tmp_path / "hearth-bundle.json.sigstore.json"
    words = ["bundle", "sign", str(bundle), "--sigstore-bundle", str(made), "--trust-config", str(config)]
    for text, reason in ((sign_keyless(b"another", config), "digest mismatch"), ("{}", "failed to load bundle")):
        made.write_text(text)
        assert run(words) == 2
        assert reason in capsys.readouterr().err
        assert bundle.read_bytes() == before
    made.write_text(sign_keyless(manifest_of(found), config))
    assert run(words) == 0
    assert signed_by(bundle)[1:] == ["sigstore me@shop.com"]


def test_sigstore_refusal_and_absence_are_reported(
    bundle: Path,
    authority: SigstoreAuthority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The bundle stays as it was, and no stack trace is shown."""
    before = bundle.read_bytes()
    away = SigstoreAuthority().trust_config(tmp_path / "away.json")
    here = authority.trust_config(tmp_path / "keys.json")
    for text, config in (("no token", here), (token("me@shop.com", "https://issuer.example"), away)):
        monkeypatch.setenv(TOKEN, text)
        assert run(["bundle", "sign", str(bundle), "--sigstore", "--trust-config", str(config)]) == 3
        err = capsys.readouterr().err
        assert err.startswith("error: Sigstore did not sign: ")
        assert "Traceback" not in err
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("words", [[], ["--key", "key", "--sigstore"]])
def test_one_signs_at_a_time(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command requires exactly one way to sign."""
    assert run(["bundle", "sign", "bundle.zip", *words]) == 2
    assert "give exactly one of --key" in capsys.readouterr().err

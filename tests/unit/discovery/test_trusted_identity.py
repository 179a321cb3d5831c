"""A Sigstore identity is trusted for what it signed, at its issuer, with the keys of its Sigstore alone."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.discovery import Bundle, BundleError, read
from hearth.discovery.signature import signer, trusted_signers
from hearth.discovery.trust import trust_of
from hearth.packaging.keyless import TOKEN
from hearth.packaging.sign import new_key, sign, sign_with_sigstore
from hearth_api import ConfigError
from tests.bundles import build
from tests.page import block
from tests.sigstore_authority import SigstoreAuthority, served, token

WORKFLOW = "https://github.com/shop/orders/.github/workflows/release.yml@refs/tags/v1"
ISSUER = "https://token.actions.githubusercontent.com"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a bundle that a workflow has signed, and the file of its Sigstore's keys."""
    folder = tmp_path_factory.mktemp("sigstore")
    shutil.copy(build.packed("greeting_source"), folder / "signed.zip")
    with served() as authority, pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN, token(WORKFLOW, ISSUER))
        config = authority.trust_config(folder / "keys.json")
        assert sign_with_sigstore(folder / "signed.zip", config) == (WORKFLOW, ISSUER)
    return folder


@pytest.fixture
def trusting(folder: Path) -> Callable[..., Path]:
    """Provide a function that writes a file with a trusted identity."""

    def write(identity: str = WORKFLOW, issuer: str = ISSUER, trust_config: str = "keys.json") -> Path:
        path = folder / "trusted.json"
        path.write_text(json.dumps({"identity": identity, "issuer": issuer, "trust_config": trust_config}))
        return path

    return write


def bundle_at(location: Path) -> Bundle:
    """Read a bundle."""
    found = read(location)
    assert isinstance(found, Bundle)
    return found


@pytest.mark.parametrize("identity", [WORKFLOW, WORKFLOW.rpartition("@")[0] + "@*"])
def test_signer_is_named_by_its_identity(identity: str, folder: Path, trusting: Callable[..., Path]) -> None:
    """Also where any that begins so is trusted; a worker asks the same."""
    assert signer(bundle_at(folder / "signed.zip"), trusted_signers([trusting(identity)])) == WORKFLOW
    worker = {"plugin.trust": "signed", "plugin.trust.keys": str(folder / "trusted.json")}
    trust_of(worker).admit(bundle_at(folder / "signed.zip"))


def test_the_file_of_the_guide_trusts_a_workflow(folder: Path) -> None:
    """With the keys of this Sigstore."""
    members = json.loads(block("json", "issuer"))
    (folder / "guide.json").write_text(json.dumps({**members, "trust_config": "keys.json"}))
    assert signer(bundle_at(folder / "signed.zip"), trusted_signers([folder / "guide.json"])) == WORKFLOW


def test_other_identities_and_issuers_are_not_taken_for_it(folder: Path, trusting: Callable[..., Path]) -> None:
    """The same name at another issuer is not trusted."""
    bundle = bundle_at(folder / "signed.zip")
    with pytest.raises(BundleError, match=r"signed by '.*v1', which is not trusted here"):
        signer(bundle, trusted_signers([trusting(WORKFLOW + "0")]))
    with pytest.raises(BundleError, match=r"is not valid: .*OIDCIssuer"):
        signer(bundle, trusted_signers([trusting(issuer="https://issuer.example")]))


def test_same_name_of_two_issuers_matches_the_signing_issuer(folder: Path, trusting: Callable[..., Path]) -> None:
    """The other one is no reason to refuse."""
    trusted = [*trusted_signers([trusting(issuer="https://issuer.example")]), *trusted_signers([trusting()])]
    assert signer(bundle_at(folder / "signed.zip"), trusted) == WORKFLOW


def test_certificate_of_another_authority_proves_nothing(
    folder: Path, trusting: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can make one that gives certificates to himself; the public Sigstore knows nothing of it either."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    SigstoreAuthority().trust_config(folder / "others.json")
    (folder / "public.json").write_text(json.dumps({"identity": WORKFLOW, "issuer": ISSUER}))
    for path in (trusting(trust_config="others.json"), folder / "public.json"):
        with pytest.raises(BundleError, match="is not valid"):
            signer(bundle_at(folder / "signed.zip"), trusted_signers([path]))


def test_keys_of_the_public_sigstore_need_a_place(
    tmp_path: Path, trusting: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library keeps them in the user's cache; where it cannot, they are to be named."""
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "public.json").write_text(json.dumps({"identity": WORKFLOW, "issuer": ISSUER}))
    with pytest.raises(ConfigError, match="the keys of the public Sigstore cannot be kept") as raised:
        trusted_signers([tmp_path / "public.json"])
    assert "trust_config" in str(raised.value.hint)


@pytest.mark.parametrize("signature", ["", "{}", "e30=", "bm9uc2Vuc2U="])
def test_bytes_that_are_no_sigstore_bundle_prove_nothing(
    signature: str, folder: Path, trusting: Callable[..., Path], tmp_path: Path
) -> None:
    """Whatever error the library raises."""
    shutil.unpack_archive(folder / "signed.zip", tmp_path)
    path = tmp_path / "hearth-signature.json"
    members = json.loads(path.read_text())
    members["signatures"][0]["signature"] = signature
    path.write_text(json.dumps(members))
    with pytest.raises(BundleError, match=r"is not valid|is not that of this bundle"):
        signer(bundle_at(tmp_path), trusted_signers([trusting()]))


def test_signature_of_another_bundle_proves_nothing(
    folder: Path, trusting: Callable[..., Path], tmp_path: Path
) -> None:
    """A valid signature of another trusted key does not make up for it."""
    shutil.unpack_archive(folder / "signed.zip", tmp_path / "signed")
    shutil.unpack_archive(build.packed("greeting_transform"), tmp_path / "other")
    shutil.copy(tmp_path / "signed" / "hearth-signature.json", tmp_path / "other")
    shutil.make_archive(str(tmp_path / "other"), "zip", tmp_path / "other")
    key = new_key(tmp_path / "key")
    sign(tmp_path / "other.zip", tmp_path / "key")
    other = bundle_at(tmp_path / "other.zip")
    with pytest.raises(BundleError, match="is not valid: Bundle message digest mismatch"):
        signer(other, trusted_signers([key, trusting()]))
    assert signer(other, trusted_signers([key]))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ("{", "is not JSON"),
        ('{"identity": "a"}', "'issuer' is missing"),
        ('{"identity": "a", "issuer": "b", "trustconfig": "c"}', "'trustconfig' is not known"),
        ('{"identity": "*", "issuer": "b"}', r"'identity' is '\*'"),
        ('{"identity": ["a"], "issuer": "b"}', r"'identity' is \['a'\]"),
        ('{"identity": "a", "issuer": "b", "trust_config": "none.json"}', "no such file"),
        ('{"identity": "a", "issuer": "b", "trust_config": "trusted.json"}', "holds no keys of a Sigstore"),
    ],
)
def test_invalid_identity_file_is_refused(members: str, words: str, tmp_path: Path) -> None:
    """A misspelled member would otherwise trust everybody or nobody."""
    path = tmp_path / "trusted.json"
    path.write_text(members)
    with pytest.raises(ConfigError, match=words) as raised:
        trusted_signers([path])
    assert raised.value.hint


def test_missing_library_is_named(trusting: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "sigstore.models", None)
    with pytest.raises(ConfigError, match=r"sigstore\.models, which is not installed") as raised:
        trusted_signers([trusting()])
    assert raised.value.hint == "pip install 'hearth-connect[sigstore]'"

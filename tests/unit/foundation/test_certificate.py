"""The key of a host and its certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from hearth.foundation.certificate import Identity, IdentityFailed, make_identity, new_identity


def test_openssl_accepts_key_and_certificate(tmp_path: Path) -> None:
    """It checks that the public key belongs to the private one."""
    identity = new_identity()
    path = tmp_path / "identity.pem"
    path.write_text(identity.key + identity.certificate)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_key_of_another_identity_does_not_match(tmp_path: Path) -> None:
    """No two identities share anything."""
    path = tmp_path / "mixed.pem"
    path.write_text(make_identity().key + make_identity().certificate)
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_missing_library_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In one line, and with what to do."""
    (tmp_path / "cryptography.py").write_text("raise ImportError('built for another machine')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(IdentityFailed, match="could not be created: ImportError: built for another machine") as caught:
        new_identity()
    assert caught.value.hint == "reinstall cryptography"


def test_key_is_not_shown() -> None:
    """What is printed by accident is the certificate only."""
    assert "PRIVATE" not in repr(Identity("certificate", "PRIVATE"))

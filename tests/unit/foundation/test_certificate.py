"""The key a host makes for itself, and its certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from hearth.foundation.certificate import Identity, new_identity


def test_openssl_takes_key_and_certificate_as_a_pair(tmp_path: Path) -> None:
    """It checks that the public key belongs to the private one."""
    identity = new_identity()
    path = tmp_path / "identity.pem"
    path.write_text(identity.key + identity.certificate)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_key_of_another_does_not_fit_the_certificate(tmp_path: Path) -> None:
    """No two identities share anything."""
    path = tmp_path / "mixed.pem"
    path.write_text(new_identity().key + new_identity().certificate)
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_key_is_not_shown() -> None:
    """What is printed by accident is the certificate only."""
    assert "PRIVATE" not in repr(Identity("certificate", "PRIVATE"))

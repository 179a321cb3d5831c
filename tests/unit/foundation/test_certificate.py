"""The key a host makes for itself, and its certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from hearth.foundation.certificate import _ORDER, _P, Identity, multiple, new_identity


@pytest.mark.parametrize(
    ("factor", "x", "y"),
    [
        (
            1,
            "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296",
            "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5",
        ),
        (
            2,
            "7CF27B188D034F7E8A52380304B51AC3C08969E277F21B35A60B48FC47669978",
            "07775510DB8ED040293D9AC69F7430DBBA7DADE63CE982299E04B79D227873D1",
        ),
        (  # the key of RFC 6979, A.2.5
            0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721,
            "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6",
            "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299",
        ),
    ],
)
def test_points_are_those_of_the_standard(factor: int, x: str, y: str) -> None:
    """A public key is the private one times the generator of P-256."""
    assert multiple(factor) == (int(x, 16), int(y, 16))


def test_greatest_factor_gives_the_opposite_of_the_generator() -> None:
    """Every number that may be drawn has a point."""
    x, y = multiple(1)
    assert multiple(_ORDER - 1) == (x, _P - y)


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

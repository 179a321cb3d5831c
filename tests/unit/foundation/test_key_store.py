"""Keystores as Java's settings name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.foundation.key_store import is_javas_suite, store_type, unfolded


@pytest.mark.parametrize(
    ("begin", "named", "expected"),
    [
        (b"\xfe\xed\xfe\xed", None, "JKS"),
        (b"0\x82", None, "PKCS12"),
        (b"0\x82", "jks", "PKCS12"),
        (b"-----BEGIN", None, "PEM"),
        (b"", None, "JKS"),
        (b"0\x82", "pem", "PEM"),
    ],
)
def test_content_decides_the_type_of_a_default_store(
    tmp_path: Path, begin: bytes, named: str | None, expected: str
) -> None:
    """Java's default type, JKS, opens PKCS12 files."""
    (tmp_path / "store").write_bytes(begin)
    assert store_type(str(tmp_path / "store"), named) == expected


def test_pem_on_one_line_is_unfolded() -> None:
    """As properties files hold it."""
    assert (
        unfolded("-----BEGIN A B-----\tab cd -----END A B-----  ")
        == "-----BEGIN A B-----\nab\ncd\n-----END A B-----\n"
    )


@pytest.mark.parametrize(
    ("suite", "expected"),
    [("TLS_AES_128_GCM_SHA256", True), ("SSL_RSA_WITH_DES_CBC_SHA", True), ("AES256-SHA", False)],
)
def test_javas_suite_names_are_recognized(suite: str, expected: bool) -> None:
    """OpenSSL would leave them out without a word."""
    assert is_javas_suite(suite) == expected

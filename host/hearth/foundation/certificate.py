"""A key pair of this process's own and the certificate that carries its public half.

Made at start, used as long as the process lives, never stored. The certificate is a box for the key: whoever relies on
it was handed it beforehand and compares the whole of it, so it names nobody and never expires. Everything a peer can
time or choose is done by OpenSSL; here one random number is multiplied, once.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_GENERATOR = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
"""The curve NIST P-256 (FIPS 186-5), whose equation is y^2 = x^3 - 3x + b."""

_SIGNED_WITH = bytes.fromhex("06082a8648ce3d040302")  # ecdsa-with-SHA256
_KEY_TYPE = bytes.fromhex("06072a8648ce3d0201")  # ecPublicKey
_CURVE = bytes.fromhex("06082a8648ce3d030107")  # prime256v1
_COMMON_NAME = bytes.fromhex("0603550403")

Point = tuple[int, int]


@dataclass(frozen=True)
class Identity:
    """A private key and its certificate, both as PEM; only the certificate may be shown to others."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        """Return a text that does not give the key away."""
        return f"Identity(certificate={self.certificate!r})"


def new_identity() -> Identity:
    """Make a key and a certificate that is signed with it."""
    private = secrets.randbelow(_ORDER - 1) + 1
    public = b"\4" + b"".join(each.to_bytes(32, "big") for each in multiple(private))
    return Identity(_pem("CERTIFICATE", _certificate(private, public)), _pem("EC PRIVATE KEY", _key(private, public)))


def multiple(factor: int) -> Point:
    """Return a multiple of the curve's generator; the factor is positive and less than the generator's order."""
    total: Point | None = None
    term = _GENERATOR
    while factor:
        if factor & 1:
            total = _sum(total, term)
        term = _sum(term, term)
        factor >>= 1
    assert total is not None
    return total


def _sum(first: Point | None, second: Point) -> Point:
    """Add two points, which are never each other's opposite where a factor is less than the order."""
    if first is None:
        return second
    (x1, y1), (x2, y2) = first, second
    slope = 3 * (x1 * x1 - 1) * pow(2 * y1, -1, _P) if first == second else (y2 - y1) * pow(x2 - x1, -1, _P)
    x3 = (slope * slope - x1 - x2) % _P
    return x3, (slope * (x1 - x3) - y1) % _P


def _certificate(private: int, public: bytes) -> bytes:
    name = _sequence(_der(0x31, _sequence(_COMMON_NAME, _der(0x0C, b"hearth"))))
    validity = _sequence(_der(0x18, b"20000101000000Z"), _der(0x18, b"99991231235959Z"))
    holder = _sequence(_sequence(_KEY_TYPE, _CURVE), _bits(public))
    algorithm = _sequence(_SIGNED_WITH)
    version = _der(0xA0, _integer(2))
    content = _sequence(version, _integer(secrets.randbits(120)), algorithm, name, validity, name, holder)
    return _sequence(content, algorithm, _bits(_signature(private, content)))


def _signature(private: int, content: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(content).digest(), "big")
    once = secrets.randbelow(_ORDER - 1) + 1
    first = multiple(once)[0] % _ORDER
    return _sequence(_integer(first), _integer(pow(once, -1, _ORDER) * (digest + first * private) % _ORDER))


def _key(private: int, public: bytes) -> bytes:
    number = _der(0x04, private.to_bytes(32, "big"))
    return _sequence(_integer(1), number, _der(0xA0, _CURVE), _der(0xA1, _bits(public)))


def _der(tag: int, *parts: bytes) -> bytes:
    """Return a value in DER (ITU-T X.690)."""
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, *parts)


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _der(0x03, b"\0", content)


def _pem(label: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode().replace("\n", "")
    lines = "\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"

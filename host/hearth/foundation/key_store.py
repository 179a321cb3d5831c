"""Keystores and truststores as Java's settings name them: which type one is, and what helps if only Java reads it."""

from __future__ import annotations

import re

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
_JKS_BEGIN = b"\xfe\xed\xfe\xed"
_JCEKS_BEGIN = b"\xce\xce\xce\xce"
_DER_BEGIN = b"\x30"
_PEM_BEGIN = b"-----"
_JAVA_SUITE = re.compile(r"(TLS|SSL)_\w+_WITH_\w+|TLS_(AES|CHACHA20)_\w+")
OPENSSL_SUITES = "`openssl ciphers -stdname` lists both, e.g. ECDHE-RSA-AES256-GCM-SHA384"
"""What helps whoever named a cipher suite as Java does."""
_TO_PKCS12 = (
    "keytool -importkeystore -srckeystore {0} -destkeystore {0}.p12 -deststoretype PKCS12, "
    "then name that file with {1}.type=PKCS12"
)
_TO_PEM = "keytool -list -rfc -keystore {0} > {0}.pem, then name that file with {1}.type=PEM"


def store_type(location: str, named: str | None) -> str:
    """Return the type of a store; raises OSError where that depends on a file that cannot be read.

    Java's default type, JKS, opens PKCS12 files as well; so what the file holds decides.
    """
    wanted = (named or JKS).upper()
    if wanted != JKS:
        return wanted
    with open(location, "rb") as file:
        begin = file.read(len(_PEM_BEGIN))
    if begin.startswith(_JKS_BEGIN):
        return JKS
    return PKCS12 if begin.startswith(_DER_BEGIN) else PEM if begin == _PEM_BEGIN else JKS


def is_jks(location: str) -> bool:
    """Return whether a file is a keystore as only Java makes them; raises OSError."""
    with open(location, "rb") as file:
        return file.read(len(_JKS_BEGIN)) in (_JKS_BEGIN, _JCEKS_BEGIN)


def is_empty(location: str) -> bool:
    """Return whether there is nothing in a file but blanks; raises OSError."""
    with open(location, "rb") as file:
        return not file.read(1000).strip()


def to_pkcs12(location: str, key: str) -> str:
    """Return what makes a keystore one that OpenSSL reads; `key` is what its settings begin with."""
    return _TO_PKCS12.format(location, key)


def to_pem(location: str, key: str) -> str:
    """Return what makes a truststore one that OpenSSL reads; `key` is what its settings begin with."""
    return _TO_PEM.format(location, key)


def is_javas_suite(suite: str) -> bool:
    """Return whether a cipher suite is named as Java does, which OpenSSL does not understand."""
    return _JAVA_SUITE.fullmatch(suite) is not None


def unfolded(pem: str) -> str:
    """Give PEM text its line ends back: Java reads it on one line, with blanks between the parts."""
    return re.sub(
        r"(-----BEGIN [A-Z0-9 ]+-----)(.*?)(-----END [A-Z0-9 ]+-----)\s*",
        lambda found: "\n".join((found[1], *found[2].split(), found[3], "")),
        pem,
        flags=re.DOTALL,
    )

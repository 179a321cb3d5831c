"""Keystores and truststores of Java's settings: their types, and conversions of those that only Java reads."""

from __future__ import annotations

import re

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
_JKS_BEGIN = b"\xfe\xed\xfe\xed"
_JCEKS_BEGIN = b"\xce\xce\xce\xce"
_DER_BEGIN = b"\x30"
_PEM_BEGIN = b"-----"
_JAVA_SUITE = re.compile(r"(TLS|SSL)_\w+_WITH_\w+|TLS_(AES|CHACHA20)_\w+")
OPENSSL_SUITES = "`openssl ciphers -stdname` lists both, e.g. ECDHE-RSA-AES256-GCM-SHA384"
"""The hint for a cipher suite with Java's name."""
_TO_PKCS12 = (
    "keytool -importkeystore -srckeystore {0} -destkeystore {0}.p12 -deststoretype PKCS12, "
    "then set that file with {1}.type=PKCS12"
)
_TO_PEM = "keytool -list -rfc -keystore {0} > {0}.pem, then set that file with {1}.type=PEM"


def store_type(location: str, named: str | None) -> str:
    """Return the type of a store; raises OSError if the file has to be read and cannot be.

    Java's default type, JKS, also opens PKCS12 files, so for that type the content of the file decides.
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
    """Return whether a file is a keystore in a format of Java's; raises OSError."""
    with open(location, "rb") as file:
        return file.read(len(_JKS_BEGIN)) in (_JKS_BEGIN, _JCEKS_BEGIN)


def is_empty(location: str) -> bool:
    """Return whether a file contains only white space; raises OSError."""
    with open(location, "rb") as file:
        return not file.read(1000).strip()


def to_pkcs12(location: str, key: str) -> str:
    """Return the command that converts a keystore for OpenSSL; `key` is the prefix of its settings."""
    return _TO_PKCS12.format(location, key)


def to_pem(location: str, key: str) -> str:
    """Return the command that converts a truststore for OpenSSL; `key` is the prefix of its settings."""
    return _TO_PEM.format(location, key)


def is_javas_suite(suite: str) -> bool:
    """Return whether a cipher suite has Java's name, which OpenSSL does not accept."""
    return _JAVA_SUITE.fullmatch(suite) is not None


def unfolded(pem: str) -> str:
    """Restore the line ends of PEM text: Java accepts it on one line, with blanks between the parts."""
    return re.sub(
        r"(-----BEGIN [A-Z0-9 ]+-----)(.*?)(-----END [A-Z0-9 ]+-----)\s*",
        lambda found: "\n".join((found[1], *found[2].split(), found[3], "")),
        pem,
        flags=re.DOTALL,
    )

"""Keystores, truststores and cipher suites: what OpenSSL can read is handed over, the rest is refused."""

from __future__ import annotations

import re

from hearth.kafka.client.rule import ClientRequest

_JKS = b"\xfe\xed\xfe\xed"
_DER = b"\x30"
_PEM = b"-----"
_JAVA_SUITE = re.compile(r"(TLS|SSL)_\w+_WITH_\w+|TLS_(AES|CHACHA20)_\w+")
_TO_PKCS12 = (
    "keytool -importkeystore -srckeystore {0} -destkeystore {0}.p12 -deststoretype PKCS12, "
    "then name that file with {1}.type=PKCS12"
)
_TO_PEM = "keytool -list -rfc -keystore {0} > {0}.pem, then name that file with {1}.type=PEM"


def keystore(request: ClientRequest, _key: str) -> None:
    """Hand over the client's own key and certificate.

    PEM: one file that holds both, or both as text. PKCS12: the file and its password. JKS is Java's alone.
    """
    if request.get("ssl.keystore.key") or request.get("ssl.keystore.certificate.chain"):
        _pass(request, "ssl.keystore.key", "ssl.key.pem", unfold=True)
        _pass(request, "ssl.keystore.certificate.chain", "ssl.certificate.pem", unfold=True)
        _pass(request, "ssl.key.password", "ssl.key.password")
        return
    kind = _kind(request, "ssl.keystore")
    if kind == "PEM":
        _pass(request, "ssl.keystore.location", "ssl.certificate.location")
        _pass(request, "ssl.keystore.location", "ssl.key.location")
        _pass(request, "ssl.key.password", "ssl.key.password")
    elif kind == "PKCS12":
        _pass(request, "ssl.keystore.location", "ssl.keystore.location")
        _pass(request, "ssl.keystore.password", "ssl.keystore.password")
        if request.get("ssl.key.password") not in (None, request.get("ssl.keystore.password")):
            request.warn("ssl.key.password", "is not honoured, a PKCS12 keystore has one password for all")
    elif kind is not None:
        raise _unreadable(request, "ssl.keystore", kind, _TO_PKCS12)


def truststore(request: ClientRequest, _key: str) -> None:
    """Hand over the certificates that brokers are checked against; librdkafka reads them as PEM only."""
    if request.get("ssl.truststore.certificates"):
        _pass(request, "ssl.truststore.certificates", "ssl.ca.pem", unfold=True)
        return
    kind = _kind(request, "ssl.truststore")
    if kind == "PEM":
        _pass(request, "ssl.truststore.location", "ssl.ca.location")
    elif kind is not None:
        raise _unreadable(request, "ssl.truststore", kind, _TO_PEM)


def cipher_suites(request: ClientRequest, key: str) -> None:
    """Hand over OpenSSL's names; Java's are another language, and leaving them out would widen the choice."""
    suites = [suite.strip() for suite in request.java[key].split(",") if suite.strip()]
    for suite in suites:
        if _JAVA_SUITE.fullmatch(suite):
            raise request.refuse(
                key,
                f"{suite} is Java's name of a cipher suite, librdkafka knows OpenSSL's",
                "`openssl ciphers -stdname` lists both, e.g. ECDHE-RSA-AES256-GCM-SHA384",
            )
    if suites:
        request.set(key, ":".join(suites))


def _kind(request: ClientRequest, store: str) -> str | None:
    """Return the type of a store, None when there is none.

    Java's default type, JKS, opens PKCS12 files as well; so what the file holds decides, when it can be read.
    """
    location = request.get(f"{store}.location")
    if location is None:
        return None
    named = (request.get(f"{store}.type") or "JKS").upper()
    if named != "JKS":
        return named
    try:
        with open(location, "rb") as file:
            begin = file.read(5)
    except OSError as error:
        raise request.refuse(
            f"{store}.location", f"{location!r} cannot be read: {error.strerror}", "name a readable file"
        ) from error
    if begin.startswith(_JKS):
        return "JKS"
    return "PKCS12" if begin.startswith(_DER) else "PEM" if begin == _PEM else "JKS"


def _unreadable(request: ClientRequest, store: str, kind: str, remedy: str) -> Exception:
    location = request.get(f"{store}.location")
    return request.refuse(
        f"{store}.location",
        f"{location!r} is of type {kind}, which librdkafka cannot read",
        remedy.format(location, store),
    )


def _pass(request: ClientRequest, java: str, name: str, unfold: bool = False) -> None:
    value = request.get(java)
    if value is not None:
        request.set(name, _lines(value) if unfold else value)


def _lines(pem: str) -> str:
    """Give PEM text its line ends back: Java reads it on one line, with blanks between the parts."""
    return re.sub(
        r"(-----BEGIN [A-Z0-9 ]+-----)(.*?)(-----END [A-Z0-9 ]+-----)\s*",
        lambda found: "\n".join((found[1], *found[2].split(), found[3], "")),
        pem,
        flags=re.DOTALL,
    )

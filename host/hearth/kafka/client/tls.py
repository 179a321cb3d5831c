"""Keystores, truststores and cipher suites: passes what OpenSSL can read, refuses the rest."""

from __future__ import annotations

from collections.abc import Callable

from hearth.foundation.key_store import (
    JKS,
    OPENSSL_SUITES,
    PEM,
    PKCS12,
    is_empty,
    is_javas_suite,
    is_jks,
    store_type,
    to_pem,
    to_pkcs12,
    unfolded,
)
from hearth.kafka.client.rule import ClientRequest


def keystore(request: ClientRequest, _key: str) -> None:
    """Pass the client's key and certificate.

    PEM: one file with both, or both as text. PKCS12: the file and its password. Only Java reads JKS.
    """
    if request.get("ssl.keystore.key") or request.get("ssl.keystore.certificate.chain"):
        _pass(request, "ssl.keystore.key", "ssl.key.pem", unfold=True)
        _pass(request, "ssl.keystore.certificate.chain", "ssl.certificate.pem", unfold=True)
        _pass(request, "ssl.key.password", "ssl.key.password")
        return
    kind = _kind(request, "ssl.keystore")
    if kind == PEM:
        _pass(request, "ssl.keystore.location", "ssl.certificate.location")
        _pass(request, "ssl.keystore.location", "ssl.key.location")
        _pass(request, "ssl.key.password", "ssl.key.password")
    elif kind == PKCS12:
        _pass(request, "ssl.keystore.location", "ssl.keystore.location")
        _pass(request, "ssl.keystore.password", "ssl.keystore.password")
        if request.get("ssl.key.password") not in (None, request.get("ssl.keystore.password")):
            request.warn("ssl.key.password", "is not honoured, a PKCS12 keystore has one password for all")
    elif kind is not None:
        raise _unreadable(request, "ssl.keystore", kind, to_pkcs12)


def truststore(request: ClientRequest, _key: str) -> None:
    """Pass the certificates that brokers are checked against; librdkafka reads only PEM."""
    if request.get("ssl.truststore.certificates"):
        _pass(request, "ssl.truststore.certificates", "ssl.ca.pem", unfold=True)
        return
    kind = _kind(request, "ssl.truststore")
    if kind == PEM:
        _pass(request, "ssl.truststore.location", "ssl.ca.location")
    elif kind is not None:
        raise _unreadable(request, "ssl.truststore", kind, to_pem)


def cipher_suites(request: ClientRequest, key: str) -> None:
    """Pass OpenSSL's names; refuse Java's, because dropping them would allow more suites."""
    suites = [suite.strip() for suite in request.java[key].split(",") if suite.strip()]
    for suite in suites:
        if is_javas_suite(suite):
            raise request.refuse(
                key, f"{suite} is Java's name of a cipher suite, librdkafka needs OpenSSL's", OPENSSL_SUITES
            )
    if suites:
        request.set(key, ":".join(suites))


def _kind(request: ClientRequest, store: str) -> str | None:
    """Return the type of a store, None when there is none."""
    location = request.get(f"{store}.location")
    if location is None:
        return None
    try:
        kind = store_type(location, request.get(f"{store}.type"))
        if kind == JKS and not is_jks(location):
            fact = f"{location!r} is empty" if is_empty(location) else f"{location!r} has an unknown format"
            raise request.refuse(f"{store}.location", fact, "set it to a PEM file, or a PKCS12 keystore")
        return kind
    except OSError as error:
        raise request.refuse(
            f"{store}.location", f"{location!r} cannot be read: {error.strerror}", "set it to a readable file"
        ) from error


def _unreadable(request: ClientRequest, store: str, kind: str, remedy: Callable[[str, str], str]) -> Exception:
    location = request.get(f"{store}.location") or ""
    return request.refuse(
        f"{store}.location",
        f"{location!r} is of type {kind}, which librdkafka cannot read",
        remedy(location, request.name(f"{store}.location").removesuffix(".location")),
    )


def _pass(request: ClientRequest, java: str, name: str, unfold: bool = False) -> None:
    value = request.get(java)
    if value is not None:
        request.set(name, unfolded(value) if unfold else value)

"""TLS of https listeners: maps Java's keys and key stores to OpenSSL.

Java's worker only accepts keystores. Here PEM is accepted as well, in a file or inline, as in Kafka's clients and
brokers; JKS, which only Java reads, is rejected with the command that converts it.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hearth.config.tls_key import ServerTlsConfig
from hearth.foundation.key_store import (
    OPENSSL_SUITES,
    PEM,
    PKCS12,
    is_javas_suite,
    store_type,
    to_pem,
    to_pkcs12,
    unfolded,
)
from hearth_api import ConfigError, Password

CODE = "listeners.https"
VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}

T = TypeVar("T")


@dataclass(frozen=True)
class _Keys:
    """A private key and its certificate chain, in PEM."""

    key: str = field(repr=False)
    chain: str
    password: str | None = field(repr=False)


def server_context(worker: Mapping[str, Any], prefix: str) -> ssl.SSLContext:
    """Return the TLS context of https listeners; `prefix` is `listeners.https.` or `admin.listeners.https.`.

    As in Kafka Connect, the keys with the prefix apply, or those without if there are none. Raises ConfigError,
    without any secret in the message.
    """
    below = {name[len(prefix) :]: value for name, value in worker.items() if name.startswith(prefix)}
    store = _TlsStore(ServerTlsConfig(below or worker), prefix if below else "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    store.set_versions(context)
    store.set_suites(context)
    keys = store.keys()
    store.load(context, keys)
    context.verify_mode = _CLIENT_AUTH[store.settings.ssl_client_auth]
    if context.verify_mode != ssl.CERT_NONE:
        store.trust(context, keys)
    return context


def client_context(worker: Mapping[str, Any], prefix: str) -> ssl.SSLContext:
    """Return this host's TLS context as a client, from the settings of its own listeners, as in Kafka Connect.

    It trusts the certificates that they trust, and presents theirs on request. Host names are verified unless
    `ssl.endpoint.identification.algorithm` is empty.
    """
    below = {name[len(prefix) :]: value for name, value in worker.items() if name.startswith(prefix)}
    store = _TlsStore(ServerTlsConfig(below or worker), prefix if below else "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(store.settings.ssl_endpoint_identification_algorithm)
    store.set_versions(context)
    store.set_suites(context)
    keys = store.keys()
    store.load(context, keys)
    store.trust(context, keys)
    return context


class _TlsStore:
    """The settings of one server, each with the name that the user gave it."""

    def __init__(self, settings: ServerTlsConfig, prefix: str) -> None:
        self.settings = settings
        self._prefix = prefix

    def set_versions(self, context: ssl.SSLContext) -> None:
        """Allow the enabled protocols and all versions between the oldest and the newest of them."""
        named = self.settings.ssl_enabled_protocols
        if unknown := [name for name in named if name not in VERSIONS]:
            raise self._refused("ssl.enabled.protocols", f"{unknown[0]!r} is not one of {', '.join(VERSIONS)}")
        versions = sorted(VERSIONS[name] for name in named)
        if versions:
            context.minimum_version, context.maximum_version = versions[0], versions[-1]

    def set_suites(self, context: ssl.SSLContext) -> None:
        """Allow these cipher suites, by OpenSSL's names."""
        suites, name = self.settings.ssl_cipher_suites, "ssl.cipher.suites"
        if not suites:
            return
        for suite in filter(is_javas_suite, suites):
            raise self._refused(
                name, f"{suite} is Java's name of a cipher suite, here it is OpenSSL's", OPENSSL_SUITES
            )
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError as error:
            raise self._refused(name, f"OpenSSL does not know any of {suites}", OPENSSL_SUITES) from error

    def keys(self) -> _Keys:
        """Return the private key and its certificates."""
        settings = self.settings
        password = _text(settings.ssl_key_password)
        key, chain = _text(settings.ssl_keystore_key), _text(settings.ssl_keystore_certificate_chain)
        if key is not None and chain is not None:
            return _Keys(unfolded(key), unfolded(chain), password)
        location = settings.ssl_keystore_location
        if not location:
            raise self._refused(
                "ssl.keystore.location",
                "an https listener needs a key and a certificate",
                f"name a PEM file with both, with {self._prefix}ssl.keystore.type=PEM, or a PKCS12 keystore",
            )
        kind = self._read("ssl.keystore", lambda: store_type(location, settings.ssl_keystore_type))
        if kind == PEM:
            both = self._read("ssl.keystore", lambda: Path(location).read_text("latin-1"))
            return _Keys(both, both, password)
        if kind == PKCS12:
            return self._pkcs12(location, "ssl.keystore", _pkcs12_keys)
        raise self._unreadable("ssl.keystore", location, kind, to_pkcs12)

    def load(self, context: ssl.SSLContext, keys: _Keys) -> None:
        """Load the key and its certificates into OpenSSL, through temporary files that only this user can read."""
        with tempfile.TemporaryDirectory(prefix="hearth-key-") as folder:
            key, chain = Path(folder, "key.pem"), Path(folder, "chain.pem")
            key.write_text(keys.key, "latin-1")
            chain.write_text(keys.chain, "latin-1")
            try:
                # OpenSSL must not prompt for a password on the terminal.
                context.load_cert_chain(chain, key, password=lambda: keys.password or "")
            except (ssl.SSLError, ValueError) as error:
                raise self._refused(
                    "ssl.keystore.location" if self.settings.ssl_keystore_location else "ssl.keystore.key",
                    f"OpenSSL cannot load the key and its certificates ({_reason(error)})",
                    f"the key belongs to the first certificate, {self._prefix}ssl.key.password is its password",
                ) from None

    def trust(self, context: ssl.SSLContext, keys: _Keys) -> None:
        """Set the trusted client certificates: those of the truststore, or else the server's own, as in Java."""
        settings = self.settings
        given, location = _text(settings.ssl_truststore_certificates), settings.ssl_truststore_location
        if given is not None:
            pem = unfolded(given)
        elif location:
            pem = self._trusted(location)
        else:
            pem = keys.chain
        try:
            context.load_verify_locations(cadata=pem)
        except (ssl.SSLError, ValueError) as error:
            raise self._refused(
                "ssl.truststore.location", f"OpenSSL finds no certificate in it ({_reason(error)})"
            ) from error

    def _trusted(self, location: str) -> str:
        kind = self._read("ssl.truststore", lambda: store_type(location, self.settings.ssl_truststore_type))
        if kind == PEM:
            return self._read("ssl.truststore", lambda: Path(location).read_text("latin-1"))
        if kind == PKCS12:
            return self._pkcs12(location, "ssl.truststore", _pkcs12_certificates)
        raise self._unreadable("ssl.truststore", location, kind, to_pem)

    def _pkcs12(self, location: str, store: str, read: Callable[[bytes, bytes | None], T]) -> T:
        password = _text(self.settings.parsed[f"{store}.password"])
        data = self._read(store, Path(location).read_bytes)
        try:
            return read(data, None if password is None else password.encode())
        except ValueError as error:
            raise self._refused(
                f"{store}.location", f"{location!r} does not open: {error}", f"look at {self._prefix}{store}.password"
            ) from None

    def _read(self, store: str, read: Callable[[], T]) -> T:
        try:
            return read()
        except OSError as error:
            where = self.settings.parsed[f"{store}.location"]
            raise self._refused(
                f"{store}.location", f"{where!r} cannot be read: {error.strerror}", "name a readable file"
            ) from error

    def _unreadable(self, store: str, location: str, kind: str, remedy: Callable[[str, str], str]) -> ConfigError:
        fact = f"{location!r} is of type {kind}, which only Java reads"
        return self._refused(f"{store}.location", fact, remedy(location, f"{self._prefix}{store}"))

    def _refused(self, name: str, fact: str, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{self._prefix}{name}: {fact}", code=CODE, hint=hint)


def _pkcs12_keys(data: bytes, password: bytes | None) -> _Keys:
    """Return the content of a PKCS12 keystore, with the key under a random password; raise ValueError."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12

    found = pkcs12.load_pkcs12(data, password)
    if found.key is None or found.cert is None:
        raise ValueError("it holds no key with a certificate")
    own = secrets.token_urlsafe()
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(own.encode()))
    chain = [each.certificate.public_bytes(Encoding.PEM) for each in (found.cert, *found.additional_certs)]
    return _Keys(key.decode(), b"".join(chain).decode(), own)


def _pkcs12_certificates(data: bytes, password: bytes | None) -> str:
    """Return the certificates of a PKCS12 store as PEM; raise ValueError."""
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    found = pkcs12.load_pkcs12(data, password)
    own = [found.cert] if found.cert else []
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in (*own, *found.additional_certs)).decode()


def _text(secret: Password | None) -> str | None:
    return None if secret is None else secret.value


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error) or type(error).__name__

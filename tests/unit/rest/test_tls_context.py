"""TLS of https listeners: keys and certificates in Java's settings."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from hearth.rest.tls_context import server_context
from hearth_api import ConfigError
from tests.timeouts import TIMEOUT
from tests.unit.rest.client import pem, serve

PREFIX = "listeners.https."
STORE, TRUST = f"{PREFIX}ssl.keystore", f"{PREFIX}ssl.truststore"
ASKS, SUITES = {f"{PREFIX}ssl.client.auth": "required"}, f"{PREFIX}ssl.cipher.suites"


def trusting(identity: Path, shown: Path | None = None) -> ssl.SSLContext:
    """Return a client that trusts only one certificate, and presents its own if given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(identity)
    if shown:
        context.load_cert_chain(shown)
    return context


def parts(identity: Path) -> tuple[bytes, bytes]:
    """Return key and certificate of a PEM file."""
    key, begin, certificate = identity.read_bytes().partition(b"-----BEGIN CERTIFICATE-----")
    return key, begin + certificate


def folded(text: bytes) -> str:
    """Return PEM on one line, as in properties files."""
    return " ".join(text.decode().split("\n")).strip()


def as_pkcs12(identity: Path, password: bytes) -> bytes:
    """Return a keystore of Java's default type since Java 9."""
    key, certificate = parts(identity)
    found = load_pem_private_key(key, None), load_pem_x509_certificate(certificate)
    return pkcs12.serialize_key_and_certificates(b"own", *found, None, BestAvailableEncryption(password))  # type: ignore[arg-type]


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> str | None:
    """Perform a handshake in memory; return the TLS version, or raise SSLError."""
    (a, b), (c, d) = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
    ends = client.wrap_bio(a, b), server.wrap_bio(c, d, server_side=True)
    for _ in range(4):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
            c.write(b.read())
            a.write(d.read())
    return ends[0].version()


def settings(identity: Path, tmp_path: Path, kind: str) -> dict[str, str]:
    """Return a server's settings for a key and certificate in some format."""
    key, certificate = parts(identity)
    file = tmp_path / "store"
    if kind == "text":
        return {f"{STORE}.type": "PEM", f"{STORE}.key": folded(key), f"{STORE}.certificate.chain": folded(certificate)}
    if kind == "encrypted":
        private = load_pem_private_key(key, None)
        file.write_bytes(
            private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw")) + certificate
        )
        return {**pem(file), f"{PREFIX}ssl.key.password": "pw"}
    if kind.startswith("pkcs12"):
        file.write_bytes(as_pkcs12(identity, b"pw"))
        named = {} if kind == "pkcs12 by default" else {f"{STORE}.type": "PKCS12"}
        return {**named, f"{STORE}.location": str(file), f"{STORE}.password": "pw"}
    return pem(identity)


@pytest.mark.parametrize("kind", ["file", "text", "encrypted", "pkcs12", "pkcs12 by default"])
def test_a_server_presents_its_configured_certificate(identity: Path, tmp_path: Path, kind: str) -> None:
    """In any format."""
    context = server_context(settings(identity, tmp_path, kind), PREFIX)
    assert shake_hands(context, trusting(identity)) == "TLSv1.3"


def test_http_and_https_are_served_together(identity: Path, tmp_path: Path) -> None:
    """Each on its port; the Location header has the request's scheme."""
    both = {"listeners": "http://127.0.0.1:0,https://localhost:0", **pem(identity)}
    for client in serve(tmp_path, both):
        plain, encrypted = client.ports
        assert client.call("GET", "/connectors", port=plain).text == "[]"
        assert client.call("GET", "/connectors", port=encrypted, tls=trusting(identity)).text == "[]"
        body = {"name": "c", "config": {"connector.class": "FileStreamSource", "topic": "t"}}
        answer = client.call("POST", "/connectors", body, port=encrypted, tls=trusting(identity))
        assert answer.headers["location"] == f"https://localhost:{encrypted}/connectors/c"


def test_plain_http_to_an_https_listener_is_closed(identity: Path, tmp_path: Path) -> None:
    """A common mistake."""
    for client in serve(tmp_path, {"listeners": "https://localhost:0", **pem(identity)}):
        with socket.create_connection(("localhost", client.ports[0]), TIMEOUT) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"HTTP/1.1 200" not in connection.recv(1000)
        assert client.call("GET", "/", port=client.ports[0], tls=trusting(identity)).status == 200


@pytest.mark.parametrize(
    ("wanted", "shows", "is_let_in"),
    [("none", False, True), ("requested", False, True), ("requested", True, True), ("required", False, False),
     ("required", True, True)],
)  # fmt: skip
@pytest.mark.parametrize("store", ["file", "text", "pkcs12", "own"])
def test_client_certificates_are_required_as_configured(
    identity: Path, tmp_path: Path, wanted: str, shows: bool, is_let_in: bool, store: str
) -> None:
    """By ssl.client.auth; without a truststore the server's own certificate is trusted, as in Java."""
    file = tmp_path / "trust"
    file.write_bytes(as_pkcs12(identity, b"pw") if store == "pkcs12" else parts(identity)[1])
    trust = {
        "file": {f"{TRUST}.location": str(file), f"{TRUST}.type": "PEM"},
        "text": {f"{TRUST}.certificates": folded(parts(identity)[1]), f"{TRUST}.type": "PEM"},
        "pkcs12": {f"{TRUST}.location": str(file), f"{TRUST}.password": "pw"},
        "own": {},
    }[store]
    context = server_context({**pem(identity), f"{PREFIX}ssl.client.auth": wanted, **trust}, PREFIX)
    client = trusting(identity, identity if shows else None)
    if is_let_in:
        assert shake_hands(context, client)
    else:
        with pytest.raises(ssl.SSLError):
            shake_hands(context, client)


def test_only_enabled_versions_and_suites_are_used(identity: Path) -> None:
    """By Java's names of versions and OpenSSL's names of suites."""
    enabled = {
        f"{PREFIX}ssl.enabled.protocols": "TLSv1.2",
        SUITES: "ECDHE-ECDSA-AES256-GCM-SHA384",
    }
    context = server_context({**pem(identity), **enabled}, PREFIX)
    assert shake_hands(context, trusting(identity)) == "TLSv1.2"
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in [each["name"] for each in context.get_ciphers()]
    newest = trusting(identity)
    newest.minimum_version = ssl.TLSVersion.TLSv1_3
    with pytest.raises(ssl.SSLError):
        shake_hands(context, newest)


def test_settings_without_the_prefix_apply_only_without_prefixed_ones(identity: Path) -> None:
    """All or nothing, as in Kafka: with one prefixed key, those without the prefix are ignored."""
    bare = pem(identity, "")
    assert shake_hands(server_context(bare, PREFIX), trusting(identity))
    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl\.keystore\.location: an https listener needs"):
        server_context({**bare, f"{PREFIX}ssl.client.auth": "none"}, PREFIX)


@pytest.mark.parametrize(
    ("changes", "says", "hint"),
    [
        ({f"{STORE}.location": "/nowhere"}, r"keystore\.location: '/nowhere' cannot be read", "readable"),
        ({f"{STORE}.location": "{jks}", f"{STORE}.type": "JKS"}, "type JKS, which only Java", "-importkeystore"),
        ({f"{STORE}.type": "BCFKS"}, "type BCFKS, which only Java reads", "PKCS12"),
        ({f"{STORE}.location": "{rubbish}"}, "OpenSSL cannot load the key", "ssl.key.password"),
        ({f"{STORE}.location": "{p12}", f"{STORE}.type": "PKCS12", f"{STORE}.password": "wrong"}, "not open", "word"),
        ({f"{TRUST}.location": "{jks}", **ASKS}, "only Java reads", "keytool -list -rfc"),
        ({f"{TRUST}.location": "{rubbish}", f"{TRUST}.type": "PEM", **ASKS}, "no certificate", None),
        ({f"{PREFIX}ssl.enabled.protocols": "SSLv3"}, "'SSLv3' is not one of", None),
        ({SUITES: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, "Java's name of a cipher", "openssl"),
        ({SUITES: "NONE-SUCH"}, "OpenSSL does not know any of", "openssl"),
        ({f"{PREFIX}ssl.client.auth": "perhaps"}, "ssl.client.auth", None),
    ],
)  # fmt: skip
def test_invalid_tls_settings_are_rejected_at_startup(
    identity: Path, tmp_path: Path, changes: dict[str, str], says: str, hint: str | None
) -> None:
    """The error has the key as the user wrote it, the reason and the remedy, but no secret."""
    files = {"jks": b"\xfe\xed\xfe\xed\0\0", "rubbish": b"-----BEGIN x", "p12": as_pkcs12(identity, b"right")}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    given = {
        key: re.sub(r"\{(\w+)\}", lambda found: str(tmp_path / found[1]), value) for key, value in changes.items()
    }
    with pytest.raises(ConfigError, match=says) as caught:
        server_context({**pem(identity), **given}, PREFIX)
    assert hint is None or hint in str(caught.value.hint)
    assert "wrong" not in f"{caught.value}{caught.value.hint}"

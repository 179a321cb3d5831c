"""TLS of the registry's client, against a server with a certificate of this test's own."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.foundation.certificate import Identity, make_identity
from hearth_api import ConfigError, Password
from hearth_registry.open_registry import requests_of
from hearth_registry.registry import RegistryAway
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.registry_tls import tls_context
from tests.registry_server import RegistryServer, serving

MINE, STRANGER = make_identity(), make_identity()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the server's certificate and key."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_text(MINE.certificate + MINE.key)
    return path


@pytest.fixture
def server(certificate: Path) -> Iterator[RegistryServer]:
    """Serve with TLS, to clients that have the server's own certificate too."""
    with serving() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.load_verify_locations(certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.fault = lambda _method, _path: (200, b"1")
        yield server


def ask(server: RegistryServer, keys: dict[str, Any]) -> Any:
    """Send one request with TLS."""
    own = {f"schema.registry.ssl.{name}": value for name, value in keys.items()}
    url = server.url.replace("http://", "https://")
    return requests_of(RegistrySettings({"schema.registry.url": url, "max.retries": "0", **own})).send("GET", "/x")


def trusting(identity: Identity) -> dict[str, Any]:
    """Return the keys by which an authority is trusted."""
    return {"truststore.type": "PEM", "truststore.certificates": identity.certificate}


def test_both_sides_show_certificates_from_text_and_from_files(server: RegistryServer, certificate: Path) -> None:
    """The name in it is looked at only where the keys say so, as in Java's client."""
    inline = {"keystore.certificate.chain": MINE.certificate, "keystore.key": Password(MINE.key)}
    assert ask(server, {**trusting(MINE), **inline}) == 1
    files = {"keystore.location": str(certificate), "keystore.type": "PEM"}
    assert ask(server, {**trusting(MINE), **files}) == 1
    with pytest.raises(RegistryAway, match="IP address mismatch"):
        ask(server, {**trusting(MINE), **files, "endpoint.identification.algorithm": "https"})


def test_a_registry_with_an_untrusted_certificate_gets_no_request(server: RegistryServer) -> None:
    """A certificate that the system does not trust is refused, unless the keys name its authority."""
    for keys in (trusting(STRANGER), {}):
        with pytest.raises(RegistryAway, match="CERTIFICATE_VERIFY_FAILED"):
            ask(server, keys)
    assert server.requests == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"truststore.location": "/x.jks"}, "Only PEM is read"),
        ({"keystore.location": "/x.p12", "keystore.type": "PKCS12"}, "Only PEM is read"),
        ({"truststore.location": "/no/such/file", "truststore.type": "PEM"}, "cannot be read"),
        ({"truststore.certificates": "no pem", "truststore.type": "PEM"}, "cannot be used"),
        ({"keystore.certificate.chain": MINE.certificate, "keystore.key": STRANGER.key}, "cannot be used"),
    ],
)
def test_unusable_tls_settings_are_refused_by_configure(keys: dict[str, Any], message: str) -> None:
    """A key that belongs to another certificate among it."""
    with pytest.raises(ConfigError, match=message):
        tls_context(keys)

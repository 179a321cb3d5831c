"""A web server for the files of a folder, with https for clients that trust its certificate."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def certificate(target: Path) -> Path:
    """Write a key and a self-signed certificate for this machine to one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web server of the tests")])
    now, address = dt.datetime.now(dt.timezone.utc), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    target.write_bytes(private + made.public_bytes(Encoding.PEM))
    return target


@contextlib.contextmanager
def web_server(folder: Path, identity: Path | None = None, moved: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the address of a server; with an ``identity`` it uses https. Paths in ``moved`` are redirected."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def do_GET(self) -> None:
            target = (moved or {}).get(self.path)
            if target is None:
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"{'http' if identity is None else 'https'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

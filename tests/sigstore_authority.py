"""A Sigstore authority for tests: certificates (Fulcio) and logs (CT, Rekor), with fresh keys.

It issues documents in Sigstore's formats, so that the sigstore library verifies them. ``served`` needs no network and
listens on this machine only.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import hashlib
import json
import struct
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_TIMESTAMPS = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_TYPE = "application/vnd.dev.sigstore"
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the tests")])
_USAGE = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)


def token(identity: str, issuer: str) -> str:
    """Return an identity token; only the authority would verify its signature."""
    now = int(time.time())
    claims = {"aud": "sigstore", "sub": identity, "iss": issuer, "iat": now, "exp": now + 600}
    parts = ({"alg": "none"}, claims)
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts), ""]
    )


class SigstoreAuthority:
    """The keys of the authority, and its address."""

    def __init__(self, url: str = "http://127.0.0.1:9") -> None:
        self.url = url
        self._authority, self._certificates_log, self._log = (
            ec.generate_private_key(ec.SECP256R1()) for _ in range(3)
        )
        self._root = self._signed(
            _begun(_NAME, self._authority.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, **_USAGE), critical=True
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._authority.public_key()), critical=False)
        )

    def trust_config(self, target: Path) -> Path:
        """Write the trust configuration with its keys and address."""
        since = {"start": "2020-01-01T00:00:00Z"}
        service = {"url": self.url, "majorApiVersion": 1, "validFor": since, "operator": "tests"}
        authority = {
            "subject": {"organization": "tests", "commonName": "tests"},
            "uri": self.url,
            "certChain": {"certificates": [{"rawBytes": _text(self._root.public_bytes(Encoding.DER))}]},
            "validFor": since,
        }
        config = {
            "mediaType": f"{_TYPE}.clienttrustconfig.v0.1+json",
            "trustedRoot": {
                "mediaType": f"{_TYPE}.trustedroot+json;version=0.1",
                "tlogs": [self._known_log(self._log)],
                "ctlogs": [self._known_log(self._certificates_log)],
                "certificateAuthorities": [authority],
                "timestampAuthorities": [],
            },
            "signingConfig": {
                "mediaType": f"{_TYPE}.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [service],
                "rekorTlogUrls": [service],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaUrls": [],
                "tsaConfig": {"selector": "ANY"},
            },
        }
        target.write_text(json.dumps(config))
        return target

    def certificate(self, public: ec.EllipticCurvePublicKey, identity: str, issuer: str) -> list[str]:
        """Return a certificate for an identity, with a receipt of the log in it, and that of the authority, as PEM."""
        is_uri = "://" in identity
        name = x509.UniformResourceIdentifier(identity) if is_uri else x509.RFC822Name(identity)
        begun = (
            _begun(x509.Name([]), public)
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **_USAGE), critical=True
            )
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._authority.public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode()), critical=False)
        )
        receipt = self._receipt(self._signed(begun).tbs_certificate_bytes)
        whole = self._signed(begun.add_extension(x509.UnrecognizedExtension(_TIMESTAMPS, receipt), critical=False))
        return [each.public_bytes(Encoding.PEM).decode() for each in (whole, self._root)]

    def entry(self, proposed: dict[str, Any]) -> dict[str, Any]:
        """Return the response of a log that has only this entry (Rekor's API, version 1)."""
        body = json.dumps(proposed, sort_keys=True, separators=(",", ":")).encode()
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"tests\n1\n{_text(root)}\n"
        signed = _key_id(self._log)[:4] + self._log.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        kept = {
            "body": _text(body),
            "integratedTime": int(time.time()),
            "logID": _key_id(self._log).hex(),
            "logIndex": 0,
        }
        promised = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
        proof = {
            "checkpoint": f"{note}\n\u2014 tests {_text(signed)}\n",
            "hashes": [],
            "logIndex": 0,
            "rootHash": root.hex(),
            "treeSize": 1,
        }
        promise = _text(self._log.sign(promised, ec.ECDSA(hashes.SHA256())))
        return {"0": {**kept, "verification": {"inclusionProof": proof, "signedEntryTimestamp": promise}}}

    def answer(self, path: str, headers: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Return the services' response to a request."""
        if path != "/api/v2/signingCert":
            return self.entry(body)
        payload = headers["Authorization"].removeprefix("Bearer ").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        request = x509.load_pem_x509_csr(base64.b64decode(body["certificateSigningRequest"]))
        public = request.public_key()
        assert isinstance(public, ec.EllipticCurvePublicKey)
        chain = self.certificate(public, claims["sub"], claims["iss"])
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def _receipt(self, certificate: bytes) -> bytes:
        """Return the extension with a signed certificate timestamp (RFC 6962) in DER."""
        key, now = self._certificates_log, int(time.time() * 1000)
        issuer = _key_id(self._authority)
        entry = issuer + len(certificate).to_bytes(3, "big") + certificate
        signed = key.sign(struct.pack("!BBQH", 0, 0, now, 1) + entry + b"\0\0", ec.ECDSA(hashes.SHA256()))
        receipt = b"\0" + _key_id(key) + struct.pack("!QHBBH", now, 0, 4, 3, len(signed)) + signed
        listed = struct.pack("!HH", len(receipt) + 2, len(receipt)) + receipt
        assert len(listed) < 256
        return bytes((4, 0x81, len(listed)) if len(listed) > 127 else (4, len(listed))) + listed

    def _signed(self, begun: x509.CertificateBuilder) -> x509.Certificate:
        return begun.sign(self._authority, hashes.SHA256())

    def _known_log(self, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
        public = {
            "rawBytes": _text(_public(key)),
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
            "validFor": {"start": "2020-01-01T00:00:00Z"},
        }
        log = {"baseUrl": self.url, "hashAlgorithm": "SHA2_256", "publicKey": public}
        return {**log, "logId": {"keyId": _text(_key_id(key))}}


@contextlib.contextmanager
def served() -> Iterator[SigstoreAuthority]:
    """Yield an authority that listens on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(authority.answer(self.path, self.headers, body)).encode()
            self.send_response(201)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        authority = SigstoreAuthority(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield authority
        finally:
            server.shutdown()
            thread.join()


def _begun(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.timezone.utc).replace(microsecond=0)
    return (
        x509.CertificateBuilder(serial_number=x509.random_serial_number())
        .subject_name(subject)
        .issuer_name(_NAME)
        .public_key(public)
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(minutes=10))
    )


def _public(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _key_id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(_public(key)).digest()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()

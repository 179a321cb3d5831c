"""A service that signs tokens, and a broker that accepts no others."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from hearth.broker import KafkaBroker
from hearth.broker.process import QUICK_START
from tests.bundles.build import plain_wheel
from tests.reservation import reserve_port

_OAUTH = "org.apache.kafka.common.security.oauthbearer."
MODULE = f"{_OAUTH}OAuthBearerLoginModule required"
CLASS = "org.example.IssuerTokenProvider"
PROVIDER = """
import json, urllib.request
from hearth_api.worker import OAuthBearerToken, TokenProvider

class Provider(TokenProvider):
    def configure(self, configs, options):
        self.address = options["issuer"]
        self.password = options["password"]

    def token(self):
        request = urllib.request.Request(self.address, headers={"X-Password": self.password})
        with urllib.request.urlopen(request, timeout=300) as answer:
            told = json.load(answer)
        return OAuthBearerToken(told["token"], told["ends"], "ann")
"""
"""A provider that requests tokens from the issuer; its bundle needs only the standard library."""
PASSWORD = "kein-wort-davon"


def bundle(folder: Path) -> Path:
    """Write the provider's bundle to a folder, and return the folder."""
    groups = {"hearth.token_providers": {CLASS: "issuer_provider:Provider"}}
    plain_wheel(folder, "issuer-provider", groups=groups, code=PROVIDER)
    return folder


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """A key that signs tokens (RS256)."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)

    def public(self) -> dict[str, str]:
        """Return the public key, with which a broker checks signatures."""
        numbers = self._key.public_key().public_numbers()
        parts = {name: _text(number.to_bytes((number.bit_length() + 7) // 8, "big"))
                 for name, number in (("n", numbers.n), ("e", numbers.e))}  # fmt: skip
        return {"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256", **parts}

    def token(self, issued_at: float, ends_at: float) -> str:
        """Return a signed token of user ann."""
        head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
        claims = {"sub": "ann", "aud": "kafka", "scope": "connect", "iat": int(issued_at), "exp": int(ends_at)}
        parts = ".".join(_text(json.dumps(each).encode()) for each in (head, claims))
        return f"{parts}.{_text(self._key.sign(parts.encode(), padding.PKCS1v15(), SHA256()))}"


@dataclass
class Issuer:
    """A service that signs tokens for any client with the password; tests control it."""

    key: Key = field(default_factory=Key)
    seconds: float = 3600.0
    skew: float = 0.0
    """How many seconds its clock is fast."""
    is_down: bool = False
    free: threading.Event = field(default_factory=threading.Event)
    """While it is not set, no request gets a response."""
    given: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.free.wait()
                is_known = self.headers["X-Password"] == PASSWORD
                status = 503 if issuer.is_down else (200 if is_known else 401)
                self.send_response(status)
                self.end_headers()
                if status == 200:
                    self.wfile.write(json.dumps(issuer.answer()).encode())

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.free.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answer(self) -> dict[str, Any]:
        """Return a new token and its expiry."""
        now = time.time() + self.skew
        token = self.key.token(now, now + self.seconds)
        self.given.append(token)
        return {"token": token, "ends": int(now + self.seconds) * 1000}

    def jaas(self, password: str = PASSWORD) -> str:
        """Return a client's JAAS configuration."""
        return f'{MODULE} issuer="{self.url}" password="{password}";'

    def settings(self, servers: str, prefixes: tuple[str, ...] = ("",)) -> dict[str, str]:
        """Return the settings of clients that log in with the issuer's tokens."""
        own = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": self.jaas(),
            "sasl.login.callback.handler.class": CLASS,
        }
        named = {f"{prefix}{key}": value for prefix in prefixes for key, value in own.items()}
        return {"bootstrap.servers": servers, **named}

    def close(self) -> None:
        """Stop the service."""
        self.free.set()
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class TokenBroker:
    """A broker with a listener that accepts tokens of one key."""

    broker: KafkaBroker
    servers: str
    """The address of that listener; the broker's own listener accepts every client."""


def token_broker(folder: Path, keys: Mapping[str, Any]) -> TokenBroker:
    """Describe a broker that checks signatures with public keys, and closes connections whose token has expired."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keys.json").write_text(json.dumps(keys))
    address = (folder / "keys.json").as_uri()
    plain, tokens, controller = (reserve_port() for _ in range(3))
    listener = "listener.name.sasl_plaintext."
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{tokens},"
        f"CONTROLLER://127.0.0.1:{controller}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{tokens}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}connections.max.reauth.ms": "3600000",
        f"{listener}oauthbearer.sasl.jaas.config": f"{MODULE};",
        f"{listener}oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}OAuthBearerValidatorCallbackHandler",
        f"{listener}sasl.oauthbearer.jwks.endpoint.url": address,
        f"{listener}sasl.oauthbearer.expected.audience": "kafka",
        f"{listener}sasl.oauthbearer.clock.skew.seconds": "0",
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={address}"
    broker = KafkaBroker(
        folder / "broker", plain, retention_bytes=64 << 20, jvm_options=(*QUICK_START, allowed), settings=settings
    )
    return TokenBroker(broker, f"127.0.0.1:{tokens}")

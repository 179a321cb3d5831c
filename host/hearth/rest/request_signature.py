"""Internal requests between workers, signed with the session key of the cluster (KIP-507)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence

from starlette.requests import Request

from hearth.config.distributed_key import HMACS
from hearth.rest.answer import Forbidden, NotReady
from hearth.rest.body import read_body
from hearth.storage import SessionKey
from hearth_api import ConfigError

SIGNATURE, ALGORITHM = "x-connect-authorization", "x-connect-request-signature-algorithm"
HEADERS = (SIGNATURE, ALGORITHM)


class SignatureCheck:
    """Checks the signatures of other workers, with Kafka Connect's messages and order of checks."""

    def __init__(self, key: Callable[[], SessionKey | None], algorithms: Sequence[str]) -> None:
        """``key`` returns the present session key, ``algorithms`` are those that this worker accepts."""
        self._key = key
        self._algorithms = algorithms

    async def refuse_unsigned(self, request: Request) -> None:
        """Raise ConfigError, Forbidden or NotReady for a request without a valid signature."""
        given, algorithm = (request.headers.get(name) for name in HEADERS)
        if given is None or algorithm is None:
            raise _bad("Internal request missing required signature")
        if algorithm not in HMACS:
            raise _bad(f"Algorithm {algorithm} not available")
        try:
            signature = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _bad(f"the signature is not Base64: {error}") from error
        if algorithm not in self._algorithms:
            raise _bad(
                f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
                f"This worker is currently configured to use: [{', '.join(self._algorithms)}]. "
                "Check that all workers' configuration files permit the same set of signature algorithms, "
                "and correct any misconfigured worker and restart it."
            )
        if (key := self._key()) is None:
            reason = "has not been able to read a session key from the config topic yet"
            raise NotReady(f"This worker is still starting up and {reason}")
        if not hmac.compare_digest(sign(key.key, algorithm, await read_body(request)), signature):
            raise Forbidden("Internal request contained invalid signature.")


def sign(key: bytes, algorithm: str, body: bytes) -> bytes:
    """Return the signature of a body, by an algorithm with Java's name."""
    return hmac.new(key, body, getattr(hashlib, HMACS[algorithm][0])).digest()


def _bad(text: str) -> ConfigError:
    return ConfigError(text, code="host.signature")

"""Tokens for SASL/OAUTHBEARER logins of this process's clients, and their providers.

A client's settings name its token source (`token_source`): the provider and its options. The host asks the provider
(`herder.plugin.token_keeper`), a task asks its host. librdkafka requests a token on a separate thread, when a client
is created and when most of a token's lifetime has passed, so neither a poll nor a request waits for one.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from hearth.kafka.library import OK, TokenCallback, library
from hearth.kafka.token_source import SOURCE
from hearth_api import ConnectError
from hearth_stage.token_call import GivenToken

log = logging.getLogger(__name__)

_CONFIG = "sasl.oauthbearer.config"
"""Setting that librdkafka passes to the token callback: the digest of a source, which may hold secrets."""
_TEXT_BYTES = 512
CLOCK_SECONDS = 2.0
"""How much earlier a broker may find that a token has expired: JWTs have whole seconds, and clocks differ a little."""

Give = Callable[[str], GivenToken]
"""Returns a token of a source; raises ConnectError if none is available now."""


class NoToken(ConnectError):
    """A client has no token for its login."""

    code = "client.token"


def no_tokens(source: str) -> GivenToken:
    """Raise ``NoToken``."""
    raise NoToken("this process has no token provider")


class TokenDesk:
    """Provides tokens to the clients of this process; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._givers: list[Give] = []
        self._sources: dict[str, str] = {}
        self._ends: dict[str, float] = {}
        """Expiry of the last token given, by source."""

    def offer(self, give: Give) -> Callable[[], None]:
        """Register a provider that is asked first; return a function that removes it."""
        with self._lock:
            self._givers.append(give)
        return lambda: self._withdraw(give)

    def token(self, source: str) -> GivenToken:
        """Return a token of a source; raises ConnectError if no provider has one."""
        with self._lock:
            givers = self._givers[::-1]
        first: ConnectError | None = None
        for give in givers:
            try:
                token = checked(give(source))
                self._ends[source] = token.lifetime_ms / 1000
                return token
            except ConnectError as error:
                first = first or error
        if first is None:
            return no_tokens(source)
        raise first

    def has_ended(self, source: str | None) -> bool:
        """Return whether all given tokens of a source have expired, so that brokers refuse them."""
        return source in self._ends and self._ends[source] <= time.time() + CLOCK_SECONDS

    def digest(self, source: str) -> str:
        """Return the digest under which librdkafka knows a source."""
        found = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            self._sources[found] = source
        return found

    def token_by(self, digest: str) -> GivenToken:
        """Return a token of the source with a digest; raises ConnectError."""
        with self._lock:
            source = self._sources[digest]
        return self.token(source)

    def _withdraw(self, give: Give) -> None:
        with self._lock:
            self._givers.remove(give)


desk = TokenDesk()
"""The one token desk of this process, which also has one librdkafka."""


def checked(token: GivenToken) -> GivenToken:
    """Return a token; raises ``NoToken`` for one that has expired by this machine's clock."""
    over = time.time() - token.lifetime_ms / 1000
    if over >= 0:
        raise NoToken(
            f"the token expired {over:.0f} s ago by the clock of this machine",
            hint="compare the clocks of this machine and of the token provider",
        )
    return token


def authorized(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a client's settings for confluent-kafka, with a token callback.

    Raises ConnectError if no token is available now: confluent-kafka would wait for ten seconds and not report why.
    """
    own = dict(config)
    source = own.pop(SOURCE, None)
    if source is None:
        return own
    desk.token(source)

    def ask(_config: str) -> tuple[str, float, str, dict[str, str]]:
        token = desk.token(source)
        return token.value, token.lifetime_ms / 1000, token.principal, dict(token.extensions)

    return {**own, "oauth_cb": ask}


def ask_for_tokens(configuration: int, source: str) -> tuple[str, str]:
    """Set the token callback of an ``rd_kafka_conf_t *``; return the setting that must accompany it."""
    library().conf_set_oauthbearer_token_refresh_cb(configuration, _refresh_callback)
    library().conf_enable_sasl_queue(configuration, 1)
    return _CONFIG, desk.digest(source)


def _refresh(client: int, config: bytes, _opaque: int | None) -> None:
    """Give a client a token, or an error, after which librdkafka asks again in ten seconds."""
    try:
        _give(client, desk.token_by(config.decode()))
    except Exception as error:
        log.warning("a client gets no token: %s", error)
        library().oauthbearer_set_token_failure(client, str(error).encode())


_refresh_callback = TokenCallback(_refresh)
"""A reference for librdkafka, which keeps none."""


def _give(client: int, token: GivenToken) -> None:
    parts = [part.encode() for pair in token.extensions.items() for part in pair]
    extensions = (ctypes.c_char_p * len(parts))(*parts)
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    number = library().oauthbearer_set_token(
        client, token.value.encode(), token.lifetime_ms, token.principal.encode(), extensions, len(parts), text,
        len(text),
    )  # fmt: skip
    if number != OK:
        raise NoToken(f"librdkafka refuses the token: {text.value.decode(errors='replace')}")

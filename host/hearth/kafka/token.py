"""Tokens by which the clients of this process log in (SASL/OAUTHBEARER), and whoever in it has them to give.

A client's settings name the source of its tokens (`token_source`): the provider and what it is told. The host asks the
provider (`herder.plugin.token_keeper`), a task its host. librdkafka asks for a token on a thread of its own, when a
client is made and when most of a token's life has passed, so neither a poll nor what a broker sends waits for one.
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
"""What librdkafka hands to who is asked for a token: a source by its digest, for the source may hold secrets."""
_TEXT_BYTES = 512
CLOCK_SECONDS = 2.0
"""How much earlier a broker may find that a token has ended: JWTs tell whole seconds, and clocks differ a little."""

Give = Callable[[str], GivenToken]
"""Returns a token of a source; raises ConnectError where there is none to be had now."""


class NoToken(ConnectError):
    """There is no token by which a client could log in."""

    code = "client.token"


def no_tokens(source: str) -> GivenToken:
    """Have none to give."""
    raise NoToken("nobody makes tokens here")


class TokenDesk:
    """Where clients of this process ask for tokens; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._givers: list[Give] = []
        self._sources: dict[str, str] = {}
        self._ends: dict[str, float] = {}
        """When the last token of a source ends that was given."""

    def offer(self, give: Give) -> Callable[[], None]:
        """Have clients ask ``give`` first from now on; returns what ends that."""
        with self._lock:
            self._givers.append(give)
        return lambda: self._withdraw(give)

    def token(self, source: str) -> GivenToken:
        """Return a token of a source; raises ConnectError where nobody has one."""
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
        """Return whether all tokens of a source that were given have ended, so that who shows one is refused."""
        return source in self._ends and self._ends[source] <= time.time() + CLOCK_SECONDS

    def digest(self, source: str) -> str:
        """Return by what librdkafka knows a source."""
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
"""That of this process, as librdkafka is."""


def checked(token: GivenToken) -> GivenToken:
    """Return a token; raises ``NoToken`` for one that has ended by this machine's clock."""
    over = time.time() - token.lifetime_ms / 1000
    if over >= 0:
        raise NoToken(
            f"the token ended {over:.0f} s ago by the clock of this machine",
            hint="compare the clocks of this machine and of who makes the tokens",
        )
    return token


def authorized(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a client's settings as confluent-kafka takes them, which asks for tokens by itself then.

    Raises ConnectError where there is no token now: confluent-kafka would wait for ten seconds and not say why.
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
    """Have the client that is made of an ``rd_kafka_conf_t *`` ask for tokens; returns a setting that goes with it."""
    library().conf_set_oauthbearer_token_refresh_cb(configuration, _refresh_callback)
    library().conf_enable_sasl_queue(configuration, 1)
    return _CONFIG, desk.digest(source)


def _refresh(client: int, config: bytes, _opaque: int | None) -> None:
    """Give a client a token, or tell it why there is none; librdkafka asks again after ten seconds then."""
    try:
        _give(client, desk.token_by(config.decode()))
    except Exception as error:
        log.warning("a client gets no token: %s", error)
        library().oauthbearer_set_token_failure(client, str(error).encode())


_refresh_callback = TokenCallback(_refresh)
"""For librdkafka, which keeps no reference to it."""


def _give(client: int, token: GivenToken) -> None:
    parts = [part.encode() for pair in token.extensions.items() for part in pair]
    extensions = (ctypes.c_char_p * len(parts))(*parts)
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    number = library().oauthbearer_set_token(
        client, token.value.encode(), token.lifetime_ms, token.principal.encode(), extensions, len(parts), text,
        len(text),
    )  # fmt: skip
    if number != OK:
        raise NoToken(f"librdkafka does not take the token: {text.value.decode(errors='replace')}")

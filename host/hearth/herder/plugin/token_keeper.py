"""Caches a provider's token and renews it before it expires."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from hearth.kafka.token import NoToken, checked
from hearth_api import ConnectError
from hearth_stage.token_call import GivenToken

log = logging.getLogger(__name__)

ANSWER_SECONDS = 30.0
"""Longest wait for a token, for a client and for a provider in its own process."""
RENEW_AT = 0.75
"""Fraction of a token's lifetime after which it is renewed; librdkafka asks after four fifths."""
IDLE_SECONDS = 60.0
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 30.0
"""Bounds of the delay between two calls of a failing provider."""


class TokenKeeper:
    """Calls one provider on its own thread, and hands its tokens to clients. Thread-safe.

    A provider that fails or hangs does not affect clients while the current token is valid. A token that was not
    requested since it was issued is not renewed until the next request; if it has expired by then, the provider is
    released.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[], GivenToken],
        timeout: float = ANSWER_SECONDS,
        least: float = _LEAST_SECONDS,
        clock: Callable[[], float] = time.time,
        let_go: Callable[[], None] = lambda: None,
        idle: float = IDLE_SECONDS,
    ) -> None:
        """``name`` identifies the provider in messages, ``ask`` returns one of its tokens.

        ``let_go`` releases the provider, ``idle`` seconds after the expiry of a token that is no longer requested.
        """
        self._name = name
        self._ask = ask
        self._timeout = timeout
        self._least = least
        self._clock = clock
        self._let_go = let_go
        self._idle = idle
        self._changed = threading.Condition()
        self._token: GivenToken | None = None
        self._renew_at = 0.0
        self._error: ConnectError | None = None
        self._failures = self._answers = 0
        self._is_wanted = self._is_closed = False
        self._thread: threading.Thread | None = None

    def token(self) -> GivenToken:
        """Return a valid token; raise ConnectError if none is available in time."""
        with self._changed:
            self._is_wanted = True
            self._changed.notify_all()
            if self._is_valid():
                assert self._token is not None
                return self._token
            self._begin()
            answers = self._answers
            if self._error is None or self._clock() >= self._renew_at:
                self._changed.wait_for(lambda: self._is_closed or self._answers > answers, self._timeout)
            if self._is_valid():
                assert self._token is not None
                return self._token
            raise self._reason()

    def close(self) -> None:
        """Stop calling the provider; pending requests fail."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _begin(self) -> None:
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="token", daemon=True)
            self._thread.start()

    def _is_valid(self) -> bool:
        return self._token is not None and self._clock() * 1000 < self._token.lifetime_ms

    def _reason(self) -> ConnectError:
        """Return a new error with the reason why there is no token; each caller needs its own traceback."""
        if self._is_closed:
            return NoToken(f"{self._name} provides no more tokens: the host is stopping")
        if self._error is None or self._clock() >= self._renew_at:  # a call is in progress
            return NoToken(
                f"{self._name} provided no token within {self._timeout:g} s",
                hint="check that this host can reach the provider's token endpoint",
            )
        return NoToken(f"{self._name} provides no token: {self._error}", hint=self._error.hint)

    def _run(self) -> None:
        while self._await_need():
            try:
                token = checked(self._ask())
            except ConnectError as error:
                self._note_failure(error)
            except Exception as error:
                self._note_failure(ConnectError(f"{type(error).__name__}: {error}"))
            else:
                self._note(token)

    def _await_need(self) -> bool:
        """Wait until the provider has to be called; return whether it does, being neither closed nor unused."""
        with self._changed:
            while not self._is_closed:
                left = self._renew_at - self._clock()
                if self._is_wanted and left <= 0:
                    return True
                if self._is_wanted:
                    self._changed.wait(left)
                elif not self._changed.wait_for(lambda: self._is_wanted or self._is_closed, self._seconds_of_use()):
                    self._thread = None
                    self._let_go()  # a concurrent request waits for this and then reopens the provider
                    return False
            return False

    def _seconds_of_use(self) -> float:
        """Return how long clients may still request the current token; they do so before it expires."""
        ends = 0.0 if self._token is None else self._token.lifetime_ms / 1000 - self._clock()
        return max(0.0, ends) + self._idle

    def _note(self, token: GivenToken) -> None:
        with self._changed:
            if self._failures:
                log.info("%s provides tokens again", self._name)
            now = self._clock()
            self._token, self._renew_at = token, now + max(0.0, RENEW_AT * (token.lifetime_ms / 1000 - now))
            self._error, self._failures, self._is_wanted = None, 0, False
            self._answers += 1
            self._changed.notify_all()

    def _note_failure(self, error: ConnectError) -> None:
        with self._changed:
            self._failures += 1
            pause = min(_MOST_SECONDS, self._least * 2 ** min(self._failures - 1, 10))
            self._renew_at = self._clock() + pause
            if self._error is None or str(self._error) != str(error):
                log.warning("%s provides no token and is called again: %s", self._name, error)
            self._error = error
            self._is_wanted = self._is_valid()  # a client without a valid token requests again
            self._answers += 1
            self._changed.notify_all()

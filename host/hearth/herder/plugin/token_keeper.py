"""Keeps a token of a provider, and has the next one before it ends."""

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
"""How long a client waits for a token, and a provider in a process of its own may take for one."""
RENEW_AT = 0.75
"""The part of a token's life after which the next one is asked for: librdkafka asks after four fifths."""
IDLE_SECONDS = 60.0
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 30.0
"""Between two calls of a provider that fails."""


class TokenKeeper:
    """Asks one provider, on a thread of its own, while clients ask for its tokens; safe to use from any thread.

    A provider that fails or hangs holds up nobody who has a token yet: that one is given out until it ends. A token
    that nobody has asked for since it came is followed by no other, until somebody does; when it has ended by then,
    the provider is let go.
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
        """``name`` is what messages call the provider, ``ask`` returns a token of it.

        ``let_go`` ends what it keeps running, ``idle`` seconds after a token ended that nobody wants any more.
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
        """Return a token that is valid; raises ConnectError where there is none, and none comes in time."""
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
        """Ask no more; whoever waits for a token is told."""
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
        """Return why there is no token, anew each time: who raises an error adds to its trace."""
        if self._is_closed:
            return NoToken(f"{self._name} is asked for no more tokens: the host stops")
        if self._error is None or self._clock() >= self._renew_at:  # it is being asked
            return NoToken(
                f"{self._name} gave no token within {self._timeout:g} s",
                hint="look whether what it asks for tokens is reached from this host",
            )
        return NoToken(f"{self._name} gives no token: {self._error}", hint=self._error.hint)

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
        """Wait until the provider is to be asked; returns whether it is, neither closed nor of no use any more."""
        with self._changed:
            while not self._is_closed:
                left = self._renew_at - self._clock()
                if self._is_wanted and left <= 0:
                    return True
                if self._is_wanted:
                    self._changed.wait(left)
                elif not self._changed.wait_for(lambda: self._is_wanted or self._is_closed, self._seconds_of_use()):
                    self._thread = None
                    self._let_go()  # who asks meanwhile waits for it, and for another beginning
                    return False
            return False

    def _seconds_of_use(self) -> float:
        """Return for how long somebody may still ask who uses the token that there is: clients do before it ends."""
        ends = 0.0 if self._token is None else self._token.lifetime_ms / 1000 - self._clock()
        return max(0.0, ends) + self._idle

    def _note(self, token: GivenToken) -> None:
        with self._changed:
            if self._failures:
                log.info("%s gives tokens again", self._name)
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
                log.warning("%s gives no token, and is asked again: %s", self._name, error)
            self._error = error
            self._is_wanted = self._is_valid()  # who has none asks again
            self._answers += 1
            self._changed.notify_all()

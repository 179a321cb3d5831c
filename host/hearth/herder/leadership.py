"""Who decides what runs: this host while its group says so and nobody else has the right to write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from hearth_api import ConnectError

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long a host that could not begin to lead, or was fenced, waits before it tries again."""


class WriteRight(Protocol):
    """The right to write what the hosts of a cluster share, which one of them has; the topic stores are one."""

    def claim(self) -> int:
        """Take the right from whoever has it; returns a number greater than that of every claim before, anywhere."""

    def relinquish(self) -> None:
        """Give it up: nothing is written any more."""


class Leadership:
    """Begins and ends the terms of a host, one after the other on a thread of its own.

    What is wanted comes from the host's group (`on_group`), what is so for certain from the brokers: a term begins
    with a claim, by which every earlier leader can write nothing any more, and ends, at the latest, when another host
    has made one (`on_fenced`). A host that leaves in order lets its tasks drain and write their last offsets first.
    One that has lost its place gives up the right before anything else: another may lead already.
    """

    def __init__(
        self,
        right: WriteRight,
        lead: Callable[[int], None],
        follow: Callable[[], None],
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """``lead`` and ``follow`` begin and end what a host does in a term, whose number ``lead`` is told."""
        self._right, self._lead, self._follow = right, lead, follow
        self._pause = pause
        self._news = threading.Condition()
        self._is_wanted = False
        self._is_fenced = False
        self._is_over = False
        self._leads = False
        self._thread = threading.Thread(target=self._work, name="leadership", daemon=True)

    @property
    def leads(self) -> bool:
        """Return whether a term of this host has begun and not ended."""
        return self._leads

    def start(self) -> None:
        """Lead from now on whenever that is wanted."""
        self._thread.start()

    def on_group(self, holds: bool) -> None:
        """Take note of what the group says; from any thread, and never waits."""
        self._note(is_wanted=holds)

    def on_fenced(self) -> None:
        """Take note that another host has claimed the right; from any thread, and never waits."""
        self._note(is_fenced=True)

    def leave(self) -> None:
        """End this host's term in order, if there is one, and begin none any more."""
        self._note(is_over=True)
        if self._thread.is_alive():
            self._thread.join()

    def _note(self, is_wanted: bool | None = None, is_fenced: bool = False, is_over: bool = False) -> None:
        with self._news:
            self._is_wanted = self._is_wanted if is_wanted is None else is_wanted
            self._is_fenced |= is_fenced
            self._is_over |= is_over
            self._news.notify_all()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._is_over or self._is_due)
                is_over, is_lost = self._is_over, self._is_fenced or not self._is_wanted
            if self._leads and (is_over or is_lost):
                self._end(is_lost)
            if is_over:
                return
            if is_lost and self._is_fenced:
                self._rest()
            elif not is_lost:
                self._begin()

    @property
    def _is_due(self) -> bool:
        return self._leads is not self._is_wanted or self._is_fenced

    def _begin(self) -> None:
        """Claim the right and lead; what keeps this host from it is tried again as long as the group wants it."""
        try:
            term = self._right.claim()
        except ConnectError as error:
            log.warning("this host does not lead yet: %s", error)
            self._rest()
            return
        log.info("this host leads its cluster, term %d", term)
        self._leads = True
        self._lead(term)

    def _end(self, is_lost: bool) -> None:
        log.info("this host leads no more: %s", "another may do so now" if is_lost else "it stops")
        if is_lost:
            self._right.relinquish()
        try:
            self._follow()
        finally:
            self._right.relinquish()
            self._leads = False

    def _rest(self) -> None:
        """Wait for a moment: a host that was fenced is told by its group soon that it has lost its place."""
        with self._news:
            self._news.wait_for(lambda: self._is_over or not self._is_wanted, self._pause)
            self._is_fenced = False

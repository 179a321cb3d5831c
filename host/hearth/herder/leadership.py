"""Decides whether this host leads: its group has chosen it and it holds the exclusive right to write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from hearth_api import ConnectError

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Delay before a host that failed to become leader, or was fenced, tries again."""


class WriteRight(Protocol):
    """The exclusive right to write what the hosts of a cluster share; implemented by the topic stores."""

    def claim(self) -> int:
        """Take the right from its holder; return a number greater than that of every earlier claim on any host."""

    def relinquish(self) -> None:
        """Give up the right: nothing is written after this."""


class Leadership:
    """Starts and ends the terms of a host, one after the other, on one thread.

    The host's group decides who should lead (`on_group`); the brokers enforce it. A term starts with a claim, which
    fences every earlier leader, and ends no later than another host's claim (`on_fenced`). A host that leaves in order
    first lets its tasks drain and write their last offsets. One that has lost its place gives up the right first,
    because another host may lead already.
    """

    def __init__(
        self,
        right: WriteRight,
        lead: Callable[[int], None],
        follow: Callable[[], None],
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """``lead`` starts the work of a term, whose number it receives; ``follow`` ends it."""
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
        """Return whether a term of this host is in progress."""
        return self._leads

    def start(self) -> None:
        """Start the thread; the host leads from now on whenever its group chooses it."""
        self._thread.start()

    def on_group(self, holds: bool) -> None:
        """Record whether the group has chosen this host; may be called from any thread and does not block."""
        self._note(is_wanted=holds)

    def on_fenced(self) -> None:
        """Record that another host has claimed the right; may be called from any thread and does not block."""
        self._note(is_fenced=True)

    def leave(self) -> None:
        """End this host's term in order, if there is one, and start no other."""
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
        """Claim the right and lead; a failed claim is retried while the group chooses this host."""
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
        log.info("this host no longer leads: %s", "another may do so now" if is_lost else "it stops")
        if is_lost:
            self._right.relinquish()
        try:
            self._follow()
        finally:
            self._right.relinquish()
            self._leads = False

    def _rest(self) -> None:
        """Wait briefly: the group soon tells a fenced host that it has lost its place."""
        with self._news:
            self._news.wait_for(lambda: self._is_over or not self._is_wanted, self._pause)
            self._is_fenced = False

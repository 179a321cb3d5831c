"""What a source is promised of its records: how those that are sent become durable, and its positions move on."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from hearth.kafka.producer import Producer
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.link import HostLost, TaskLink
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Prepared
from hearth.runtime.send_buffer import SendBuffer
from hearth.staging.plugin_plan import TaskSettings
from hearth_api import ConnectError
from hearth_stage.channel import CallTimeout

log = logging.getLogger(__name__)

WAIT_MS = 50
"""So long a loop that ends waits for its broker before it looks for other news."""

LISTEN_SECONDS = 1.0
"""How often it is looked whether a host that was silent has said something."""

Tell = Callable[[list[list[Any]]], None]


class Guarantee(ABC):
    """Says when positions are committed, and with what; its loop asks it in every round.

    All is called by the loop. After ``finish`` and ``save`` the producer is closed.
    """

    may_take = True
    """Whether the loop may deal with what was polled next."""
    may_send = True
    """Whether records may go to the producer."""
    is_settled = True
    """Whether all that is done is committed, as far as it will be."""
    due = 0.0
    """When there is something to do next, by the loop's clock."""

    @abstractmethod
    def admit(self, prepared: Prepared) -> None:
        """Raise ``ConnectError`` for records that may not be sent so."""

    @abstractmethod
    def taken(self, *, is_whole: bool) -> None:
        """Note that records were submitted; ``is_whole`` where they are all that was polled together, or its end."""

    @abstractmethod
    def rest(self, *, is_resting: bool) -> None:
        """Note that the task is not polled any more, because it is paused or stops, or that it is again."""

    @abstractmethod
    def end_transaction(self, *, aborts: bool) -> None:
        """Do what the task asked for: to end its transaction here."""

    @abstractmethod
    def tell(self, records: list[list[Any]]) -> None:
        """Let the task know which records are done."""

    @abstractmethod
    def step(self) -> None:
        """Commit where that is due, without waiting for a broker."""

    @abstractmethod
    def finish(self) -> None:
        """Commit for the last time: the task has drained, or its time for that is over."""

    @abstractmethod
    def save(self) -> None:
        """Commit what may be when the task has failed; what else goes wrong is only noted, but for ``HostLost``."""

    @abstractmethod
    def reason(self, error: Exception) -> Exception:
        """Return what a task fails with: the error, or one that says more."""


class AtLeastOnce(Guarantee):
    """Positions of records that brokers have are stored by the host, every so often (invariants 1 and 2).

    A host that does not answer may have died, and another run have begun that reads again what is not stored: nothing
    is taken until the host is heard again. One that is there and cannot store holds up nobody, as in Kafka Connect.
    Who stood still, maybe with its host, takes nothing until that could store a position, which it stores again where
    there is no other: brokers refuse what comes from a host that another follows.
    """

    def __init__(
        self,
        link: TaskLink,
        send_buffer: SendBuffer,
        producer: Producer,
        *,
        event_queue: EventQueue,
        observer: TaskObserver,
        settings: TaskSettings,
        tell: Tell,
        tell_commit: Callable[[], None] | None,
        clock: Callable[[], float],
    ) -> None:
        """``tell_commit`` is called after each commit, where somebody wants to hear of it."""
        self._link, self._send_buffer, self._producer = link, send_buffer, producer
        self._event_queue, self._observer, self._settings = event_queue, observer, settings
        self._tell, self._tell_commit, self._clock = tell, tell_commit, clock
        self._unstored: list[tuple[Any, Any]] = []
        self._last_stored: list[tuple[Any, Any]] = []
        self._is_asking = False
        self._silent_since: float | None = None
        self._next = clock() + settings.flush_interval

    @property
    def may_take(self) -> bool:  # type: ignore[override]
        """Return whether this run counts for all that is known, so that what it sends does not come again."""
        return self._silent_since is None and not self._link.pause_detector.look()

    @property
    def due(self) -> float:  # type: ignore[override]
        """Return when a commit is due: none is where nothing has come since the last, and nobody hears of it."""
        if self._link.pause_detector.is_open:
            return self._next if self._is_asking else 0.0
        is_needless = self._tell_commit is None and not self._unstored and self._send_buffer.positions.is_told
        return math.inf if is_needless else self._next

    def admit(self, prepared: Prepared) -> None:
        """Admit all: whatever is sent, its position follows."""

    def taken(self, *, is_whole: bool) -> None:
        """Do nothing: what becomes of each record counts."""

    def rest(self, *, is_resting: bool) -> None:
        """Do nothing: time goes on for a task that rests."""

    def end_transaction(self, *, aborts: bool) -> None:
        """Do nothing: a task without transactions has no end of them."""

    def tell(self, records: list[list[Any]]) -> None:
        """Tell at once."""
        self._tell(records)

    def step(self) -> None:
        """Commit every so often, and at once where a host that was silent is heard, as by the command to stop.

        After a standstill it commits at once as well, and until that is done.
        """
        if self._link.pause_detector.look() and not self._is_asking:
            self._is_asking, self._next = True, self._clock()
            self._unstored = self._unstored or self._last_stored
        is_silent = self._silent_since is not None and self._link.heard_at == self._silent_since
        is_heard_again = self._silent_since is not None and not is_silent
        if self._clock() < self.due and not is_heard_again:
            return
        if is_silent:
            self._next = self._clock() + LISTEN_SECONDS
            return
        self._next = self._clock() + self._settings.flush_interval
        self._commit()

    def finish(self) -> None:
        """Commit what is acknowledged."""
        self._producer.close()
        self._commit()

    def save(self) -> None:
        """Wait for what is on its way, at most as long as a commit may take, and commit what is acknowledged."""
        try:
            self._await_acknowledgements()
        except HostLost:
            raise
        except Exception as error:
            log.warning("its last records are not waited for: %s", error)
        finally:
            self._producer.close()
        try:
            self._commit()
        except Exception as error:
            log.warning("its last commit: %s", error)

    def reason(self, error: Exception) -> Exception:
        """Return the error."""
        return error

    def _commit(self) -> None:
        """Store what is committable; what cannot be stored now is kept for the next time."""
        self._unstored += self._send_buffer.positions.committable()
        began = self._link.heard_at
        try:
            if self._unstored:
                self._link.write_offsets(self._unstored, self._settings.flush_timeout)
                self._last_stored, self._unstored = self._unstored[-1:], []
                self._observer.committed()
        except ConnectError as error:
            is_silent = isinstance(error, CallTimeout) and self._link.heard_at == began
            self._silent_since = began if is_silent else None
            if is_silent or self._is_asking:
                self._next = self._clock() + LISTEN_SECONDS
            self._observer.commit_failed(f"they are kept: {error}")
            return
        self._silent_since = None
        if self._is_asking:
            self._is_asking = False
            self._link.pause_detector.end()
        if self._tell_commit is not None:
            self._tell_commit()

    def _await_acknowledgements(self) -> None:
        deadline = self._clock() + self._settings.flush_timeout
        while self._producer.in_flight and self._clock() < deadline:
            self._send_buffer.collect(WAIT_MS)
            for item in self._event_queue.take():
                if isinstance(item, HostLost):
                    raise item

"""Delivery guarantees of a source: how sent records become durable and when positions are committed."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from typing import Any

from hearth.isolation.stage import Stage
from hearth.kafka.producer import Producer
from hearth.runtime.link import HostLost, TaskLink
from hearth.runtime.pipeline import Prepared
from hearth.runtime.plan import TaskPlan
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.task_services import TaskServices
from hearth_api import ConnectError
from hearth_stage.channel import CallTimeout
from hearth_stage.task_call import CommitRecords, CommitSource

log = logging.getLogger(__name__)

WAIT_MS = 50
"""Milliseconds that a stopping loop waits for its broker before it checks for other events."""

LISTEN_SECONDS = 1.0
"""How often to check whether a silent host has sent something."""


class CommitCallbacks:
    """Calls the task's ``commit_record`` and ``commit`` in its stage."""

    def __init__(self, stage: Stage, wants_commits: bool) -> None:
        self._stage = stage
        self.wants_commits = wants_commits

    def records(self, records: list[list[Any]]) -> None:
        """Have ``commit_record`` called for records that are done."""
        if self._stage.is_alive:
            self._stage.notify(CommitRecords(records))

    def commit(self) -> None:
        """Have ``commit`` called, if the task has it."""
        if self.wants_commits and self._stage.is_alive:
            self._stage.notify(CommitSource())


class Guarantee(ABC):
    """Decides when positions are committed and with what; the loop calls it in every round.

    All methods are called by the loop's thread. After ``finish`` and ``save`` the producer is closed.
    """

    may_take = True
    """Whether the loop may process the next poll."""
    may_send = True
    """Whether records may go to the producer."""
    is_settled = True
    """Whether everything that can be committed is committed."""
    due = 0.0
    """When ``step`` has something to do next, by the loop's clock."""

    @abstractmethod
    def admit(self, prepared: Prepared) -> None:
        """Raise ``ConnectError`` for records that may not be sent."""

    @abstractmethod
    def taken(self, *, is_whole: bool) -> None:
        """Note that records were submitted; ``is_whole`` if they are all of a poll, or its end."""

    @abstractmethod
    def rest(self, *, is_resting: bool) -> None:
        """Note whether polling stopped, because the task is paused or stops."""

    @abstractmethod
    def end_transaction(self, *, aborts: bool) -> None:
        """End the transaction here, as the task requested."""

    @abstractmethod
    def confirm(self, records: list[list[Any]]) -> None:
        """Notify the task which records are done."""

    @abstractmethod
    def step(self) -> None:
        """Commit if that is due, without waiting for a broker."""

    @abstractmethod
    def finish(self) -> None:
        """Commit for the last time: the task has drained, or its time for draining is over."""

    @abstractmethod
    def save(self) -> None:
        """Commit what is possible after the task failed; log further errors, but raise ``HostLost``."""

    @abstractmethod
    def reason(self, error: Exception) -> Exception:
        """Return the error that the task fails with: this one, or one that explains it."""


class AtLeastOnce(Guarantee):
    """Has the host store the positions of acknowledged records at intervals (invariants 1 and 2).

    A host that does not answer may have died, and another run may have started and read again what is not stored: no
    records are taken until a message of the host arrives. A host that answers and cannot store does not block the
    task, as in Kafka Connect. A task that was suspended, maybe with its host, takes nothing until the host has stored
    a position (the last one again if there is no new one): brokers refuse writes of a host that was replaced.
    """

    def __init__(
        self,
        plan: TaskPlan,
        services: TaskServices[Prepared],
        send_buffer: SendBuffer,
        producer: Producer,
        callbacks: CommitCallbacks,
        link: TaskLink,
    ) -> None:
        self._settings, self._send_buffer, self._producer = plan.settings, send_buffer, producer
        self._event_queue, self._observer, self._clock = services.event_queue, services.observer, services.clock
        self._callbacks, self._link = callbacks, link
        self._unstored: list[tuple[Any, Any]] = []
        self._last_stored: list[tuple[Any, Any]] = []
        self._is_asking = False
        self._silent_since: float | None = None
        self._next = self._clock() + self._settings.flush_interval

    @property
    def may_take(self) -> bool:  # type: ignore[override]
        """Return whether this run is current as far as is known, so that no other run sends the same records."""
        return self._silent_since is None and not self._link.pause_detector.look()

    @property
    def due(self) -> float:  # type: ignore[override]
        """Return when the next commit is due; never, if there is nothing new to commit and no task to notify."""
        if self._link.pause_detector.is_open:
            return self._next if self._is_asking else 0.0
        is_needless = (
            not self._callbacks.wants_commits and not self._unstored and self._send_buffer.positions.is_drained
        )
        return math.inf if is_needless else self._next

    def admit(self, prepared: Prepared) -> None:
        """Admit everything."""

    def taken(self, *, is_whole: bool) -> None:
        """Do nothing: positions follow the acknowledgements of records."""

    def rest(self, *, is_resting: bool) -> None:
        """Do nothing: commits continue while the task is not polled."""

    def end_transaction(self, *, aborts: bool) -> None:
        """Do nothing: there are no transactions."""

    def confirm(self, records: list[list[Any]]) -> None:
        """Notify the task at once."""
        self._callbacks.records(records)

    def step(self) -> None:
        """Commit at intervals, and at once when a silent host sends a message, for example a command to stop.

        After a suspension it commits at once as well, and repeats that until it succeeds.
        """
        if self._link.pause_detector.look() and not self._is_asking:
            self._is_asking, self._next = True, self._clock()
            self._unstored = self._unstored or self._last_stored
        is_silent = self._silent_since is not None and self._link.heard_at == self._silent_since
        answers_again = self._silent_since is not None and not is_silent
        if self._clock() < self.due and not answers_again:
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
        """Wait for records in flight, at most as long as a commit may take, and commit what is acknowledged."""
        try:
            self._await_acknowledgements()
        except HostLost:
            raise
        except Exception as error:
            log.warning("stopped waiting for the acknowledgement of the last records: %s", error)
        finally:
            self._producer.close()
        try:
            self._commit()
        except Exception as error:
            log.warning("the last commit failed: %s", error)

    def reason(self, error: Exception) -> Exception:
        """Return the error."""
        return error

    def _commit(self) -> None:
        """Store committable positions; keep what cannot be stored now for the next commit."""
        self._unstored += self._send_buffer.positions.committable()
        began, heard = self._clock(), self._link.heard_at
        try:
            if self._unstored:
                self._observer.commit_begun()
                self._link.write_offsets(self._unstored, self._settings.flush_timeout)
                self._last_stored, self._unstored = self._unstored[-1:], []
                self._observer.committed(self._clock() - began)
        except ConnectError as error:
            is_silent = isinstance(error, CallTimeout) and self._link.heard_at == heard
            self._silent_since = heard if is_silent else None
            if is_silent or self._is_asking:
                self._next = self._clock() + LISTEN_SECONDS
            self._observer.commit_failed(f"they are kept for the next commit: {error}")
            return
        self._silent_since = None
        if self._is_asking:
            self._is_asking = False
            self._link.pause_detector.end()
        self._callbacks.commit()

    def _await_acknowledgements(self) -> None:
        deadline = self._clock() + self._settings.flush_timeout
        while self._producer.in_flight and self._clock() < deadline:
            self._send_buffer.collect(WAIT_MS)
            for item in self._event_queue.take():
                if isinstance(item, HostLost):
                    raise item

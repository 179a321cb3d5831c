"""The event queue of a running task: what its host, its stages and its own context tell it, from whatever thread.

It is the first thing a run has, so nothing is told too early: what arrives before there is a loop waits for it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hearth.isolation.stage import Stage
from hearth.link.link_call import Command
from hearth.staging.source_stage import Said
from hearth_api import ConnectError, TopicPartition
from hearth_stage.channel import Request
from hearth_stage.task_call import ContextRequest, ReportRecord


@dataclass(frozen=True)
class StageEnded:
    """A stage process is gone, or said what the protocol does not know."""

    stage: Stage


@dataclass(frozen=True)
class Errant:
    """A record the task reported although nothing is tolerated: what it belongs to must not count as done."""

    partition: TopicPartition
    offset: int
    error: ConnectError


@dataclass(frozen=True)
class MadeRecord:
    """A record the task made and reported: it has to be converted first, which only the loop may ask for."""

    request: Request
    report: ReportRecord


Item = Command | Said | ContextRequest | Errant | MadeRecord | StageEnded | ConnectError
"""An error is what the task raised in a poll, or that the host is lost."""


class EventQueue:
    """What was told and not taken yet, in the order it came.

    A loop waits in one place for everything: here, while a task works, or where its client waits for a broker, from
    which it is then ``fetched``.
    """

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._fetch: Callable[[], None] | None = None
        self._fetching = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to take."""
        return self._items.empty()

    def put(self, item: Item) -> None:
        """Tell the task something; may be called from any thread."""
        self._put(item)

    def wake(self) -> None:
        """End a wait for the event queue: something has come that is looked for elsewhere."""
        self._put(None)

    @contextmanager
    def fetched(self, fetch: Callable[[], None]) -> Iterator[None]:
        """Call ``fetch`` when something comes during this block, or is there: the loop waits elsewhere meanwhile.

        It is called on any thread, once for each item, and must not block.
        """
        with self._fetching:
            self._fetch = fetch
            is_late = not self.is_empty
        if is_late:
            fetch()
        try:
            yield
        finally:
            with self._fetching:
                self._fetch = None

    def _put(self, item: Item | None) -> None:
        self._items.put(item)
        with self._fetching:
            if self._fetch is not None:
                self._fetch()

    def take(self, seconds: float = 0.0) -> Iterator[Item]:
        """Yield what is there, waiting at most so long for the first of it."""
        try:
            item = self._items.get(timeout=seconds) if seconds > 0 else self._items.get_nowait()
            while True:
                if item is not None:
                    yield item
                item = self._items.get_nowait()
        except queue.Empty:
            return

"""The event queue of a running task: commands and messages of its host, stages and context, from any thread.

It is created first, so that events which arrive before the loop exists wait for it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hearth.isolation.stage import Stage
from hearth.link.link_call import Command
from hearth.staging.source_stage import SourceMessage
from hearth_api import ConnectError, TopicPartition
from hearth_stage.channel import Request
from hearth_stage.task_call import ContextRequest, ReportRecord


@dataclass(frozen=True)
class StageEnded:
    """A stage process ended, or sent a message that the protocol does not know."""

    stage: Stage


@dataclass(frozen=True)
class Errant:
    """A record the task reported although nothing is tolerated: its offset must not be committed."""

    partition: TopicPartition
    offset: int
    error: ConnectError


@dataclass(frozen=True)
class MadeRecord:
    """A record the task created and reported. It must be converted first, which only the loop may do."""

    request: Request
    report: ReportRecord


Item = Command | SourceMessage | ContextRequest | Errant | MadeRecord | StageEnded | ConnectError
"""An error is one that the task raised in a poll, or the loss of the host."""


class EventQueue:
    """Events that were not taken yet, in order of arrival.

    A loop waits in one place for everything: here, while a task works, or in its Kafka client, which ``fetched`` wakes
    when an event arrives.
    """

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._fetch: Callable[[], None] | None = None
        self._fetching = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Return whether the queue is empty."""
        return self._items.empty()

    def put(self, item: Item) -> None:
        """Add an event; may be called from any thread."""
        self._put(item)

    def wake(self) -> None:
        """End a wait for the queue without an event: something arrived elsewhere."""
        self._put(None)

    @contextmanager
    def fetched(self, fetch: Callable[[], None]) -> Iterator[None]:
        """Call ``fetch`` when an event is present or arrives during this block, while the loop waits elsewhere.

        It is called on any thread, once per event, and must not block.
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
        """Yield the events present, waiting at most ``seconds`` for the first."""
        try:
            item = self._items.get(timeout=seconds) if seconds > 0 else self._items.get_nowait()
            while True:
                if item is not None:
                    yield item
                item = self._items.get_nowait()
        except queue.Empty:
            return

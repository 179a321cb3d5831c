"""A source task whose records are read directly: polled and transformed, not converted."""

from __future__ import annotations

import logging
import queue
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

from hearth.isolation.stage import Stage
from hearth.staging.chain import Chain, split
from hearth.staging.place import OWN_STAGES, OpenStage, Place, PlaceOpener
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.poll_watch import PollWatch
from hearth.staging.source_stage import (
    AHEAD,
    HandedOver,
    Idle,
    ReadStored,
    SourceMessage,
    answer_source,
    source_start,
    start_source,
)
from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.failure import Failure
from hearth_execution.order import numbered
from hearth_execution.retry import Retry
from hearth_stage.plugin_call import Stopping
from hearth_stage.task_call import (
    AddCredit,
    CommitRecords,
    CommitSource,
    Polled,
    PollsEmpty,
    SourceStarted,
    StopSource,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Transformed:
    """The result of one poll and of its transformations.

    ``origins`` holds all rows as they were polled, with their source offsets; ``batches`` the transformed rows,
    ``failures`` the rows that a step could not process.
    """

    origins: list[Batch]
    batches: list[Batch]
    failures: list[Failure]

    @property
    def num_rows(self) -> int:
        """Return the number of transformed rows."""
        return sum(each.num_rows for each in self.batches)


class PolledTask:
    """Runs a source task from start to stop; it polls while its results are consumed.

    ``read_offsets`` returns committed offsets and is called from any thread. ``idle`` defines when ``take`` reports an
    empty source; ``ahead`` is the number of hand-overs polled in advance. ``admit`` may reject the started task by
    raising, before its first poll. All methods but ``wake`` and ``committed`` belong to one thread.
    """

    def __init__(
        self,
        plan: PluginPlan,
        read_offsets: ReadStored,
        *,
        idle: Idle | None = None,
        ahead: int = AHEAD,
        admit: Callable[[SourceStarted], None] = lambda started: None,
        open_stage: OpenStage = OWN_STAGES,
    ) -> None:
        self._plan, self._read_offsets, self._idle, self._ahead = plan, read_offsets, idle, ahead
        self._admit = admit
        self._open_stage = open_stage
        self._messages: queue.SimpleQueue[SourceMessage | Stage | None] = queue.SimpleQueue()
        self._ready: deque[Polled] = deque()
        self._owes_credit = False
        self._stopping = Event()
        self._stage: Stage

    def open(self, opened: ExitStack) -> None:
        """Start the stages and the task; the stack stops and closes them."""
        inside, between = split(self._plan)
        settings = self._plan.settings
        retry = Retry(
            settings.retry_timeout_ms, settings.retry_delay_max_ms, self._stopping, is_strict=not settings.is_tolerant
        )
        answer = partial(answer_source, self._messages.put, self._read_offsets)
        opener = PlaceOpener(self._plan, answer, self._messages.put, retry, open_stage=self._open_stage)
        self._stage, self._places = opener.open(opened)
        self._chain = Chain(self._plan, self._places, between)
        opened.callback(self._stop)
        start = source_start(self._plan, inside)
        if self._idle is not None:
            start = replace(start, empty_ms=self._idle.milliseconds, ends_exhausted=self._idle.ends_exhausted)
        started = start_source(self._stage, start, ahead=self._ahead, admit=self._admit)
        self.wants_commits, self.wants_records = started.wants_commits, started.wants_records
        self._watch = PollWatch(self._stage, settings.call_timeout)

    def take(self, seconds: float) -> Transformed | PollsEmpty | None:
        """Return the next poll, or that the source is empty; ``None`` if neither comes within ``seconds``.

        Raises what the task raised, and an error if its process ended or a poll hangs. The next call acknowledges the
        result of this one.
        """
        if self._ready:
            return self._transformed(self._ready.popleft())
        if self._owes_credit:
            self._owes_credit = False
            self._stage.notify(AddCredit(1))
        until = time.monotonic() + seconds
        while True:
            self._watch.step()
            now = time.monotonic()
            try:
                message = self._messages.get(timeout=max(0.0, min(until, self._watch.due) - now))
            except queue.Empty:
                if time.monotonic() >= until:
                    return None
                continue
            return self._result_of(message)

    def place(self, role: str) -> Place:
        """Return the place of the plugin of a role, a converter's for example."""
        return self._places[self._plan.plugin(role).environment]

    def wake(self) -> None:
        """Make a waiting ``take`` return ``None``; may be called from any thread."""
        self._messages.put(None)

    def committed(self, numbers: range) -> None:
        """Notify the task that its records of these numbers, counted from 0 as they were polled, are delivered.

        They have no metadata, because they are not in Kafka. May be called from any thread.
        """
        if not self._stage.is_alive:
            return
        if self.wants_records:
            self._stage.notify(CommitRecords([[number, None, 0, 0, 0] for number in numbers]))
        if self.wants_commits:
            self._stage.notify(CommitSource())

    def _result_of(self, message: SourceMessage | Stage | None) -> Transformed | PollsEmpty | None:
        if isinstance(message, HandedOver):
            self._owes_credit = True
            self._ready.extend(message.polled)
            return self._transformed(self._ready.popleft())
        if isinstance(message, Stage):
            raise message.died()
        if isinstance(message, ConnectError):
            raise message
        return message if isinstance(message, PollsEmpty) else None

    def _transformed(self, polled: Polled) -> Transformed:
        results = numbered(polled.results) if self._chain.hops else polled.results
        outcome = self._chain.transform(results)
        return Transformed([*polled.origins], outcome.batches, [*polled.failures, *outcome.failures])

    def _stop(self) -> None:
        self._stopping.set()
        if not self._stage.is_alive:
            return
        try:
            self._stage.notify(Stopping())
            self._stage.call(StopSource(), self._plan.settings.graceful_timeout)
        except ConnectError as error:
            log.warning("the task stopped with an error: %s", error)

"""Requests and reports that a sink task makes through its context, from its stage to the loop."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hearth.runtime.delivery import Offsets
from hearth.runtime.errant_record import take_report
from hearth.runtime.event_queue import EventQueue
from hearth.staging.tolerance import Tolerance
from hearth_api import TopicPartition
from hearth_stage.channel import Request
from hearth_stage.task_call import ContextRequest, ReportRecord


def answer_sink(event_queue: EventQueue, tolerance: Tolerance, request: Request) -> None:
    """Handle a request from a sink's stage, on the stage's reader thread: the loop may be waiting for that put."""
    message = request.message
    if isinstance(message, ContextRequest):
        event_queue.put(message)
    elif isinstance(message, ReportRecord):
        take_report(tolerance, event_queue, request, message)
    else:
        request.fail(LookupError(f"a sink task has no request {request.op!r}"))


@dataclass
class ContextRequests:
    """Requests of the task that were not carried out yet."""

    timeout: float | None = None
    rewind: Offsets = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    """Partitions paused by the task, until it resumes them or loses them."""
    commit: bool = False
    heard: int = 0
    """Number of requests so far."""

    def add(self, request: ContextRequest) -> None:
        """Add a request."""
        self.heard += 1
        self.rewind |= request.rewind
        self.timeout = self.timeout if request.timeout is None else request.timeout / 1000
        self.paused = (self.paused | set(request.pause)) - set(request.resume)
        self.commit = self.commit or request.commit

    def take_timeout(self) -> float | None:
        """Return the delay in seconds before the next put that the task requested, and clear it."""
        timeout, self.timeout = self.timeout, None
        return timeout

    def take_rewind(self, of: Collection[TopicPartition] | None = None) -> Offsets:
        """Return and clear the offsets that the task wants to seek to; with ``of``, only those of these partitions."""
        taken = {partition: offset for partition, offset in self.rewind.items() if of is None or partition in of}
        self.rewind = {partition: offset for partition, offset in self.rewind.items() if partition not in taken}
        return taken

"""What a sink task asks of its context and reports to it, from its stage to the loop."""

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
    """Take what the stage of a sink sends, on the stage's reader thread: the loop may wait for that very put."""
    message = request.message
    if isinstance(message, ContextRequest):
        event_queue.put(message)
    elif isinstance(message, ReportRecord):
        take_report(tolerance, event_queue, request, message)
    else:
        request.fail(LookupError(f"a sink task has no request {request.op!r}"))


@dataclass
class ContextRequests:
    """What the task asked of its context and has not been given yet."""

    timeout: float | None = None
    rewind: Offsets = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    """These rest until the task resumes them, or they go."""
    commit: bool = False
    heard: int = 0
    """How many requests there were."""

    def add(self, request: ContextRequest) -> None:
        """Take in one more request."""
        self.heard += 1
        self.rewind |= request.rewind
        self.timeout = self.timeout if request.timeout is None else request.timeout / 1000
        self.paused = (self.paused | set(request.pause)) - set(request.resume)
        self.commit = self.commit or request.commit

    def take_timeout(self) -> float | None:
        """Return how long the task wants to be left alone, once."""
        timeout, self.timeout = self.timeout, None
        return timeout

    def take_rewind(self, of: Collection[TopicPartition] | None = None) -> Offsets:
        """Return where the task wants to read on, once; of these partitions only, where some are named."""
        taken = {partition: offset for partition, offset in self.rewind.items() if of is None or partition in of}
        self.rewind = {partition: offset for partition, offset in self.rewind.items() if partition not in taken}
        return taken

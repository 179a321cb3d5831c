"""Starts a source task in its stage and handles the stage's messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.isolation.stage import Stage
from hearth.staging.chain import step_of
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_api import ConnectError
from hearth_stage.channel import Request
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.poll_times import NO_POLLS, PollTimes
from hearth_stage.task_call import (
    AddCredit,
    EndTransaction,
    HandOver,
    HoldPolling,
    Polled,
    PollFailed,
    PollsEmpty,
    SourceStarted,
    StartSource,
)

IDLE_MS = 100
AHEAD = 8
"""Hand-overs that a stage may send in advance; at most two large ones (``PROTOCOL.md``, section 8)."""


@dataclass(frozen=True)
class Idle:
    """When a source counts as empty: its polls have returned nothing for this many milliseconds.

    With ``ends_exhausted`` also as soon as its task reports that it is exhausted.
    """

    milliseconds: int
    ends_exhausted: bool = False

    @classmethod
    def given(cls, milliseconds: int | None) -> Idle:
        """Return the configured idle time; without one, also trust the task's report that it is exhausted."""
        return cls(IDLE_MS, ends_exhausted=True) if milliseconds is None else cls(milliseconds)


@dataclass(frozen=True)
class HandedOver:
    """Polls that a source's stage handed over together, at the cost of one credit."""

    polled: list[Polled]
    times: PollTimes = NO_POLLS


SourceMessage = HandedOver | EndTransaction | PollsEmpty | ConnectError
"""Messages that a source's stage sends unasked; an error is what the task raised in a poll."""
ReadStored = Callable[[list[dict[str, Any]]], list[dict[str, Any] | None]]
"""Returns the committed offsets of source partitions."""


def answer_source(on_message: Callable[[SourceMessage], None], read_offsets: ReadStored, request: Request) -> None:
    """Handle a message of a source's stage, on the stage's reader thread; it may read offsets from its start on."""
    message = request.message
    if isinstance(message, HandOver):
        on_message(HandedOver(list(message.polled()), message.times))
    elif isinstance(message, (EndTransaction, PollsEmpty)):
        on_message(message)
    elif isinstance(message, PollFailed):
        on_message(message.error.to_error())
    elif isinstance(message, ReadOffsets):
        request.answer(lambda asked: StoredOffsets(read_offsets(asked.partitions)))
    else:
        request.fail(LookupError(f"a source task has no request {request.op!r}"))


def source_start(plan: PluginPlan, inside: Sequence[PluginSpec]) -> StartSource:
    """Return the message that starts a plan's source task, with the transformations that run in its stage."""
    task, steps = plan.plugin("task"), [step_of(plugin) for plugin in inside]
    return StartSource(task.reference, dict(plan.task_config), steps, names_only=not plan.settings.shows_records)


def start_source(
    stage: Stage,
    start: StartSource,
    *,
    is_paused: bool = False,
    ahead: int = AHEAD,
    admit: Callable[[SourceStarted], None] = lambda started: None,
) -> SourceStarted:
    """Start the task in its stage and let it poll; returns the callbacks it wants.

    ``ahead`` is the number of hand-overs that it may send in advance. ``admit`` may reject the started task by
    raising, before its first poll.
    """
    started = stage.call(start)
    admit(started)
    if is_paused:
        stage.notify(HoldPolling())
    stage.notify(AddCredit(ahead))
    return started

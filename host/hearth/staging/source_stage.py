"""What whoever runs a source's task says to its stage, and hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hearth.isolation.stage import Stage
from hearth.staging.chain import step_of
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_api import ConnectError
from hearth_stage.channel import Request
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
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
"""Hand-overs a stage may be ahead; of large ones it makes no more than two (``PROTOCOL.md``, section 8)."""


@dataclass(frozen=True)
class Idle:
    """When a source counts as empty: polls have brought nothing for so many milliseconds.

    With ``ends_exhausted`` also as soon as its task says that there is nothing to be polled.
    """

    milliseconds: int
    ends_exhausted: bool = False

    @classmethod
    def given(cls, milliseconds: int | None) -> Idle:
        """Return what somebody wants; who says nothing believes the task."""
        return cls(IDLE_MS, ends_exhausted=True) if milliseconds is None else cls(milliseconds)


@dataclass(frozen=True)
class HandedOver:
    """What the stage of a source handed over together; it has taken one of the stage's credit."""

    polled: list[Polled]


Said = HandedOver | EndTransaction | PollsEmpty | ConnectError
"""What a source's stage says by itself; an error is what the task raised in a poll."""
ReadStored = Callable[[list[dict[str, Any]]], list[dict[str, Any] | None]]
"""Returns the committed offsets of source partitions."""


def answer_source(hear: Callable[[Said], None], read_offsets: ReadStored, request: Request) -> None:
    """Take what the stage of a source sends, on the stage's reader thread; offsets are read from its start on."""
    message = request.message
    if isinstance(message, HandOver):
        hear(HandedOver(list(message.polled())))
    elif isinstance(message, (EndTransaction, PollsEmpty)):
        hear(message)
    elif isinstance(message, PollFailed):
        hear(message.error.to_error())
    elif isinstance(message, ReadOffsets):
        request.answer(lambda asked: StoredOffsets(read_offsets(asked.partitions)))
    else:
        request.fail(LookupError(f"a source task has no request {request.op!r}"))


def start_source(
    stage: Stage,
    plan: PluginPlan,
    inside: Sequence[PluginSpec],
    *,
    is_paused: bool = False,
    ahead: int = AHEAD,
    ends_transactions: bool = False,
    joins_polls: bool = False,
    packs: bool = False,
    drops_positions: bool = False,
    idle: Idle | None = None,
    admit: Callable[[SourceStarted], None] = lambda started: None,
) -> SourceStarted:
    """Start the task in its stage, and let it poll; returns what it wants to hear of.

    ``inside`` are the transformations that run there. ``idle`` is when the stage says that it is empty,
    for who wants to know. What ``admit`` raises ends it before the first poll. ``ahead`` is how many hand-overs it may
    be ahead; with ``joins_polls`` polls that follow each other closely may be one hand-over, and with
    ``packs`` records of many kinds may come packed. With
    ``drops_positions`` what the transformations make need not say where in the source it was: what was polled does.
    """
    steps = [step_of(plugin) for plugin in inside]
    reference, config = plan.plugin("task").reference, dict(plan.task_config)
    names_only = not plan.settings.shows_records
    start = StartSource(
        reference, config, steps, ends_transactions,
        names_only=names_only, drops_positions=drops_positions, joins_polls=joins_polls,
        packs=packs,
    )  # fmt: skip
    if idle is not None:
        start = replace(start, empty_ms=idle.milliseconds, ends_exhausted=idle.ends_exhausted)
    started = stage.call(start)
    admit(started)
    if is_paused:
        stage.notify(HoldPolling())
    stage.notify(AddCredit(ahead))
    return started

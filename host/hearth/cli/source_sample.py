"""What a source's records look like behind its transformations: its task runs for a moment, and nothing is sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

from hearth.runtime.end import RunEnd
from hearth.runtime.inbox import HandedOver, Inbox, StageEnded
from hearth.runtime.link import TaskLink, Welcome
from hearth.runtime.pipeline import Pipeline, split
from hearth.runtime.plan import TaskPlan
from hearth.runtime.source import answer_source, start_source
from hearth.runtime.task import OWN_STAGES, TaskRun
from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.order import numbered
from hearth_stage.task_call import Polled, StopSource


class NoHost:
    """Stands where a run has its link: nothing was committed before, and nobody hears of this run."""

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Know no offsets: the task begins where it would begin for the first time."""
        return [None] * len(partitions)


def sampled(plan: TaskPlan, first_seconds: float, next_seconds: float) -> Iterator[Batch]:
    """Yield what the first records of a source's task become behind its transformations, as it polls them.

    It ends when the first record or the next does not come in time, or when its caller ends it. Nothing is written to
    Kafka and no offset is committed; what polling does elsewhere is done. Raises what the task raises, and the first
    failure of a record.
    """
    end = RunEnd(plan.name, Inbox())
    link = cast(TaskLink, NoHost())
    with ExitStack() as opened:
        opened.callback(end.complete)
        inside, between = split(plan)
        run = TaskRun(Welcome(plan, is_paused=False), end, link, OWN_STAGES)
        stage, places = run.open_places(opened, partial(answer_source, end.inbox, link))
        pipeline = Pipeline(plan, places, between)
        start_source(stage, plan, inside, is_paused=False)
        try:
            yield from _batches(pipeline, end.inbox, first_seconds, next_seconds)
        finally:
            if stage.is_alive:
                stage.call(StopSource())


def _batches(pipeline: Pipeline, inbox: Inbox, first_seconds: float, next_seconds: float) -> Iterator[Batch]:
    deadline = time.monotonic() + first_seconds
    while (left := deadline - time.monotonic()) > 0:
        for item in inbox.take(left):
            if isinstance(item, ConnectError):
                raise item
            if isinstance(item, StageEnded):
                raise ConnectError("the process of the task has ended", hint="see its last lines in the log")
            if isinstance(item, HandedOver):
                for polled in item.polled:
                    yield from _transformed(pipeline, polled)
                deadline = time.monotonic() + next_seconds


def _transformed(pipeline: Pipeline, polled: Polled) -> Iterator[Batch]:
    outcome = pipeline.transform(numbered(polled.results) if pipeline.hops else polled.results)
    for failure in (*polled.failures, *outcome.failures):
        raise failure.error.to_error()
    yield from outcome.batches

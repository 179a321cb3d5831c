"""Decides which events the states of connectors make."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from hearth.herder.lineage.dataset import DatasetName
from hearth.storage import State


class EventKind(str, Enum):
    """The types of events that Hearth sends, by OpenLineage's names."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"


@dataclass(frozen=True)
class LineageFacts:
    """A connector as it is now: ``states`` of its instance and its tasks, ``error`` is the trace of a failure."""

    revision: int
    states: tuple[State, ...]
    inputs: tuple[DatasetName, ...] = ()
    outputs: tuple[DatasetName, ...] = ()
    error: str = ""
    is_stopped: bool = False


@dataclass(frozen=True)
class LineageEvent:
    """An event of a connector's run; all events of a run have its id."""

    kind: EventKind
    connector: str
    run_id: str
    facts: LineageFacts


@dataclass
class _OpenRun:
    run_id: str
    facts: LineageFacts
    is_running: bool = False


class ConnectorRuns:
    """The open runs of connectors, at most one of each.

    A run starts when the connector has tasks. It completes when the connector is stopped, deleted or configured anew,
    and fails when its instance or a task fails; a restart after that is another run. It is running once all tasks run,
    and says so again when it reads or writes something else.
    """

    def __init__(self, new_id: Callable[[], object] = uuid.uuid4) -> None:
        self._new_id = new_id
        self._runs: dict[str, _OpenRun] = {}

    def changed(self, connector: str, facts: LineageFacts | None) -> Iterator[LineageEvent]:
        """Yield the events of a connector's present state, None if there is no such connector; often none."""
        run = self._runs.get(connector)
        if run is not None and (facts is None or facts.is_stopped or facts.revision != run.facts.revision):
            yield self._ended(connector, run, EventKind.COMPLETE)
            run = None
        if facts is None or facts.is_stopped or len(facts.states) < 2:
            return
        is_failed = State.FAILED in facts.states
        if run is None:
            if is_failed:
                return
            run = self._runs[connector] = _OpenRun(str(self._new_id()), facts)
            yield LineageEvent(EventKind.START, connector, run.run_id, facts)
        is_news = (facts.inputs, facts.outputs) != (run.facts.inputs, run.facts.outputs)
        run.facts = facts
        if is_failed:
            yield self._ended(connector, run, EventKind.FAIL)
        elif set(facts.states) == {State.RUNNING} and (is_news or not run.is_running):
            run.is_running = True
            yield LineageEvent(EventKind.RUNNING, connector, run.run_id, facts)

    def close(self) -> Iterator[LineageEvent]:
        """Complete all open runs."""
        for connector, run in list(self._runs.items()):
            yield self._ended(connector, run, EventKind.COMPLETE)

    def _ended(self, connector: str, run: _OpenRun, kind: EventKind) -> LineageEvent:
        del self._runs[connector]
        return LineageEvent(kind, connector, run.run_id, run.facts)

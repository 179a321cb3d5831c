"""Runs cases on one side, all at once, and returns their outcomes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tests.peer.case import SINK_CLASS, SOURCE_CLASS, Case
from tests.peer.kept import plain
from tests.peer.side import Side
from tests.peer.topic import Record
from tests.peer.worker import Worker
from tests.timeouts import eventually

_DEADLINE = 60.0
_TRACE = "__connect.errors.exception.stacktrace"


class Runner:
    """Gives both sides the same environment: same names, same topics, same file contents."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._folder = side.folder / "files"
        self._topics = side.topics

    def run(self, settings: str, cases: Sequence[Case]) -> dict[str, Any]:
        """Run cases on the worker of some settings, and clean up the broker.

        The worker is stopped with all its connectors at once: it delivers and commits first, as when they are deleted
        one by one, which takes Java a quarter of a second each.
        """
        for case in cases:
            self._prepare(case)
        worker = self._side.worker(settings)
        refused = {case.name: self._create(worker, case) for case in cases}
        accepted = [case for case in cases if not refused[case.name]]
        self._wait(worker, accepted)
        states = {case.name: self._states(worker, case) for case in accepted}
        self._side.stop(settings)
        outcomes = {case.name: self._outcome(case, states.get(case.name, []), refused[case.name]) for case in cases}
        self._clean(cases)
        return outcomes

    def _prepare(self, case: Case) -> None:
        """Write the case's input, and remove the other side's output."""
        folder = self._folder / case.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "in.txt").write_bytes(case.text)
        (folder / "out.txt").unlink(missing_ok=True)
        for topic in case.topics_read:
            self._topics.create(topic, case.partitions)
            self._topics.produce(topic, case.records)

    def _create(self, worker: Worker, case: Case) -> str:
        """Create the case's connectors; return the message if the worker refuses one."""
        for config in self.configs(case):
            answer = worker.rest.create(config)
            if answer.status != 201:
                return answer.text
        return ""

    def configs(self, case: Case) -> list[dict[str, str]]:
        """Return the configurations of the case's connectors."""
        rows = []
        if case.kind != "sink":
            file = str(self._folder / case.name / "in.txt")
            base = {"name": case.source, "connector.class": SOURCE_CLASS, "file": file, "topic": case.name}
            rows.append({**base, **case.config})
        if case.kind != "source":
            file = str(self._folder / case.name / "out.txt")
            base = {"name": case.sink, "connector.class": SINK_CLASS, "file": file, "topics": case.name}
            rows.append({**base, **(case.config if case.kind == "sink" else case.sink_config)})
        return [_filled(row, case.name) for row in rows]

    def _wait(self, worker: Worker, cases: Iterable[Case]) -> None:
        """Wait until every case is complete or the time is over; missing outputs show in the comparison."""
        deadline = time.monotonic() + _DEADLINE
        for case in cases:
            eventually(partial(self._is_through, worker, case), deadline - time.monotonic())

    def _is_through(self, worker: Worker, case: Case) -> bool:
        """Return whether a case has failed, or its connectors run and all its outputs exist."""
        states = self._states(worker, case)
        if case.fails or "FAILED" in states:
            return "FAILED" in states
        return "RUNNING" in states and self._produced(case) >= case.outputs

    def _produced(self, case: Case) -> int:
        """Return how many outputs of a case exist."""
        if case.kind == "source":
            return sum(self._topics.count(topic) for topic in case.topics_written)
        file = self._folder / case.name / "out.txt"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def _states(self, worker: Worker, case: Case) -> list[str]:
        return [state for name in _names(case) for state in worker.rest.states(name)[1:]]

    def _outcome(self, case: Case, states: Sequence[str], refused: str) -> dict[str, Any]:
        """Return the outcome of a case; `states` are those of its tasks before they were stopped."""
        file = self._folder / case.name / "out.txt"
        lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        return {
            "refused": refused,
            "states": list(states),
            "file": [plain(line) for line in (lines if case.ordered else sorted(lines))],
            "topics": {topic: [_row(record) for record in self._topics.read(topic)] for topic in case.topics_written},
        }

    def _clean(self, cases: Sequence[Case]) -> None:
        """Remove the cases' topics and groups, so that the other side starts from the same state."""
        self._topics.delete({topic for case in cases for topic in (*case.topics_read, *case.topics_written)})
        self._topics.delete_groups([case.group for case in cases if case.kind != "source"])


def _filled(config: Mapping[str, str], name: str) -> dict[str, str]:
    """Return a configuration with the case's name inserted, and without keys set to None."""
    return {key: value.replace("{name}", name) for key, value in config.items() if value}


def _names(case: Case) -> list[str]:
    names = {"source": [case.source], "sink": [case.sink], "both": [case.source, case.sink]}
    return names[case.kind]


def _row(record: Record) -> list[Any]:
    """Return a record with the comparable part of traces: their first lines."""
    headers = [[name, plain(_first_line(data) if name == _TRACE else data)] for name, data in record.headers]
    return [record.partition, plain(record.key), plain(record.value), headers]


def _first_line(data: bytes | None) -> bytes | None:
    return None if data is None else data.split(b"\n")[0]

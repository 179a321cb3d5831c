"""Runs cases on one side, all at once, and keeps what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.peer.case import SINK_CLASS, SOURCE_CLASS, Case
from tests.peer.rest import eventually
from tests.peer.topic import Record, Topics
from tests.peer.worker import Worker

_DEADLINE = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a case left behind on one side; `states` are those of its tasks before they were stopped."""

    topics: Mapping[str, Sequence[Record]]
    file: bytes
    states: Sequence[str]
    refused: str = ""


class Runner:
    """Gives both sides the same world: same names, same files, same topics, one after the other."""

    def __init__(self, folder: Path, topics: Topics) -> None:
        self._folder = folder
        self._topics = topics

    def run(self, worker: Worker, cases: Sequence[Case]) -> dict[str, Outcome]:
        """Run cases on a worker of their own, and leave the broker as it was.

        The worker is stopped with all its connectors at once: what they have in hand is delivered and committed
        first, as when they are deleted one by one, which takes Java a quarter of a second each.
        """
        for case in cases:
            self._prepare(case)
        with worker:
            refused = {case.name: self._create(worker, case) for case in cases}
            accepted = [case for case in cases if not refused[case.name]]
            self._wait(worker, accepted)
            states = {case.name: self._states(worker, case) for case in accepted}
        outcomes = {case.name: self._outcome(case, states.get(case.name, []), refused[case.name]) for case in cases}
        self._clean(cases)
        return outcomes

    def _prepare(self, case: Case) -> None:
        """Write the case's input, and remove what the other side left."""
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
        """Wait until every case is through or the time is over; what is missing will show."""
        deadline = time.monotonic() + _DEADLINE
        for case in cases:
            eventually(partial(self._is_through, worker, case), deadline - time.monotonic())

    def _is_through(self, worker: Worker, case: Case) -> bool:
        """Tell whether a case has failed, or its connectors run and its outputs are all there."""
        states = self._states(worker, case)
        if case.fails or "FAILED" in states:
            return "FAILED" in states
        return "RUNNING" in states and self._produced(case) >= case.outputs

    def _produced(self, case: Case) -> int:
        """Return how many outputs of a case are there."""
        if case.kind == "source":
            return sum(self._topics.count(topic) for topic in case.topics_written)
        file = self._folder / case.name / "out.txt"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def _states(self, worker: Worker, case: Case) -> list[str]:
        return [state for name in _names(case) for state in worker.rest.states(name)[1:]]

    def _outcome(self, case: Case, states: Sequence[str], refused: str) -> Outcome:
        """Collect what a case left behind."""
        file = self._folder / case.name / "out.txt"
        topics = {topic: self._topics.read(topic) for topic in case.topics_written}
        return Outcome(topics, file.read_bytes() if file.exists() else b"", states, refused)

    def _clean(self, cases: Sequence[Case]) -> None:
        """Remove the cases' topics and groups, so that the other side finds the same world."""
        self._topics.delete({topic for case in cases for topic in (*case.topics_read, *case.topics_written)})
        self._topics.delete_groups([case.group for case in cases if case.kind != "source"])


def _filled(config: Mapping[str, str], name: str) -> dict[str, str]:
    """Return a configuration with the case's name put in, and without what was set to nothing."""
    return {key: value.replace("{name}", name) for key, value in config.items() if value}


def _names(case: Case) -> list[str]:
    names = {"source": [case.source], "sink": [case.sink], "both": [case.source, case.sink]}
    return names[case.kind]


def run_side(
    runner: Runner,
    start: Callable[[str, Mapping[str, str]], Worker],
    cases: Sequence[Case],
    workers: Mapping[str, Mapping[str, str]],
) -> dict[str, Outcome]:
    """Run all cases of one side, one worker process for each worker configuration among them."""
    outcomes: dict[str, Outcome] = {}
    for name in dict.fromkeys(case.worker for case in cases):
        outcomes.update(runner.run(start(name, workers[name]), [case for case in cases if case.worker == name]))
    return outcomes

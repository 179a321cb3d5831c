"""The kinds of cases, and how a side runs them: the same for Java, whose answers are kept, and for Hearth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.client_story import STORIES, ClientStory, tell
from tests.peer.cluster_cases import CLUSTER_CASES
from tests.peer.kept import KeptAnswers, Named
from tests.peer.rest_case import RestCase, play
from tests.peer.rest_cases import EVERY_PLUGIN, REST_CASES
from tests.peer.runner import Runner
from tests.peer.side import Side
from tests.peer.sink_life import SINK_LIVES, SinkLife, live
from tests.peer.validation_cases import VALIDATION_CASES

C = TypeVar("C", bound=Named)


class Comparison(ABC, Generic[C]):
    """Cases of one kind and Java's kept answers to them."""

    def __init__(self, kind: str, cases: Sequence[C]) -> None:
        self.kept = KeptAnswers(kind)
        self.cases = cases

    @abstractmethod
    def play(self, side: Side, cases: Sequence[C]) -> dict[str, Any]:
        """Run some of the cases on one side and return its answers, as plain data by case name."""


class Outcomes(Comparison[Case]):
    """The output of connectors; all cases of one worker run at once."""

    def play(self, side: Side, cases: Sequence[Case]) -> dict[str, Any]:
        runner = Runner(side)
        answers: dict[str, Any] = {}
        for worker in dict.fromkeys(case.worker for case in cases):
            answers |= runner.run(worker, [case for case in cases if case.worker == worker])
        return answers


class Answers(Comparison[RestCase]):
    """A worker's responses to requests, in order."""

    def __init__(self, kind: str, cases: Sequence[RestCase], worker: str = "json") -> None:
        super().__init__(kind, cases)
        self._worker = worker

    def play(self, side: Side, cases: Sequence[RestCase]) -> dict[str, Any]:
        worker = side.worker(self._worker)
        return {case.name: side.neutral(play(case, worker)) for case in cases}


class Lives(Comparison[SinkLife]):
    """The sink's output after each change of its configuration."""

    def play(self, side: Side, cases: Sequence[SinkLife]) -> dict[str, Any]:
        return {case.name: live(case, side) for case in cases}


class Stories(Comparison[ClientStory]):
    """The results of third-party clients."""

    def play(self, side: Side, cases: Sequence[ClientStory]) -> dict[str, Any]:
        worker = side.worker("json")
        return {case.name: side.neutral(tell(case, worker)) for case in cases}


OUTCOMES = Outcomes("outcome", CASES)
ANSWERS = Answers("rest", (*REST_CASES, EVERY_PLUGIN))
VALIDATIONS = Answers("validation", VALIDATION_CASES)
CLUSTER = Answers("cluster", CLUSTER_CASES, "cluster")
LIVES = Lives("sink_life", SINK_LIVES)
CLIENT_STORIES = Stories("client_story", STORIES)
COMPARISONS: tuple[Comparison[Any], ...] = (ANSWERS, VALIDATIONS, CLIENT_STORIES, CLUSTER, LIVES, OUTCOMES)
"""In this order: a worker is stopped with its connectors after the last of them."""

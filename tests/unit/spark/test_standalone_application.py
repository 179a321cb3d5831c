"""A host's reaction to its Spark master's state: applications of earlier terms, and its own forgotten one."""

from __future__ import annotations

import threading

import pytest

from hearth.spark import standalone_application
from hearth.spark.standalone_application import MasterState, StandaloneApplication, Term

OWN = Term("kafka/group", 7)


class Application(StandaloneApplication):
    """One whose master knows one thing after the other; what is ended there is only taken note of."""

    def __init__(self, *states: MasterState | None) -> None:
        self._id, self._term = "own", OWN
        self._states = list(states)
        self.is_over = threading.Event()
        self.events: list[str] = []

    def _asked(self) -> MasterState | None:
        if len(self._states) == 1:
            self.is_over.set()
        return self._states.pop(0)

    def _is_away_soon(self) -> bool:
        return True

    def _end(self, application: str) -> None:
        self.events.append(application)

    def seen(self) -> list[str]:
        """Return the reactions to all states."""
        self.watch(lambda: self.events.append("away"), lambda: self.events.append("forgotten"), self.is_over)
        return self.events

    def met(self) -> int:
        """Return how often a master that was away was met."""
        met: list[None] = []
        self.watch(lambda: None, lambda: None, self.is_over, lambda: met.append(None))
        return len(met)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the waits for a master."""
    monkeypatch.setattr(standalone_application, "AWAY_SECONDS", 0.0)


def knows(*others: Term | None, own: bool = True, workers: bool = True) -> MasterState:
    """Return what a master knows: applications of these terms, this host's, workers."""
    found: dict[str, Term | None] = {f"other-{number}": term for number, term in enumerate(others)}
    return MasterState({**found, **({"own": OWN} if own else {})}, workers)


def test_only_applications_of_earlier_terms_are_ended() -> None:
    """Neither those of others who share the cluster, nor of who leads after this one that does not know it yet."""
    others = (Term("kafka/group", 6), Term("kafka/group", 7), Term("kafka/group", 8), Term("kafka/other", 1), None)
    assert Application(knows(*others)).seen() == ["other-0"]


def test_recovered_master_that_knows_the_application_is_ignored() -> None:
    """Spark's driver has registered again by then."""
    assert Application(knows(), None, None, knows(workers=False), knows()).seen() == []
    assert Application(None, knows(), None).met() == 0
    assert Application(knows(), None, None, knows(workers=False), None).met() == 1


def test_forgotten_application_restarts_when_workers_return() -> None:
    """Not before: until then the running tasks continue, and there is time to prepare one JVM."""
    forgot = knows(own=False, workers=False)
    assert Application(knows(), None, forgot, forgot).seen() == ["away"]
    assert Application(knows(), None, forgot, forgot, knows(own=False), None).seen() == ["away", "forgotten"]
    assert Application(None, knows(own=False), None).seen() == ["forgotten"]


def test_application_carries_its_term() -> None:
    """The master shows it in the settings of the executors."""
    assert OWN.settings() == {
        "spark.executorEnv.HEARTH_CLUSTER": "kafka/group",
        "spark.executorEnv.HEARTH_TERM": "7",
    }

"""The same configurations on Java's Kafka Connect and on Hearth, compared byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hearth.broker import KafkaBroker
from tests.peer.case import Case
from tests.peer.cases import CASES, WORKERS
from tests.peer.hearth_connect import HearthConnect
from tests.peer.java_connect import JavaConnect
from tests.peer.runner import Outcome, Runner, run_side
from tests.peer.topic import Record, Topics
from tests.peer.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.xdist_group("peer")]

_PATIENT = {"task.shutdown.graceful.timeout.ms": "30000"}  # all tasks of a worker stop at the same moment
# Texts that name Java's own classes and call stacks; everything else in a header has to be equal.
_JAVA_ONLY_HEADERS = ("__connect.errors.exception.stacktrace", "__connect.errors.exception.class.name")


@pytest.fixture(scope="session")
def outcomes(
    request: pytest.FixtureRequest, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Outcome, Outcome]]:
    """Run the selected cases on both sides, all of Java's first, and return Java's and Hearth's outcomes."""
    folder = tmp_path_factory.mktemp("peer")
    cases = _selected(request.session.items)
    runner = Runner(folder / "files", Topics(broker.bootstrap_servers))

    def java(name: str, settings: Mapping[str, str]) -> Worker:
        return JavaConnect(folder / f"java-{name}", broker.bootstrap_servers, {**settings, **_PATIENT})

    def hearth(name: str, settings: Mapping[str, str]) -> Worker:
        return HearthConnect(folder / f"hearth-{name}", broker.bootstrap_servers, {**settings, **_PATIENT})

    expected = run_side(runner, java, cases, WORKERS)
    found = run_side(runner, hearth, cases, WORKERS)
    return {case.name: (expected[case.name], found[case.name]) for case in cases}


def _selected(items: Sequence[pytest.Item]) -> list[Case]:
    """Return the cases among the tests that are about to run."""
    wanted = [item.callspec.params.get("case") for item in items if hasattr(item, "callspec")]
    return [case for case in CASES if case in wanted]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_outcome_is_the_same_on_both_sides(case: Case, outcomes: Mapping[str, tuple[Outcome, Outcome]]) -> None:
    """A configuration written for Kafka Connect means the same on Hearth: topics, files and task states."""
    java, hearth = outcomes[case.name]
    _assert_complete(case, java)
    assert hearth.refused == java.refused
    assert hearth.states == java.states
    assert _file(case, hearth) == _file(case, java)
    assert _readable(hearth.topics) == _readable(java.topics)


def _assert_complete(case: Case, java: Outcome) -> None:
    """Check that the case itself is sound: Java did everything the case says it does."""
    assert not java.refused
    assert ("FAILED" in java.states) == case.fails
    if case.kind == "source":
        assert sum(len(records) for records in java.topics.values()) == case.outputs
    else:
        assert java.file.count(b"\n") == case.outputs


def _file(case: Case, outcome: Outcome) -> Sequence[bytes]:
    """Return the lines of the sink's file, sorted where nothing orders them."""
    lines = outcome.file.splitlines(keepends=True)
    return lines if case.ordered else sorted(lines)


def _readable(topics: Mapping[str, Sequence[Record]]) -> dict[str, list[Record]]:
    """Return topics without the headers that cannot be equal."""
    return {topic: [_comparable(record) for record in records] for topic, records in topics.items()}


def _comparable(record: Record) -> Record:
    headers = tuple(header for header in record.headers if header[0] not in _JAVA_ONLY_HEADERS)
    return Record(record.key, record.value, headers, record.partition)


def test_cases_have_different_names() -> None:
    """Names are topics, files and connectors, so no two cases may share one."""
    names: Sequence[str] = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_workers_of_cases_exist() -> None:
    """Every case names a worker configuration that there is."""
    assert {case.worker for case in CASES} <= set(WORKERS)

"""Hearth's results equal those of Java's Kafka Connect 4.3.1: responses, topics, files, states, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from tests.peer.case import Case
from tests.peer.cases import CASES, WORKERS
from tests.peer.client_story import STORIES, ClientStory
from tests.peer.comparison import ANSWERS, CLIENT_STORIES, COMPARISONS, LIVES, OUTCOMES, VALIDATIONS, Comparison
from tests.peer.hearth_connect import HearthConnect
from tests.peer.record import java_side
from tests.peer.rest_case import RestCase
from tests.peer.rest_cases import EVERY_PLUGIN, REST_CASES
from tests.peer.side import Side
from tests.peer.sink_life import SINK_LIVES, SinkLife
from tests.peer.topic import Topics
from tests.peer.validation_cases import VALIDATION_CASES
from tests.peer.worker import Worker

pytestmark = pytest.mark.slow


def hearth(folder: Path, bootstrap_servers: str, settings: Mapping[str, str]) -> Worker:
    """Return a Hearth."""
    return HearthConnect(folder, bootstrap_servers, settings)


@pytest.fixture(scope="module")
def side(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    """Provide Hearth's side."""
    with Side(hearth, tmp_path_factory.mktemp("hearth"), Topics(broker.bootstrap_servers), WORKERS) as found:
        yield found


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, side: Side) -> dict[str, Any]:
    """Run the cases whose tests are selected on Hearth, all at once."""
    wanted = [item.callspec.params.get("case") for item in request.session.items if hasattr(item, "callspec")]
    return OUTCOMES.play(side, [case for case in CASES if case in wanted])


@pytest.mark.parametrize("case", REST_CASES, ids=lambda case: case.name)
def test_responses_equal_javas(case: RestCase, side: Side) -> None:
    """A client written for Kafka Connect's REST API sees no difference."""
    expected = ANSWERS.kept.answer(case)
    assert ANSWERS.play(side, [case])[case.name] == expected


@pytest.mark.parametrize("case", VALIDATION_CASES, ids=lambda case: case.name)
def test_validations_equal_javas(case: RestCase, side: Side) -> None:
    """Definitions, values, recommendations, visibility, messages, order and groups."""
    expected = VALIDATIONS.kept.answer(case)
    assert VALIDATIONS.play(side, [case])[case.name] == expected


@pytest.mark.parametrize("case", STORIES, ids=lambda case: case.name)
def test_third_party_clients_get_javas_responses(case: ClientStory, side: Side) -> None:
    """Users can keep their clients."""
    expected = CLIENT_STORIES.kept.answer(case)
    if not case.is_possible:
        pytest.skip("requires Node.js and npm")
    assert CLIENT_STORIES.play(side, [case])[case.name] == expected


def test_plugins_are_listed_as_in_java(side: Side) -> None:
    """A built-in Kafka plugin has the same class name, type and version on both sides."""
    expected = _plugins(ANSWERS.kept.answer(EVERY_PLUGIN))
    found = _plugins(ANSWERS.play(side, [EVERY_PLUGIN])[EVERY_PLUGIN.name])
    assert found
    assert {name: found[name] for name in found if name in expected} == {
        name: expected[name] for name in expected if name in found
    }
    assert not [name for name in expected if name not in found and ".file." in name]


def _plugins(answers: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {row["class"]: json.dumps(row) for row in json.loads(answers[0]["body"])}


@pytest.mark.parametrize("case", SINK_LIVES, ids=lambda case: case.name)
def test_a_reconfigured_sink_reads_as_javas_does(case: SinkLife, side: Side) -> None:
    """Topics, by name or pattern, and tasks are added and removed; it is paused, restarted, deleted and recreated."""
    expected = LIVES.kept.answer(case)
    assert _progress(expected) == [(list(change.states), change.lines) for change in case.changes]
    assert LIVES.play(side, [case])[case.name] == expected


def _progress(answer: Sequence[Mapping[str, Any]]) -> list[tuple[list[str], int]]:
    """Return the states after each change, and how many lines it added."""
    counts = [0, *(len(each["lines"]) for each in answer)]
    return [(each["states"], after - before) for each, before, after in zip(answer, counts, counts[1:])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outcomes_equal_javas(case: Case, outcomes: Mapping[str, Any]) -> None:
    """A Kafka Connect configuration has the same effect on Hearth: topics, files and task states."""
    expected = OUTCOMES.kept.answer(case)
    _assert_complete(case, expected)
    assert outcomes[case.name] == expected


def _assert_complete(case: Case, java: Mapping[str, Any]) -> None:
    """Check that the case itself is valid: Java produced all that the case expects."""
    assert not java["refused"]
    assert ("FAILED" in java["states"]) == case.fails
    if case.kind == "source":
        assert sum(len(records) for records in java["topics"].values()) == case.outputs
    else:
        assert sum(isinstance(line, dict) or line.endswith("\n") for line in java["file"]) == case.outputs


@pytest.mark.long
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.kept.path.stem)
def test_java_returns_the_kept_answers(comparison: Comparison[Any]) -> None:
    """A live Java returns the kept answers."""
    with java_side() as java:
        found = comparison.play(java, comparison.cases)
    assert found == {case.name: comparison.kept.answer(case) for case in comparison.cases}

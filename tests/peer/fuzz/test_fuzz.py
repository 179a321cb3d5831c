"""Random records and pipelines have the same results as in Java's Kafka Connect."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import pytest

from hearth_api.layout import template
from tests.peer.fuzz import dirty, kept_pipeline
from tests.peer.fuzz.agreement import digest
from tests.peer.fuzz.kept_pipeline import named
from tests.peer.fuzz.search import Difference, compared, differences, has_digest

SHOWN = 5
SHARE = 3
LONG = 1_000_000


@pytest.fixture(autouse=True)
def _templates_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pipeline's few records use the fast path for many records of one layout."""
    monkeypatch.setattr(template, "FEW", 2)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parse and print times in UTC, as Java did."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(differences: Iterator[Difference]) -> str:
    """Return the first differences, and the command that shows both answers."""
    return "\n\n".join(f"{each}\n  {kept_pipeline.COMMAND} show {each.name}" for each in islice(differences, SHOWN))


@pytest.mark.slow
def test_random_records_equal_javas(pytestconfig: pytest.Config) -> None:
    """What is sent or put, byte for byte, what is filtered, what fails, where and with which message.

    The seed of a run chooses a third of 20,000 records; the long form compares all. Every second pipeline runs in
    batches, the others record by record.
    """
    share = 1 if pytestconfig.getoption("long") else SHARE
    first = int(pytestconfig.option.hypothesis_seed) % share
    pipelines = [(name, drawn, *kept) for (name, drawn), kept in zip(named(), kept_pipeline.kept(), strict=True)]
    changed = [name for name, drawn, asked, _ in pipelines if kept_pipeline.question(drawn) != asked]
    assert changed == [], f"Java's kept answers are for other pipelines; run `{kept_pipeline.COMMAND} record`"
    assert sum(each != digest(None) for _, _, _, expected in pipelines for each in expected) >= 25_000
    differences = (
        each
        for number, (name, drawn, _, expected) in islice(enumerate(pipelines), first, None, share)
        for each in compared(name, drawn, expected, has_digest(drawn), by_batches=number % 2 == 0)
    )
    text = shown(differences)
    assert not text, text


@pytest.mark.long
def test_a_million_random_records_equal_javas() -> None:
    """Java runs live, with other pipelines than the suite's."""
    text = shown(differences(kept_pipeline.SEED + 1, LONG))
    assert not text, text


@pytest.mark.long
def test_dirty_pipelines_equal_javas() -> None:
    """200 pipelines with optional members, alternating schemas, failing records and headers, in both forms."""
    text = shown(differences(kept_pipeline.SEED + 1, 200 * dirty.RECORDS, is_dirty=True))
    assert not text, text

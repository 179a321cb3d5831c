"""The verdict's own tests: it detects the faults it exists for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.act import faults, kills, operator_acts
from tests.crash.arrival import Arrived, Books, Event
from tests.crash.trial import Plan
from tests.crash.verdict import ERRANT_EVERY, History, Verdict


def book(*lines: str, run: str = "sink-0") -> list[Event]:
    """Return the events of a book from lines without times; a line's number is its time."""
    words = (line.split(" ") for line in lines)
    return [Event(time, run, word, tuple(rest)) for time, (word, *rest) in enumerate(words)]


def after(events: list[Event], others: list[Event]) -> list[Event]:
    """Return events followed by others that happened later."""
    return [*events, *(replace(event, time=event.time + len(events)) for event in others)]


def judged(events: list[Event], is_errant: Callable[[int], bool] = lambda _number: False) -> Verdict:
    """Return the verdict on books."""
    verdict = Verdict()
    History(verdict, is_errant).judge(events)
    return verdict


def test_arrived_offsets_are_counted_and_gaps_are_found() -> None:
    """Repeats are distinguished from new offsets; gaps may be before, between or after the offsets that arrived."""
    arrived = Arrived()
    assert (arrived.reach, arrived.gaps(2)) == (0, [(0, 2)])
    assert arrived.add(2, 3) == 0
    assert arrived.add(4, 3) == 1
    assert (arrived.end, arrived.reach, arrived.distinct, arrived.count) == (7, 0, 5, 6)
    assert arrived.gaps(9) == [(0, 2), (7, 9)]
    assert arrived.gaps(5) == [(0, 2)]
    assert arrived.missing(0, 9) == 4
    arrived.add(0, 2)
    assert arrived.reach == 7


def test_books_are_read_as_they_grow(tmp_path: Path) -> None:
    """An incomplete line waits; a run without a stop may have a living process."""
    path = tmp_path / "sink-0-17-4711.book"
    path.write_text("start 1\nopen 2 a-topic:0 a-topic:1\nput 3 a-topic 0 5 5 2\nput 4 a-to")
    books = Books(tmp_path, "sink")
    first = books.read()
    assert [event.word for event in first] == ["start", "open", "put"]
    assert first[1].places() == [("a-topic", 0), ("a-topic", 1)]
    assert first[2].records() == (("a-topic", 0), 5, 5, 2)
    assert books.living() == [4711]
    with path.open("a") as file:
        file.write("pic 0 7 7 1\nstop 5\n")
    assert [event.word for event in books.read()] == ["put", "stop"]
    assert books.living() == []


def test_an_orderly_history_is_sound() -> None:
    """A run may repeat records, and the next owner continues where the last one stopped."""
    first = book("open t:0", "put t 0 0 0 5", "put t 0 3 3 4", "close t:0")
    second = book("open t:0", "put t 0 7 7 3", run="sink-1")
    verdict = judged(after(first, second))
    assert verdict.is_sound, verdict
    assert (verdict.repeats, verdict.rewinds, verdict.repeats_due) == (2, 1, 0)


def test_a_record_ahead_of_another_is_noticed() -> None:
    """Invariant 4: a run skips no record, not even to deliver it later."""
    verdict = judged(book("open t:0", "put t 0 0 0 5", "put t 0 9 9 4", "put t 0 5 5 8"))
    assert verdict.disorders == 4


def test_an_owner_that_starts_too_far_ahead_is_noticed_once() -> None:
    """Records that its predecessors skipped are missing; later owners are not blamed for them again."""
    first = book("open t:0", "put t 0 0 0 5", "close t:0", "open t:0", "put t 0 6 6 2", "close t:0")
    second = book("open t:0", "put t 0 8 8 1", run="sink-1")
    assert judged(after(first, second)).disorders == 2


def test_a_dead_letter_is_not_out_of_order() -> None:
    """A book does not contain it."""
    events = book("open t:0", f"put t 0 0 0 {ERRANT_EVERY - 1}", f"put t 0 {ERRANT_EVERY} {ERRANT_EVERY} 3")
    assert judged(events).disorders == 3
    assert judged(events, lambda number: number == ERRANT_EVERY - 1).is_sound


@pytest.mark.parametrize("end", ["close t:0", "refuse t 0 5 5 1"])
def test_a_put_without_the_partition_is_noticed(end: str) -> None:
    """A task may not write to a partition after it closed it or after another run opened it."""
    first, second = book("open t:0", "put t 0 0 0 5", end), book("open t:0", run="sink-1")
    stray = book("put t 0 5 5 1")
    assert judged(after(after(first, second), stray)).strays == 1


def test_repeats_after_a_kill_are_counted_separately() -> None:
    """A killed run could not commit; one that closed in order could."""
    first = book("open t:0", "put t 0 0 0 5")
    second = book("open t:0", "put t 0 2 2 5", "put t 0 6 6 2", run="sink-1")
    verdict = judged(after(first, second))
    assert (verdict.repeats_due, verdict.repeats) == (3, 1)


def test_repeats_after_a_failed_flush_are_counted_separately() -> None:
    """The sink itself requested them."""
    verdict = judged(book("open t:0", "put t 0 0 0 5", "fail", "put t 0 2 2 5", "put t 0 6 6 2"))
    assert (verdict.repeats_due, verdict.repeats) == (3, 1)


def test_repeats_of_agreed_records_are_counted_separately() -> None:
    """A sink may withhold a commit; the faster its host, the more records repeat."""
    first = book("open t:0", "put t 0 0 0 9", "agree t:0:4", "close t:0")
    second = book("open t:0", "put t 0 3 3 6", run="sink-1")
    stranger = book("agree t:0:9", run="sink-2")
    verdict = judged(after(after(first, stranger), second))
    assert (verdict.repeats, verdict.repeats_agreed) == (6, 1)


def test_a_seed_determines_the_acts() -> None:
    """Java and Hearth get the same acts, and a diagnosis can repeat them."""
    for acts in (operator_acts(1, 60), faults(1, 60, 5), kills(1, 60)):
        assert acts == sorted(acts, key=lambda act: act.at)
    assert operator_acts(1, 60) == operator_acts(1, 60) != operator_acts(2, 60)
    assert faults(1, 60, 5) == faults(1, 60, 5) != faults(2, 60, 5)
    assert kills(1, 60) == kills(1, 60) != kills(2, 60)
    manners = [Plan(seed, 60).manner() for seed in range(10)]
    assert {each["ledger.errant"] for each in manners} == {"never", "put", "flush", "later"}
    assert all({each[key] for each in manners} == {"true", "false"} for key in ("ledger.lazy", "ledger.fails"))

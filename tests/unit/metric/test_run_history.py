"""Histories of runs: what is counted, kept, and gone on with."""

from __future__ import annotations

from hearth.metric.run_history import KEPT_ENDS, SHOWN_CHARACTERS, PastRun, RunHistories
from hearth.storage import MemoryStatusStore
from tests.unit.metric.test_task_metric import Clock


def hosts() -> tuple[RunHistories, RunHistories, MemoryStatusStore, Clock]:
    """Return the histories of two hosts of a cluster, what they share, and their clock."""
    clock, store = Clock(), MemoryStatusStore()
    found = RunHistories(clock), RunHistories(clock)
    for each in found:
        each.keep_in(store)
    return *found, store, clock


def test_restarts_are_runs_after_the_first_until_the_configuration_changes() -> None:
    """The ends stay; a second word on the same revision changes nothing."""
    histories, _, _, clock = hosts()
    histories.renew("c", 5)
    history = histories.of("c", 0)
    for _ in range(3):
        history.begin_run()
        clock.now += 2
        history.end("failed", "a\nb\nc\nd")
    assert (history.restarts, history.ends[0]) == (2, PastRun(6.0, "failed", "a\nb\nc", 2.0))
    histories.renew("c", 5)
    assert history.restarts == 2
    histories.renew("c", 6)
    history.begin_run()
    assert (history.restarts, len(history.ends)) == (0, 3)


def test_another_leader_goes_on_with_what_is_kept() -> None:
    """Its first run is none more; the host that led before reads again what the other did."""
    one, other, _, _ = hosts()
    one.renew("c", 5)
    for _ in range(2):
        one.of("c", 0).begin_run()
        one.of("c", 0).end("lost", "its executor")
    other.renew("c", 5)
    history = other.of("c", 0)
    history.begin_run()
    assert (history.restarts, [each.how for each in history.ends]) == (1, ["lost", "lost"])
    history.begin_run()
    one.leave()
    one.renew("c", 5)
    assert one.of("c", 0).restarts == 2


def test_another_configuration_than_the_kept_one_counts_anew() -> None:
    """Though the ends are still of interest."""
    one, other, _, _ = hosts()
    one.renew("c", 5)
    for _ in range(2):
        one.of("c", 0).begin_run()
        one.of("c", 0).end("failed", None)
    other.renew("c", 9)
    assert (other.of("c", 0).restarts, len(other.of("c", 0).ends)) == (0, 2)


def test_a_task_that_just_runs_writes_nothing() -> None:
    """What is kept is bounded otherwise."""
    histories, _, store, _ = hosts()
    histories.renew("c", 5)
    histories.of("c", 0).begin_run()
    assert store.runs("c", 0) is None
    for number in range(KEPT_ENDS + 5):
        histories.of("c", 0).end("failed", f"{number}" + "x" * 10 * SHOWN_CHARACTERS)
    kept = store.runs("c", 0)
    assert kept is not None
    assert next(each["words"][:2] for each in kept["ends"]) == "5x"
    assert {len(each["words"]) for each in kept["ends"]} == {SHOWN_CHARACTERS}


def test_a_deleted_connector_is_forgotten() -> None:
    """A later one of its name has no past; its statuses' store has removed what was kept."""
    histories, _, store, _ = hosts()
    histories.of("c", 0).end("failed", "no")
    store.put_runs("c", 0, None)
    histories.forget("c")
    assert histories.of("c", 0).ends == []

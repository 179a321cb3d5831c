"""Transactions of a source: each test is one rule; ``test_exactly_once_machine.py`` looks for what breaks them."""

from __future__ import annotations

from hearth.kafka.kafka_error import KafkaError
from hearth.link.link_call import Pause, Stop
from hearth.runtime.exactly_once import TransactionExpired
from hearth.staging.tolerance import ToleranceExceeded
from hearth_api import ConnectError
from hearth_stage.task_call import EndTransaction
from tests.unit.runtime.source_world import BAD, DROPPED, FENCED, OFFSETS_TOPIC, OK, Run, World

T0 = ("t", 0)


def rows(*fates: str, topic: str = "t") -> list[tuple[str, int, str]]:
    """Return plans for records of one target partition."""
    return [(topic, 0, fate) for fate in fates]


def begin(boundary: str = "poll", interval: float = 2.0, *, is_tolerant: bool = True) -> Run:
    """Start a run whose broker answers at once, and commits on request."""
    run = Run(World(is_tolerant=is_tolerant), boundary=boundary, interval=interval)

    def answer() -> None:
        run.answer_hold()
        for place, line in run.producer.lines.items():
            if line:
                run.producer.answer(place, len(line))

    run.world.meanwhile = answer
    return run


def written(run: Run) -> list[int]:
    """Return the numbers of the records that are committed."""
    return [record.number for record in run.world.log.get(T0, [])]


def until_commit(run: Run) -> None:
    """Run the loop until a transaction is being committed."""
    run.turn_until(lambda: run.transactions.is_deciding)


def commit(run: Run) -> None:
    """Let a transaction be committed."""
    until_commit(run)
    run.transactions.decide()
    run.turn()


def test_a_poll_is_a_transaction() -> None:
    """Its records appear with their offset, and only then the task is notified of them and of the commit."""
    run = begin()
    run.hand_over(("a", rows(OK, OK)))
    until_commit(run)
    assert (written(run), run.world.stored, run.stage.reported, run.stage.commits) == ([], {}, {}, 0)
    commit(run)
    assert (written(run), run.world.stored, list(run.stage.reported), run.stage.commits) == (
        [1, 2],
        {"a": 2},
        [0, 1],
        1,
    )


def test_waiting_polls_join_a_transaction() -> None:
    """Polls during a commit are prepared for the next transaction, and not sent meanwhile."""
    run = begin()
    run.hand_over(("a", rows(OK)))
    until_commit(run)
    for _ in range(3):
        run.hand_over(("a", rows(OK)))
    for _ in range(5):
        run.turn()
    assert (run.producer.in_flight, written(run)) == (0, [])
    commit(run)
    commit(run)
    assert (written(run), run.transactions.commits) == ([1, 2, 3, 4], 2)


def test_a_fully_dropped_poll_commits_its_offsets() -> None:
    """In a transaction of offsets alone."""
    run = begin()
    run.hand_over(("a", rows(DROPPED, DROPPED)))
    commit(run)
    assert (written(run), run.world.stored) == ([], {"a": 2})


def test_an_interval_transaction_lasts_its_interval() -> None:
    """With ``transaction.boundary=interval`` polls join until the time is over, or the task stops."""
    run = begin("interval", interval=2.0)
    for _ in range(3):
        run.hand_over(("a", rows(OK)))
        run.turn()
    assert run.world.now < 2.0
    commit(run)
    assert (written(run), run.world.now >= 2.0) == ([1, 2, 3], True)
    run.hand_over(("a", rows(OK)))
    now = run.world.now
    run.event_queue.put(Stop())
    commit(run)
    run.turn_until(lambda: run.is_over)
    assert (run.error, written(run), run.world.now - now < 1.0) == (None, [1, 2, 3, 4], True)


def test_no_transaction_stays_open_while_a_task_is_paused() -> None:
    """It would expire."""
    run = begin("interval", interval=60.0)
    run.hand_over(("a", rows(OK)))
    run.turn()
    assert not run.transactions.is_deciding
    run.event_queue.put(Pause())
    commit(run)
    assert written(run) == [1]


def test_a_connector_boundary_ends_where_the_task_requests() -> None:
    """After the records that it names; an open transaction is aborted at the stop, and read again."""
    run = begin("connector")
    run.hand_over(("a", rows(OK)))
    run.hand_over(("a", rows(OK)))
    for _ in range(5):
        run.turn()
    assert not run.transactions.is_deciding
    run.event_queue.put(EndTransaction())
    commit(run)
    run.hand_over(("a", rows(OK)))
    run.event_queue.put(Stop())
    run.turn()
    run.turn_until(lambda: run.is_over)
    assert (run.error, written(run), run.world.stored) == (None, [1, 2], {"a": 2})


def test_records_of_an_aborted_transaction_are_not_read_again() -> None:
    """Their offsets are committed in a separate transaction."""
    run = begin("connector")
    run.hand_over(("a", rows(OK, OK)))
    run.event_queue.put(EndTransaction(aborts=True))
    commit(run)
    assert (written(run), run.world.stored) == ([], {"a": 2})


def test_a_refused_record_fails_the_task_in_a_transaction() -> None:
    """Whatever is tolerated: its transaction cannot be committed without it."""
    run = begin()
    run.hand_over(("a", rows(OK, BAD, OK)))
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert "source offset {number=2}" in run.error.trace
    assert (written(run), run.world.stored) == ([], {})


def test_a_failed_task_waits_for_a_commit_in_progress() -> None:
    """Its result is reported; later records are dropped."""
    run = begin()
    run.hand_over(("a", rows(OK)))
    until_commit(run)
    run.die()
    run.world.meanwhile = run.transactions.decide
    run.turn_until(lambda: run.is_over)
    assert (written(run), run.world.stored) == ([1], {"a": 1})


def test_a_fenced_producer_reports_the_reason() -> None:
    """librdkafka has one error for an expired transaction and for another producer of the same id."""
    run = begin()
    run.hand_over(("a", rows(OK)))
    until_commit(run)
    run.transactions.decide(is_well=False)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, TransactionExpired)
    assert isinstance(run.error.__cause__, KafkaError)
    assert run.error.__cause__.number == FENCED
    assert "transaction.timeout.ms" in (run.error.hint or "")


def test_writes_to_the_own_offsets_topic_are_refused() -> None:
    """Its readers would wait for the end of the transaction."""
    run = begin()
    run.hand_over(("a", rows(OK, topic=OFFSETS_TOPIC)))
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ConnectError)
    assert "may not produce to their own offsets topics" in str(run.error)


def test_an_idle_task_commits_no_transaction() -> None:
    """The loop wakes up no more often than without transactions."""
    run = begin()
    run.hand_over(("a", rows(OK)))
    commit(run)
    run.turn()
    assert (run.transactions.commits, run.transactions.is_deciding, run.world.now > 20) == (1, False, True)

"""The source loop: each test is one thing that went wrong once; ``test_source_machine.py`` looks for more."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth.isolation.stage import StageDied
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import DeliveryReport
from hearth.link.link_call import ForgetTopics, Pause, Stop
from hearth.runtime.conversion import Conversion
from hearth.runtime.link import HostLost
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import Prepared
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.source import EARLY_BYTES, IDLE_SECONDS
from hearth.staging.poll_watch import PING_EARLY, PING_SHARE
from hearth.staging.source_stage import AHEAD
from hearth.staging.tolerance import Tolerance, ToleranceExceeded
from hearth_api import STRING_SCHEMA, ConnectError, SourceRecord, TimestampType
from hearth_api.batch import Batch, records_to_batches
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.raw_header import RawHeaders, raw_column, raw_rows
from hearth_stage.task_call import Polled
from tests.unit.runtime.piecework import FakeThread
from tests.unit.runtime.sample import SETTINGS
from tests.unit.runtime.source_world import (
    APART,
    BAD,
    CROWDED,
    DROPPED,
    FAILING,
    FLUSH_INTERVAL,
    FLUSH_TIMEOUT,
    GRACEFUL,
    HUGE,
    MOMENT,
    OK,
    ROOM,
    TOGETHER,
    TOO_LARGE,
    Run,
    World,
    WorldLink,
    WorldPipeline,
    WorldProducer,
    cast_any,
)

T0 = ("t", 0)


def rows(*fates: str) -> list[tuple[str, int, str]]:
    """Return plans for records of one target partition."""
    return [(*T0, fate) for fate in fates]


def written(world: World) -> list[int]:
    """Return the numbers of the records in the topic, in their order."""
    return [record.number for record in world.log.get(T0, [])]


def answer_all(run: Run) -> None:
    """Have the broker answer everything, a few records at a time, and the task come back from its poll."""
    run.answer_hold()
    while any(run.producer.lines.values()):
        for place, line in run.producer.lines.items():
            if line:
                run.producer.answer(place, 2)


def begin(*fates: str, is_tolerant: bool = True) -> Run:
    """Start a run, and let its first records go out."""
    run = Run(World(is_tolerant=is_tolerant))
    run.hand_over(("a", rows(*fates)))
    run.turn()
    return run


def drain(run: Run) -> None:
    """Stop a run whose broker answers."""
    run.world.meanwhile = lambda: answer_all(run)
    run.event_queue.put(Stop())
    run.turn_until(lambda: run.is_over)


# A fatal error -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reports_first", [True, False])
def test_what_a_fatal_error_purged_is_not_skipped(reports_first: bool) -> None:
    """Purged is not refused: whatever is tolerated, its positions are not stored, and it is read again."""
    run = begin(OK, OK)
    run.producer.answer(T0, 1)
    run.turn()
    run.producer.fail(reports_first=reports_first)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ConnectError)
    assert run.world.stored == {"a": 1}


def test_what_is_sent_after_a_fatal_error_is_not_skipped() -> None:
    """librdkafka refuses each row of a producer that cannot go on; nothing is wrong with the rows."""
    run = Run(World())
    run.producer.failure = KafkaError(45, "out of order")
    run.producer.reports = []
    run.hand_over(("a", rows(OK)))
    run.turn()
    assert (run.is_over, run.world.stored) == (True, {})


def test_a_fatal_error_fails_the_task_with_its_reason() -> None:
    """Not with that of the rows which went down with it."""
    run = begin(OK)
    run.producer.fail(reports_first=False)
    run.turn()
    assert str(run.error) == "out of order"


# Hand-overs that wait ------------------------------------------------------------------------------------------


def test_what_waits_together_is_dealt_with_together() -> None:
    """Their records keep their order and their positions, whatever they were read from."""
    run = Run(World())
    run.hand_over(("a", rows(OK, OK)))
    run.hand_over(("a", rows(OK)), ("b", rows(OK)), ("b", rows(OK)), ("a", rows(OK)))
    run.turn()
    assert run.observer.counts.polled == 6
    drain(run)
    assert [(each.source, each.number) for each in run.world.log[T0]] == [
        ("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("a", 4),
    ]  # fmt: skip
    assert run.world.stored == {"a": 4, "b": 2}


def test_no_more_is_dealt_with_together_than_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop is seen, and the broker heard, between batches of usual size where these are not quick."""
    monkeypatch.setattr(Conversion, "quick_rows", 0)
    run = Run(World(joined_rows=3))
    run.hand_over(("a", rows(OK, OK)), ("a", rows(OK, OK)), ("a", rows(OK)), ("a", rows(*[OK] * 4)))
    told: list[int] = []
    while not told or told[-1] < 9:
        run.turn()
        told.append(run.observer.counts.polled)
        answer_all(run)
    assert list(dict.fromkeys(told)) == [2, 5, 9]


def test_a_record_that_fails_the_task_does_so_where_it_stands_among_what_waited() -> None:
    """What is before it is sent, whichever poll returned it."""
    run = Run(World(is_tolerant=False))
    run.hand_over(("a", rows(OK, OK)))
    run.hand_over(("a", rows(OK, FAILING, OK)))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert (written(run.world), run.world.stored) == ([1, 2, 3], {"a": 3})


def test_a_stage_gets_credit_for_what_is_dealt_with() -> None:
    """As much as it took, in one word for hand-overs that were joined, and none while others before them wait."""
    run = Run(World())
    assert run.stage.credit == AHEAD
    for _ in range(3):
        run.hand_over(("a", rows(OK)))
    assert run.stage.credit == AHEAD - 3
    run.turn()
    assert (run.stage.credit, run.stage.credits) == (AHEAD, [AHEAD, 3])
    for _ in range(2):
        run.hand_over(("a", rows(*[OK] * ROOM)))
        for _ in range(4):
            run.turn()
    assert (run.stage.credit, run.loop._send_buffer.is_blocked) == (AHEAD - 1, True)


def test_a_stage_has_its_credit_before_this_process_converts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It polls meanwhile."""
    run = Run(World())
    pipeline: Any = run.loop._pipeline
    prepare, seen = pipeline.preparing, []

    def preparing(batches: Sequence[Batch]) -> Any:
        seen.append(run.stage.credit)
        return prepare(batches)

    monkeypatch.setattr(pipeline, "preparing", preparing)
    run.hand_over(("a", rows(OK)))
    run.turn()
    assert seen == [AHEAD]


# A full queue, topics that are not there ------------------------------------------------------------------------


def test_a_stop_is_seen_while_the_queue_is_full() -> None:
    """After its graceful time nothing is sent any more, and the producer is closed with what it still had."""
    run = begin(*[OK] * ROOM)
    run.hand_over(("a", rows(OK, OK)))
    run.turn()
    run.event_queue.put(Stop())
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert run.producer.is_closed
    assert run.world.now - begun <= GRACEFUL + 0.1
    assert run.world.stored == {}


def test_a_stop_is_seen_while_a_topic_is_looked_for() -> None:
    """The broker does not say whether there is one, and need not."""
    run = Run(World())
    run.topics.are_known = False
    run.hand_over(("a", rows(OK)))
    run.turn()
    run.event_queue.put(Stop())
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert (run.error, run.world.now - begun <= GRACEFUL + 0.1, written(run.world)) == (None, True, [])


@pytest.mark.parametrize("is_full", [True, False])
def test_a_lost_host_is_seen_while_records_wait(is_full: bool) -> None:
    """Another run may have begun: at once nothing more is sent, and what was is given up."""
    run = begin(*[OK] * ROOM)
    run.topics.are_known = is_full
    run.hand_over(("a", rows(OK, OK)))
    run.turn()
    run.lose_host()
    run.turn()
    assert isinstance(run.error, HostLost)
    assert (run.producer.is_closed, run.world.stored) == (True, {})


def test_acknowledgements_are_taken_in_while_a_topic_is_looked_for() -> None:
    """What was sent to others is stored meanwhile."""
    run = begin(OK)
    run.topics.are_known = False
    run.hand_over(("b", rows(OK)))
    run.turn()
    run.producer.answer(T0, 1)
    run.turn()
    run.world.now += 3
    run.turn()
    assert run.world.stored == {"a": 1}


# Refused for another record's sake ------------------------------------------------------------------------------


def test_only_the_bad_record_of_a_request_is_skipped() -> None:
    """The broker refuses requests whole; the records nothing is wrong with are sent again, in their order."""
    run = begin(OK, BAD, OK, OK)
    run.producer.answer(T0, 4)
    drain(run)
    assert (written(run.world), run.world.stored) == ([1, 3, 4], {"a": 4})
    assert [place[0] for _, place in sorted(run.stage.told.items())] == ["t", None, "t", "t"]


def test_what_was_written_behind_a_refused_record_comes_again_behind_it() -> None:
    """Its last appearance is in order; a kill before that begins again at the refused record."""
    run = begin(OK, BAD)
    run.hand_over(("a", rows(OK, OK)), ("b", rows(OK)))
    run.turn_until(lambda: run.producer.in_flight == 5)
    run.producer.answer(T0, 2)  # refuses 1 for the sake of 2
    run.producer.answer(T0, 9)
    run.turn_until(lambda: len(run.producer.lines[T0]) == 3)
    run.world.now += 3
    run.turn()
    assert (written(run.world), run.world.stored) == ([3, 4, 1], {"b": 1})
    drain(run)
    assert [record.number for record in run.world.log[T0] if record.source == "a"] == [3, 4, 1, 3, 4]
    assert run.world.stored == {"a": 4, "b": 1}


def test_records_that_wait_do_not_pass_those_that_are_sent_again() -> None:
    """What was not sent yet goes behind them, once."""
    run = begin(OK, BAD, OK, OK, OK, OK)
    run.hand_over(("a", rows(OK, OK)))
    run.turn_until(lambda: run.loop._send_buffer.is_blocked)
    drain(run)
    assert written(run.world) == [3, 4, 5, 6, 1, 3, 4, 5, 6, 7, 8]
    assert run.world.stored == {"a": 8}


def test_a_bad_record_fails_the_task_where_nothing_is_tolerated() -> None:
    """With the reason of the bad record, not of those that were refused with it."""
    run = begin(OK, OK, BAD, is_tolerant=False)
    run.producer.answer(T0, 1)
    run.producer.answer(T0, 9)
    run.turn_until(lambda: run.is_over)
    cause = run.error.__cause__ if run.error else None
    assert isinstance(cause, KafkaError)
    assert (cause.number, run.world.stored) == (87, {"a": 1})


def refuse(error: int, **settings: bool) -> SendBuffer:
    """Return an send buffer whose second record of three is refused."""
    world = World()
    producer: Any = WorldProducer(world, FakeThread(0))
    told = replace(SETTINGS, **settings)
    observer = TaskObserver("c-0", cast_any(WorldLink(world)), told)
    send_buffer = SendBuffer(producer, None, observer, Tolerance(told, observer))
    records = [SourceRecord({"s": 1}, {"n": n}, "t", 0, None, None, STRING_SCHEMA, f"value {n}") for n in range(3)]
    (batch,) = records_to_batches(records)
    values, keys = (pa.array([b"%s %d" % (name, n) for n in range(3)]) for name in (b"v", b"k"))
    send_buffer.submit([batch], Prepared([(Outgoing("t", values, keys), np.arange(3))]))
    outcome = np.array([0, error, 0])
    producer.reports = [DeliveryReport(np.arange(3), outcome, np.zeros(3), np.arange(3))]
    return send_buffer


def test_refusal_says_which_record_and_what_to_do() -> None:
    """One looks for its topic, its size and the key to change."""
    send_buffer = refuse(TOO_LARGE)
    with pytest.raises(ToleranceExceeded, match="Unrecoverable exception from producer send callback") as caught:
        send_buffer.collect(0)
    assert caught.value.trace.splitlines()[:5] == [
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback",
        "record: topic 't', key 'k 1', 6 bytes, source partition {s=1}, source offset {n=1}",
        "stage: KAFKA_PRODUCE with class org.apache.kafka.connect.runtime.WorkerSourceTask",
        "Caused by: hearth.kafka.kafka_error.KafkaError: Broker: Message size too large",
        "hint: raise producer.override.max.request.size, and max.message.bytes of the topic",
    ]


@pytest.mark.parametrize("error", [-188, -190, 3])
def test_record_whose_topic_is_not_there_is_never_skipped(error: int) -> None:
    """Java's producer waits for a topic or partition that it does not find; nothing is wrong with the record."""
    send_buffer = refuse(error, is_tolerant=True)
    with pytest.raises(ToleranceExceeded, match="Unrecoverable exception from producer send callback"):
        send_buffer.collect(0)
    assert send_buffer.positions.committable() == [({"s": 1}, {"n": 0})]


@pytest.mark.parametrize("shows_records", [True, False])
def test_refusal_that_is_tolerated_is_logged_as_kafka_connects(
    caplog: pytest.LogCaptureFixture, shows_records: bool
) -> None:
    """With ``errors.log.enable``, for each record."""
    send_buffer = refuse(TOO_LARGE, is_tolerant=True, logs_failures=True, logs_records=shows_records)
    send_buffer.collect(0)
    shown = ", where source record is = SourceRecord{sourcePartition={s=1}, sourceOffset={n=1}} ConnectRecord{"
    (line,) = (message for message in caplog.messages if message.startswith("Error encountered in task"))
    assert line.startswith(
        "Error encountered in task c-0. Executing stage 'KAFKA_PRODUCE' with class "
        "'org.apache.kafka.connect.runtime.WorkerSourceTask'" + (shown if shows_records else ".\n")
    )
    assert ("value=value 1" in line) is shows_records
    assert send_buffer.positions.committable() == [({"s": 1}, {"n": 2})]


def test_failing_record_is_logged_as_it_was_polled(caplog: pytest.LogCaptureFixture) -> None:
    """A transformation may have changed it since."""
    run = Run(World())
    run.observer._settings = settings = replace(SETTINGS, is_tolerant=True, logs_failures=True, logs_records=True)
    run.loop._tolerance = Tolerance(settings, run.observer)
    run.hand_over(("a", rows(OK, FAILING)))
    run.turn_until(lambda: run.observer.counts.failed == 1)
    (line,) = (message for message in caplog.messages if message.startswith("Error encountered in task"))
    assert ", where source record is = SourceRecord{sourcePartition={source=a}, sourceOffset={number=2}}" in line


def test_failing_record_that_ends_the_task_is_named_in_its_trace() -> None:
    """Where it was read comes before why it failed."""
    run = Run(World(is_tolerant=False))
    run.hand_over(("a", rows(OK, FAILING)))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert "record: topic 't', source partition {source=a}, source offset {number=2}" in run.error.trace


def test_a_record_there_was_no_room_for_is_sent_again() -> None:
    """The bounds are kept before librdkafka's, so this is for the day they are not."""
    run = begin(OK, CROWDED, OK)
    drain(run)
    assert (written(run.world)[-2:], run.world.stored) == ([2, 3], {"a": 3})


def test_records_are_sent_again_more_than_once() -> None:
    """Each time all of them that follow, also those that were not among the last."""
    run = Run(World())
    run.hand_over(("a", [("u", 0, CROWDED), ("t", 0, OK), ("t", 0, CROWDED)]))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.loop._send_buffer.is_empty and run.loop._has_heard_all)
    drain(run)
    assert (written(run.world), run.world.stored) == ([2, 3, 2, 3], {"a": 3})


# The end ----------------------------------------------------------------------------------------------------


def test_an_error_while_draining_still_waits_and_commits() -> None:
    """What is on its way when the last records fail is waited for and stored."""
    run = begin(OK, OK, is_tolerant=False)
    run.hand_over(("a", rows(OK, FAILING)))
    run.event_queue.put(Stop())
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert run.world.stored == {"a": 3}


def test_a_stage_that_dies_while_draining_still_leaves_a_commit() -> None:
    """The task fails with the stage's last words; what it had handed over before is stored."""
    run = begin(OK, OK)
    run.event_queue.put(Stop())
    run.world.meanwhile = run.die
    run.turn()
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert "killed by signal 9" in str(run.error)
    assert run.world.stored == {"a": 2}


def test_the_first_error_is_the_one_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """What goes wrong while a failed task waits for its last records is noted."""
    run = begin(OK, OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    run.turn_until(lambda: any(isinstance(each, ToleranceExceeded) for each in run.loop._begun))
    run.world.meanwhile = lambda: run.producer.expire(T0) if run.producer.lines.get(T0) else None
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert "stopped waiting for the acknowledgement of the last records" in caplog.text


def test_a_failed_task_does_not_wait_for_ever() -> None:
    """The broker is away: no longer than a commit may take."""
    run = begin(OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert run.world.now - begun <= FLUSH_TIMEOUT + 0.2
    assert run.world.stored == {}


def test_a_failed_task_that_loses_its_host_gives_up_at_once() -> None:
    """What it still had is not sent later, and nothing is stored."""
    run = begin(OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    run.world.meanwhile = run.lose_host
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, HostLost)
    assert (run.producer.is_closed, run.world.stored) == (True, {})


def test_a_task_that_does_not_come_back_from_its_poll_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    """What it would return was never taken; what it returned before is stored."""
    run = begin(OK)
    run.producer.answer(T0, 1)
    run.event_queue.put(Stop())
    run.loop.execute()
    assert "its poll did not return in time" in caplog.text
    assert (run.world.stored, run.stage.is_stopped) == ({"a": 1}, False)


def test_a_clean_stop_writes_and_stores_everything() -> None:
    """Records that came before the task was held are part of it (invariant 8)."""
    run = begin(OK, DROPPED, HUGE)
    run.event_queue.put(Stop())
    run.hand_over(("a", rows(OK)))
    run.world.meanwhile = lambda: answer_all(run)
    run.loop.execute()
    assert (written(run.world), run.world.stored, run.stage.is_stopped) == ([1, 4], {"a": 4}, True)


def test_a_task_whose_stop_raises_is_stopped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka Connect, what ``stop`` raises is noted: everything is stored by then."""
    run = begin(OK)
    run.event_queue.put(Stop())
    run.world.meanwhile = lambda: answer_all(run)

    def fail(op: str, args: object = None, *, timeout: float | None = None) -> None:
        raise ConnectError("cannot stop")

    monkeypatch.setattr(run.stage, "call", fail)
    run.loop.execute()
    assert "the task stopped with an error: cannot stop" in caplog.text
    assert run.world.stored == {"a": 1}


# Storing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mood", ["failing", "slow", "silent"])
def test_positions_that_are_not_stored_are_kept(mood: str) -> None:
    """A store that is away or late is asked again, with the newest position last."""
    run = begin(OK)
    run.link.mood = mood
    run.producer.answer(T0, 1)
    run.turn()
    run.world.now += 3
    run.turn()
    run.link.mood = "well"
    run.world.now += 3
    run.turn()
    run.hand_over(("a", rows(OK)))
    drain(run)
    assert run.world.stored == {"a": 2}


@pytest.mark.parametrize(("mood", "taken"), [("failing", 2), ("slow", 2), ("silent", 1)])
def test_nothing_is_taken_while_nobody_knows_whether_the_host_is_there(mood: str, taken: int) -> None:
    """It would come again: another run goes on from what is stored. Where the host is heard, all goes on."""
    run = begin(OK)
    run.link.mood = mood
    run.producer.answer(T0, 1)
    run.world.now += 3
    run.turn()
    run.hand_over(("a", rows(OK)))
    for _ in range(3):
        run.world.now += 1
        run.turn()
    assert sum(map(len, run.world.log.values())) + run.producer.in_flight == taken
    run.link.mood = "well"
    run.world.now += 3
    run.turn()
    drain(run)
    assert run.world.stored == {"a": 2}


@pytest.mark.parametrize("mood", ["failing", "slow", "silent"])
def test_a_source_that_stood_still_takes_nothing_before_a_position_is_stored(mood: str) -> None:
    """Its host may stand still no longer either, and be heard, and not know that another leads."""
    run = begin(OK)
    run.producer.answer(T0, 1)
    run.world.now += 3
    run.turn()
    assert run.world.stored.pop("a") == 1
    run.link.mood = mood
    run.world.now += 60
    run.hand_over(("a", rows(OK)))
    for _ in range(3):
        run.world.now += 1
        run.turn()
    assert sum(map(len, run.world.log.values())) + run.producer.in_flight == 1
    run.link.mood = "well"
    run.world.now += 1
    run.turn()
    assert run.world.stored == {"a": 1}
    drain(run)
    assert run.world.stored == {"a": 2}


def test_a_source_that_stood_still_goes_on_where_nothing_of_it_is_stored() -> None:
    """There is nothing to ask by, and an idle one asks once."""
    run = Run(World())
    run.world.now += 60
    run.hand_over(("a", rows(OK)))
    run.turn()
    run.turn()
    assert run.producer.in_flight == 1
    drain(run)
    assert run.world.stored == {"a": 1}


def test_a_store_that_is_gone_with_its_host_stores_nothing() -> None:
    """The loop learns of its host's end right after."""
    run = begin(OK)
    run.producer.answer(T0, 1)
    run.link.is_lost = True
    run.world.now += 3
    assert run.loop.turn()
    run.lose_host()
    run.turn()
    assert isinstance(run.error, HostLost)
    assert run.world.stored == {}


# What a task hears of its records --------------------------------------------------------------------------------


def test_a_task_hears_when_and_where_its_records_are_stored() -> None:
    """Kafka's metadata has the timestamp a record is stored with."""
    run = begin(OK, OK)
    drain(run)
    assert run.stage.told == {0: ["t", 0, 0, 1000], 1: ["t", 0, 1, 1001]}


def test_a_task_hears_once_of_a_record_that_is_sent_again() -> None:
    """It was written the first time; that it comes again, or does not, is nothing to the task."""
    run = begin(BAD, OK)
    run.hand_over(("a", rows(OK)))
    run.turn_until(lambda: run.producer.in_flight == 3)
    run.producer.answer(T0, 2)
    run.producer.answer(T0, 1)
    run.turn_until(lambda: len(run.producer.lines[T0]) == 2)
    run.producer.answer(T0, 1)
    run.producer.expire(T0)
    run.turn()
    assert [(number, place[0]) for number, place in sorted(run.stage.told.items())] == [(0, None), (1, "t"), (2, "t")]


def test_a_task_does_not_hear_of_a_record_that_fails_it() -> None:
    """Where nothing is tolerated a refused record is neither written nor skipped."""
    run = begin(OK, HUGE, is_tolerant=False)
    run.turn_until(lambda: run.is_over)
    assert run.stage.told == {}


# What others hear ------------------------------------------------------------------------------------------------


def test_a_topic_is_told_once_something_of_it_is_acknowledged() -> None:
    """Not when it is sent to, nor again with what follows (KIP-558)."""
    run = begin(OK, OK, DROPPED)
    assert run.link.topics == []
    run.producer.answer(T0, 1)
    run.turn()
    assert run.link.topics == ["t"]
    run.hand_over(("a", [(*T0, OK), ("u", 0, OK)]))
    drain(run)
    assert run.link.topics == ["t", "u"]


def test_a_topic_that_was_forgotten_is_told_with_what_is_acknowledged_afterwards() -> None:
    """Also where that was on its way already; what was acknowledged before does not count."""
    run = begin(OK, OK)
    run.hand_over(("a", [("u", 0, OK)]))
    run.turn_until(lambda: ("u", 0) in run.producer.lines)
    run.producer.answer(("u", 0), 1)
    run.producer.answer(T0, 1)
    run.turn()
    run.link.topics.clear()
    run.event_queue.put(ForgetTopics())
    run.turn()
    assert run.link.topics == []
    run.producer.answer(T0, 1)
    run.turn()
    assert run.link.topics == ["t"]
    run.hand_over(("a", [("u", 0, OK), (*T0, OK)]))
    drain(run)
    assert run.link.topics == ["t", "u"]


def test_rows_for_a_topic_that_is_there_do_not_wait_for_another() -> None:
    """Also where rows for both are one piece, which goes as one once both are there."""
    run = Run(World(sends_together=True))
    known = {"t"}
    topics: Any = SimpleNamespace(ensure=known.__contains__, has_all=lambda spans: known.issuperset(dict_of(spans)))
    run.loop._send_buffer._topics = topics
    run.hand_over(("a", [("t", 0, OK), ("u", 0, OK), ("t", 0, OK)]))
    run.turn_until(lambda: run.loop._send_buffer.is_blocked and run.producer.in_flight == 2)
    known.add("u")
    run.hand_over(("a", [("t", 0, OK), ("u", 0, OK)]))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.loop._send_buffer.is_empty and run.loop._has_heard_all)
    drain(run)
    numbers = {topic: [each.number for each in log] for (topic, _), log in run.world.log.items()}
    assert (numbers, run.world.stored) == ({"t": [1, 3, 4], "u": [2, 5]}, {"a": 5})


def dict_of(spans: Sequence[tuple[str, int, int]]) -> dict[str, int]:
    """Return the topics of spans."""
    return {topic: start for topic, start, _ in spans}


def test_a_topic_that_takes_nothing_is_not_told() -> None:
    """Records the broker refuses, and those that are dropped, make no topic active; nothing is kept of them."""
    run = begin(HUGE, BAD, DROPPED)
    drain(run)
    assert (run.link.topics, run.error) == ([], None)
    assert run.loop._send_buffer._unheard["t"].size == 0


def test_a_topic_whose_first_record_is_refused_is_told_with_its_second() -> None:
    """Whichever of its records comes through."""
    run = begin(HUGE, OK)
    drain(run)
    assert run.link.topics == ["t"]


def test_the_observer_counts_what_becomes_of_records() -> None:
    """Each of them once, but for those that are sent again."""
    run = begin(OK, BAD, OK, DROPPED, FAILING, HUGE)
    run.producer.answer(T0, 3)
    drain(run)
    counts = run.observer.counts
    assert (counts.polled, counts.failed, counts.skipped, counts.acknowledged, counts.retried) == (6, 3, 2, 2, 2)
    assert counts.sent == 4 + counts.retried
    assert counts.commits == 1


# Converted beside the loop -------------------------------------------------------------------------------------


def held_up(stages: str, polls: int, joined_rows: int = 1) -> Run:
    """Return a run whose task has returned a record in each of these polls, and whose stages take their time."""
    run = Run(World(stages=stages, looks=10_000, joined_rows=joined_rows))
    stuck: Any = lambda: False  # noqa: E731 - in place of a method
    run.thread.go_on = stuck  # type: ignore[method-assign]
    for _ in range(polls):
        run.hand_over(("a", rows(OK)))
        run.turn()
    return run


@pytest.mark.parametrize(("stages", "joined_rows", "most"), [(TOGETHER, 1, 2), (APART, 1, 3), (APART, 9, 1)])
def test_what_is_polled_meanwhile_is_with_stages_as_well(stages: str, joined_rows: int, most: int) -> None:
    """So many pieces of it, for each takes memory, and no small ones, for each costs as much as a large one.

    They are sent in the order of the polls, and the stage need not wait for that to poll again.
    """
    run = held_up(stages, 5, joined_rows)
    assert sum(type(each) is Polled for each in run.loop._waiting) == 5 - most
    assert run.stage.credits == [AHEAD, *[1] * most]
    assert run.producer.in_flight == 0
    del run.thread.go_on
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: len(written(run.world)) == 5)
    drain(run)
    assert (written(run.world), run.world.stored) == ([1, 2, 3, 4, 5], {"a": 5})
    assert sum(run.stage.credits) == AHEAD + 5


@pytest.mark.parametrize(("size", "early"), [(1, 3), (EARLY_BYTES // 2, 2), (EARLY_BYTES, 1), (EARLY_BYTES + 1, 0)])
def test_the_stage_does_wait_for_the_conversion_of_much(
    size: int, early: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many bytes as there are at once are bounded; in the end it has its credit for all, once."""
    monkeypatch.setattr(Polled, "memory", size)
    run = held_up(APART, 3)
    assert run.stage.credits == [AHEAD, *[1] * early]
    del run.thread.go_on
    drain(run)
    assert (sum(run.stage.credits), written(run.world)) == (AHEAD + 3, [1, 2, 3])


@pytest.mark.parametrize(("rows_a_second", "most"), [(1, 3), (100, 5), (10_000, 9)])
@pytest.mark.parametrize("stages", [APART, ""])
def test_more_is_dealt_with_together_where_that_is_quick(stages: str, rows_a_second: int, most: int) -> None:
    """A plugin that takes its time is not given more in a call: how long one may take is limited."""
    run = Run(World(stages=stages, joined_rows=3))
    run.loop._conversion._paces = (0.0, 1 / rows_a_second)
    for _ in range(20):
        run.hand_over(("a", rows(OK)))
    run.turn()
    begun = [each.polled.num_rows for each in run.loop._begun if hasattr(each, "polled")]
    assert [*begun, run.observer.counts.polled][0] == most
    drain(run)
    assert written(run.world) == [*range(1, 21)]


def test_a_stop_does_not_wait_for_what_is_converted_for_longer_than_it_may() -> None:
    """What is not converted by then is nobody's, nor is what waits for that: it is read again."""
    run = held_up(APART, polls=2)
    run.event_queue.put(Stop())
    run.answer_hold()
    run.turn_until(lambda: run.is_over)
    assert (run.error, written(run.world), run.world.stored) == (None, [], {})


def test_what_fails_while_it_is_converted_comes_after_what_was_polled_before_it() -> None:
    """A stage that died meanwhile fails the task when everything before is sent."""
    run = held_up(APART, polls=1)
    pipeline: Any = run.loop._pipeline
    prepare = pipeline.preparing

    def preparing(batches: Sequence[Batch]) -> Any:
        if FAILING in batches[0].column("value")[0].as_py():
            raise run.stage.died()
        return prepare(batches)

    pipeline.preparing = preparing
    run.hand_over(("a", rows(FAILING)))
    run.turn()
    del run.thread.go_on
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, StageDied)
    assert (written(run.world), run.world.stored) == ([1], {"a": 1})


# Rows ---------------------------------------------------------------------------------------------------------


def test_a_span_of_several_topics_is_sent_again_with_all_of_them() -> None:
    """Rows of one polled batch may go to several topics, some of them not sent yet."""
    world = World()
    producer: Any = WorldProducer(world, FakeThread(0))
    observer = TaskObserver("c-0", cast_any(WorldLink(world)), SETTINGS)
    send_buffer = SendBuffer(producer, None, observer, Tolerance(replace(SETTINGS, is_tolerant=True), observer))
    records = world.poll("a", [("t", 0, OK), ("u", 0, OK), ("t", 0, BAD), *[("u", 0, OK)] * 5])
    values = pa.array([json.dumps(record) for record in records])
    offsets = pa.array([json.dumps({"number": record.number}) for record in records])
    data = pa.RecordBatch.from_arrays([values, offsets], names=["value", "source_offset"])
    batch = Batch("t", None, STRING_SCHEMA, data, {"source": "a"}, TimestampType.CREATE_TIME)
    send_buffer.submit([batch], WorldPipeline(world).prepared([batch]))
    send_buffer.send()
    assert producer.in_flight == 2
    producer.answer(("t", 0), 2)
    for _ in range(4):
        send_buffer.collect(0)
        send_buffer.send()
        for place in list(producer.lines):
            producer.answer(place, 9)
    send_buffer.collect(0)
    assert send_buffer.is_empty
    assert {place: [each.number for each in log] for place, log in world.log.items()} == {
        ("t", 0): [1],
        ("u", 0): [2, 4, 5, 6, 7, 8],
    }
    assert send_buffer.positions.committable() == [({"source": "a"}, {"number": 8})]


@pytest.mark.parametrize("is_tolerant", [True, False])
def test_an_end_that_is_not_tolerated_comes_after_what_is_before_it(is_tolerant: bool) -> None:
    """A timestamp that means nothing fails the task whatever is tolerated; the records before it are sent."""
    run = Run(World(is_tolerant=is_tolerant))

    class Pipeline(WorldPipeline):
        """Finds something at the third row that cannot be sent, and failures around it."""

        def prepared(self, batches: Sequence[Batch]) -> Prepared:
            prepared = super().prepared(batches)
            error = ErrorInfo.of(ConnectError("Invalid record timestamp -2"))
            prepared.end = Failure(2, "KAFKA_PRODUCE", "the.Class", error)
            return prepared

    pipeline: Any = Pipeline(run.world)
    run.loop._pipeline = pipeline
    run.hand_over(("a", rows(OK, OK, OK, FAILING)))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert str(run.error) == "Invalid record timestamp -2"
    assert "record: topic 't', source partition {source=a}, source offset {number=3}" in run.error.trace
    assert (written(run.world), run.world.stored) == ([1, 2], {"a": 2})


def test_rows_are_picked_with_all_their_columns() -> None:
    """Each keeps its key, partition, time and headers."""
    values = pa.array([b"a", b"b", b"c"], pa.binary())
    headers: list[RawHeaders] = [[("h", b"1")], [], [("h", b"3")]]
    whole = Outgoing("t", values, values, np.arange(3, dtype=np.int32), np.arange(3), raw_column(headers))
    picked = whole.take(np.array([0, 2]))
    assert (picked.value.to_pylist(), picked.key.to_pylist()) == ([b"a", b"c"], [b"a", b"c"])
    assert (picked.partition.tolist(), picked.timestamp.tolist()) == ([0, 2], [0, 2])
    assert raw_rows(picked.headers) == [headers[0], headers[2]]
    assert Outgoing("t", values).take(np.array([1])) == Outgoing("t", values[1:2])


# Nothing to do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wants_commits", [True, False])
def test_an_idle_loop_looks_round_seldom(wants_commits: bool) -> None:
    """It waits for a command, for records, for what is due: commits that somebody hears of, questions to its stage."""
    run = Run(World(), wants_commits=wants_commits)
    run.turn()
    turns, over = 0, run.world.now + 60
    while run.world.now < over:
        run.turn()
        turns += 1
    questions = 60 / ((1 - PING_EARLY) * SETTINGS.call_timeout / PING_SHARE)
    assert turns <= 60 / IDLE_SECONDS + questions + (60 / FLUSH_INTERVAL if wants_commits else 0) + 2


def test_what_comes_after_a_silence_is_committed_as_soon_as_ever() -> None:
    """No commit was due while nothing came; from then on one is, until all is stored that can be."""
    run = Run(World(), wants_commits=False)
    run.turn()
    run.world.now += 100 * FLUSH_INTERVAL

    def is_stored(number: int) -> bool:
        return run.world.stored == {"a": number}

    for number in (1, 2):
        run.hand_over(("a", rows(OK)))
        began = run.world.now
        run.world.meanwhile = lambda: answer_all(run)
        run.turn_until(partial(is_stored, number))
        assert run.world.now - began <= FLUSH_INTERVAL + 3 * MOMENT


@pytest.mark.parametrize("wants_commits", [True, False])
def test_a_task_hears_of_commits_where_it_does_anything_then(wants_commits: bool) -> None:
    """Every time one was due, also where there was nothing to store, as in Kafka Connect; else its stage sleeps on."""
    run = Run(World(), wants_commits=wants_commits)
    over = run.world.now + 9.5 * FLUSH_INTERVAL
    while run.world.now < over:
        run.turn()
    assert run.stage.commits == (10 if wants_commits else 0)


def test_a_wait_ends_with_what_comes() -> None:
    """A command, records, the answer of a broker: nothing of it waits for the next look."""
    run = Run(World())
    run.turn()
    began = run.world.now
    run.world.meanwhile = lambda: run.event_queue.put(Pause())
    run.turn()
    run.world.meanwhile = lambda: None
    run.turn()
    assert (run.stage.is_held, run.world.now - began < FLUSH_INTERVAL + 3 * MOMENT) == (True, True)
    assert run.link.states == ["PAUSED"]


def test_a_loop_that_has_drained_waits_for_nothing_more() -> None:
    """Its task came back from its poll, and nothing is on its way."""
    run = Run(World())
    run.turn()
    run.event_queue.put(Stop())
    run.turn()
    began = run.world.now
    run.world.meanwhile = run.answer_hold
    run.turn_until(lambda: run.is_over)
    assert run.world.now - began <= MOMENT


def test_a_stage_is_asked_seldom_whether_it_hangs_where_it_may_take_long() -> None:
    """As seldom as a tenth of the time that one call may take, or a little earlier where the loop is awake anyway."""
    run = Run(World())
    asked: list[float] = []
    ask = run.stage.begin

    def asking(call: Any) -> Any:
        asked.append(run.world.now)
        return ask(call)

    run.stage.begin = asking  # type: ignore[method-assign]
    while run.world.now < 100:
        run.turn()
    seconds = SETTINGS.call_timeout / PING_SHARE
    between = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert min(between) >= (1 - PING_EARLY) * seconds
    assert max(between) <= seconds
    assert len(asked) >= math.floor(100 / seconds)

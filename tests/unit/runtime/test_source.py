"""The source loop: each test is a former defect; ``test_source_machine.py`` searches for more."""

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
from hearth.runtime.poll_queue import EARLY_BYTES
from hearth.runtime.send_buffer import SendBuffer
from hearth.runtime.source import IDLE_SECONDS
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
def test_purged_records_are_not_skipped(reports_first: bool) -> None:
    """Purged is not refused: whatever is tolerated, positions are not stored and records are read again."""
    run = begin(OK, OK)
    run.producer.answer(T0, 1)
    run.turn()
    run.producer.fail(reports_first=reports_first)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ConnectError)
    assert run.world.stored == {"a": 1}


def test_records_sent_after_a_fatal_error_are_not_skipped() -> None:
    """librdkafka refuses each row of a failed producer; the rows themselves are fine."""
    run = Run(World())
    run.producer.failure = KafkaError(45, "out of order")
    run.producer.reports = []
    run.hand_over(("a", rows(OK)))
    run.turn()
    assert (run.is_over, run.world.stored) == (True, {})


def test_a_fatal_error_fails_the_task_with_its_reason() -> None:
    """Not with the error of the rows lost with it."""
    run = begin(OK)
    run.producer.fail(reports_first=False)
    run.turn()
    assert str(run.error) == "out of order"


# Hand-overs that wait ------------------------------------------------------------------------------------------


def test_waiting_polls_are_joined() -> None:
    """Records keep their order and their positions, whatever their source partitions."""
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


def test_joined_polls_are_limited_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops and delivery reports are handled between batches of usual size if conversion is slow."""
    monkeypatch.setattr(Conversion, "quick_rows", 0)
    run = Run(World(joined_rows=3))
    run.hand_over(("a", rows(OK, OK)), ("a", rows(OK, OK)), ("a", rows(OK)), ("a", rows(*[OK] * 4)))
    told: list[int] = []
    while not told or told[-1] < 9:
        run.turn()
        told.append(run.observer.counts.polled)
        answer_all(run)
    assert list(dict.fromkeys(told)) == [2, 5, 9]


def test_a_fatal_record_in_joined_polls_keeps_its_place() -> None:
    """Records before it are sent, whichever poll returned them."""
    run = Run(World(is_tolerant=False))
    run.hand_over(("a", rows(OK, OK)))
    run.hand_over(("a", rows(OK, FAILING, OK)))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert (written(run.world), run.world.stored) == ([1, 2, 3], {"a": 3})


def test_a_stage_gets_credit_for_processed_hand_overs() -> None:
    """In one message for joined hand-overs, and none while earlier ones wait."""
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


def test_a_stage_gets_credit_before_the_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    """It polls meanwhile."""
    run = Run(World())
    pipeline: Any = run.loop._services.pipeline
    prepare, seen = pipeline.preparing, []

    def preparing(batches: Sequence[Batch]) -> Any:
        seen.append(run.stage.credit)
        return prepare(batches)

    monkeypatch.setattr(pipeline, "preparing", preparing)
    run.hand_over(("a", rows(OK)))
    run.turn()
    assert seen == [AHEAD]


# A full queue, topics that are not there ------------------------------------------------------------------------


def test_a_stop_is_handled_while_the_queue_is_full() -> None:
    """After the graceful time nothing is sent, and the producer is closed with its remaining rows."""
    run = begin(*[OK] * ROOM)
    run.hand_over(("a", rows(OK, OK)))
    run.turn()
    run.event_queue.put(Stop())
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert run.producer.is_closed
    assert run.world.now - begun <= GRACEFUL + 0.1
    assert run.world.stored == {}


def test_a_stop_is_handled_during_a_topic_lookup() -> None:
    """The broker need not answer."""
    run = Run(World())
    run.topics.are_known = False
    run.hand_over(("a", rows(OK)))
    run.turn()
    run.event_queue.put(Stop())
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert (run.error, run.world.now - begun <= GRACEFUL + 0.1, written(run.world)) == (None, True, [])


@pytest.mark.parametrize("is_full", [True, False])
def test_a_lost_host_ends_the_run_while_records_wait(is_full: bool) -> None:
    """Another run may have started: nothing more is sent, and rows in flight are dropped."""
    run = begin(*[OK] * ROOM)
    run.topics.are_known = is_full
    run.hand_over(("a", rows(OK, OK)))
    run.turn()
    run.lose_host()
    run.turn()
    assert isinstance(run.error, HostLost)
    assert (run.producer.is_closed, run.world.stored) == (True, {})


def test_acknowledgements_are_processed_during_a_topic_lookup() -> None:
    """Positions of other records are stored meanwhile."""
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
    """The broker refuses whole requests; good records are sent again, in order."""
    run = begin(OK, BAD, OK, OK)
    run.producer.answer(T0, 4)
    drain(run)
    assert (written(run.world), run.world.stored) == ([1, 3, 4], {"a": 4})
    assert [place[0] for _, place in sorted(run.stage.reported.items())] == ["t", None, "t", "t"]


def test_records_written_after_a_refused_one_are_sent_again() -> None:
    """Their last occurrence is in order; after a kill before that, reading starts at the refused one."""
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


def test_waiting_records_do_not_pass_resent_ones() -> None:
    """Records not sent yet follow them, once."""
    run = begin(OK, BAD, OK, OK, OK, OK)
    run.hand_over(("a", rows(OK, OK)))
    run.turn_until(lambda: run.loop._send_buffer.is_blocked)
    drain(run)
    assert written(run.world) == [3, 4, 5, 6, 1, 3, 4, 5, 6, 7, 8]
    assert run.world.stored == {"a": 8}


def test_a_bad_record_fails_the_task_without_tolerance() -> None:
    """With the error of the bad record, not of others in its request."""
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


def test_refusal_names_the_record_and_a_remedy() -> None:
    """Its topic, its size and the key to change."""
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
def test_record_with_a_missing_topic_is_never_skipped(error: int) -> None:
    """Java's producer waits for a missing topic or partition; the record itself is fine."""
    send_buffer = refuse(error, is_tolerant=True)
    with pytest.raises(ToleranceExceeded, match="Unrecoverable exception from producer send callback"):
        send_buffer.collect(0)
    assert send_buffer.positions.committable() == [({"s": 1}, {"n": 0})]


@pytest.mark.parametrize("shows_records", [True, False])
def test_tolerated_refusal_is_logged_like_kafka_connect(caplog: pytest.LogCaptureFixture, shows_records: bool) -> None:
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


def test_fatal_record_is_named_in_the_trace() -> None:
    """Its source position precedes the error."""
    run = Run(World(is_tolerant=False))
    run.hand_over(("a", rows(OK, FAILING)))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert "record: topic 't', source partition {source=a}, source offset {number=2}" in run.error.trace


def test_a_record_refused_by_a_full_queue_is_sent_again() -> None:
    """Hearth's limits are lower than librdkafka's, so this should not happen."""
    run = begin(OK, CROWDED, OK)
    drain(run)
    assert (written(run.world)[-2:], run.world.stored) == ([2, 3], {"a": 3})


def test_records_may_be_sent_again_repeatedly() -> None:
    """Each time with all that follow, including those not sent again before."""
    run = Run(World())
    run.hand_over(("a", [("u", 0, CROWDED), ("t", 0, OK), ("t", 0, CROWDED)]))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.loop._send_buffer.is_empty and run.loop._polls.is_empty)
    drain(run)
    assert (written(run.world), run.world.stored) == ([2, 3, 2, 3], {"a": 3})


# The end ----------------------------------------------------------------------------------------------------


def test_an_error_while_draining_still_commits() -> None:
    """Records in flight are awaited and stored when later records fail."""
    run = begin(OK, OK, is_tolerant=False)
    run.hand_over(("a", rows(OK, FAILING)))
    run.event_queue.put(Stop())
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert run.world.stored == {"a": 3}


def test_a_stage_death_while_draining_still_commits() -> None:
    """The task fails with the stage's error; earlier records are stored."""
    run = begin(OK, OK)
    run.event_queue.put(Stop())
    run.world.meanwhile = run.die
    run.turn()
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.is_over)
    assert "killed by signal 9" in str(run.error)
    assert run.world.stored == {"a": 2}


def test_the_first_error_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """Errors while a failed task waits for its last records are logged."""
    run = begin(OK, OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    run.turn_until(lambda: any(isinstance(each, ToleranceExceeded) for each in run.loop._polls._begun))
    run.world.meanwhile = lambda: run.producer.expire(T0) if run.producer.lines.get(T0) else None
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, ToleranceExceeded)
    assert "stopped waiting for the acknowledgement of the last records" in caplog.text


def test_a_failed_task_waits_no_longer_than_a_commit() -> None:
    """The broker is unavailable."""
    run = begin(OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    begun = run.world.now
    run.turn_until(lambda: run.is_over)
    assert run.world.now - begun <= FLUSH_TIMEOUT + 0.2
    assert run.world.stored == {}


def test_a_failed_task_with_a_lost_host_ends_at_once() -> None:
    """Remaining records are not sent, and nothing is stored."""
    run = begin(OK, is_tolerant=False)
    run.hand_over(("a", rows(FAILING)))
    run.world.meanwhile = run.lose_host
    run.turn_until(lambda: run.is_over)
    assert isinstance(run.error, HostLost)
    assert (run.producer.is_closed, run.world.stored) == (True, {})


def test_a_task_with_a_hanging_poll_is_killed(caplog: pytest.LogCaptureFixture) -> None:
    """The records of that poll were never taken; those of earlier polls are stored."""
    run = begin(OK)
    run.producer.answer(T0, 1)
    run.event_queue.put(Stop())
    run.loop.execute()
    assert "its poll did not return in time" in caplog.text
    assert (run.world.stored, run.stage.is_stopped) == ({"a": 1}, False)


def test_a_clean_stop_writes_and_stores_everything() -> None:
    """Including records that arrived before polling stopped (invariant 8)."""
    run = begin(OK, DROPPED, HUGE)
    run.event_queue.put(Stop())
    run.hand_over(("a", rows(OK)))
    run.world.meanwhile = lambda: answer_all(run)
    run.loop.execute()
    assert (written(run.world), run.world.stored, run.stage.is_stopped) == ([1, 4], {"a": 4}, True)


def test_a_task_whose_stop_raises_is_stopped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Kafka Connect, an error of ``stop`` is logged: everything is stored by then."""
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
def test_unstored_positions_are_kept(mood: str) -> None:
    """An unavailable or slow store is asked again, with the newest position last."""
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
def test_no_records_are_taken_while_the_host_is_silent(mood: str, taken: int) -> None:
    """Another run may read them again from the stored positions. Once the host answers, all continues."""
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
def test_a_suspended_source_takes_nothing_before_a_store_succeeds(mood: str) -> None:
    """Its host may have been suspended too, and not know yet that another leads."""
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


def test_a_suspended_source_without_stored_positions_continues() -> None:
    """There is nothing to check with; an idle one checks once."""
    run = Run(World())
    run.world.now += 60
    run.hand_over(("a", rows(OK)))
    run.turn()
    run.turn()
    assert run.producer.in_flight == 1
    drain(run)
    assert run.world.stored == {"a": 1}


def test_a_lost_host_stores_nothing() -> None:
    """The loop is notified of the loss right after."""
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


def test_commit_record_gets_partition_offset_and_timestamp() -> None:
    """Kafka's metadata has the stored timestamp."""
    run = begin(OK, OK)
    drain(run)
    assert run.stage.reported == {0: ["t", 0, 0, 1000], 1: ["t", 0, 1, 1001]}


def test_commit_record_is_called_once_for_a_resent_record() -> None:
    """It was written the first time."""
    run = begin(BAD, OK)
    run.hand_over(("a", rows(OK)))
    run.turn_until(lambda: run.producer.in_flight == 3)
    run.producer.answer(T0, 2)
    run.producer.answer(T0, 1)
    run.turn_until(lambda: len(run.producer.lines[T0]) == 2)
    run.producer.answer(T0, 1)
    run.producer.expire(T0)
    run.turn()
    assert [(number, place[0]) for number, place in sorted(run.stage.reported.items())] == [
        (0, None),
        (1, "t"),
        (2, "t"),
    ]


def test_commit_record_is_not_called_for_a_fatal_record() -> None:
    """Without tolerance a refused record is neither written nor skipped."""
    run = begin(OK, HUGE, is_tolerant=False)
    run.turn_until(lambda: run.is_over)
    assert run.stage.reported == {}


# What others hear ------------------------------------------------------------------------------------------------


def test_a_topic_is_reported_with_its_first_acknowledgement() -> None:
    """Not when records are sent, and only once (KIP-558)."""
    run = begin(OK, OK, DROPPED)
    assert run.link.topics == []
    run.producer.answer(T0, 1)
    run.turn()
    assert run.link.topics == ["t"]
    run.hand_over(("a", [(*T0, OK), ("u", 0, OK)]))
    drain(run)
    assert run.link.topics == ["t", "u"]


def test_a_reset_topic_is_reported_with_its_next_acknowledgement() -> None:
    """Even for records already in flight; earlier acknowledgements do not count."""
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


def test_rows_for_an_existing_topic_do_not_wait_for_a_missing_one() -> None:
    """Even if both are in one batch, which is sent whole once both exist."""
    run = Run(World(sends_together=True))
    known = {"t"}
    topics: Any = SimpleNamespace(ensure=known.__contains__, has_all=lambda spans: known.issuperset(dict_of(spans)))
    run.loop._send_buffer._topics = topics
    run.hand_over(("a", [("t", 0, OK), ("u", 0, OK), ("t", 0, OK)]))
    run.turn_until(lambda: run.loop._send_buffer.is_blocked and run.producer.in_flight == 2)
    known.add("u")
    run.hand_over(("a", [("t", 0, OK), ("u", 0, OK)]))
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: run.loop._send_buffer.is_empty and run.loop._polls.is_empty)
    drain(run)
    numbers = {topic: [each.number for each in log] for (topic, _), log in run.world.log.items()}
    assert (numbers, run.world.stored) == ({"t": [1, 3, 4], "u": [2, 5]}, {"a": 5})


def dict_of(spans: Sequence[tuple[str, int, int]]) -> dict[str, int]:
    """Return the topics of spans."""
    return {topic: start for topic, start, _ in spans}


def test_a_topic_without_written_records_is_not_reported() -> None:
    """Refused and dropped records make no topic active, and use no memory."""
    run = begin(HUGE, BAD, DROPPED)
    drain(run)
    assert (run.link.topics, run.error) == ([], None)
    assert run.loop._send_buffer._unacknowledged["t"].size == 0


def test_a_topic_is_reported_with_its_first_written_record() -> None:
    """Whichever record is written first."""
    run = begin(HUGE, OK)
    drain(run)
    assert run.link.topics == ["t"]


def test_the_observer_counts_what_becomes_of_records() -> None:
    """Each of them once, but for those that are sent again."""
    run = begin(OK, BAD, OK, DROPPED, FAILING, HUGE)
    run.producer.answer(T0, 3)
    drain(run)
    counts = run.observer.counts
    assert (counts.polled, counts.failed, counts.skipped, counts.acknowledged, counts.retried) == (6, 3, 3, 2, 2)
    assert counts.sent == 4 + counts.retried
    assert (counts.commits, counts.commits_begun, counts.commits_failed) == (1, 1, 0)
    assert (counts.active, counts.active_most) == (0, 4)
    assert (counts.failures, counts.errors, counts.logged) == (3, 3, 0)


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
def test_polls_are_converted_in_parallel_in_stages(stages: str, joined_rows: int, most: int) -> None:
    """They become a limited number of pieces, because each takes memory, and none is small, because each has a cost.

    They are sent in the order of the polls, and the stage polls again meanwhile.
    """
    run = held_up(stages, 5, joined_rows)
    assert sum(type(each) is Polled for each in run.loop._polls._waiting) == 5 - most
    assert run.stage.credits == [AHEAD, *[1] * most]
    assert run.producer.in_flight == 0
    del run.thread.go_on
    run.world.meanwhile = lambda: answer_all(run)
    run.turn_until(lambda: len(written(run.world)) == 5)
    drain(run)
    assert (written(run.world), run.world.stored) == ([1, 2, 3, 4, 5], {"a": 5})
    assert sum(run.stage.credits) == AHEAD + 5


@pytest.mark.parametrize(("size", "early"), [(1, 3), (EARLY_BYTES // 2, 2), (EARLY_BYTES, 1), (EARLY_BYTES + 1, 0)])
def test_the_stage_waits_for_large_conversions(size: int, early: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes in conversion are limited; in the end the stage has all its credit, once."""
    monkeypatch.setattr(Polled, "memory", size)
    run = held_up(APART, 3)
    assert run.stage.credits == [AHEAD, *[1] * early]
    del run.thread.go_on
    drain(run)
    assert (sum(run.stage.credits), written(run.world)) == (AHEAD + 3, [1, 2, 3])


@pytest.mark.parametrize(("rows_a_second", "most"), [(1, 3), (100, 5), (10_000, 9)])
@pytest.mark.parametrize("stages", [APART, ""])
def test_quick_conversion_joins_more_rows(stages: str, rows_a_second: int, most: int) -> None:
    """A slow plugin gets no more rows per call: calls have a timeout."""
    run = Run(World(stages=stages, joined_rows=3))
    run.loop._services.conversion._paces = (0.0, 1 / rows_a_second)
    for _ in range(20):
        run.hand_over(("a", rows(OK)))
    run.turn()
    begun = [each.polled.num_rows for each in run.loop._polls._begun if hasattr(each, "polled")]
    assert [*begun, run.observer.counts.polled][0] == most
    drain(run)
    assert written(run.world) == [*range(1, 21)]


def test_a_stop_limits_the_wait_for_conversions() -> None:
    """Records not converted by then are dropped and read again."""
    run = held_up(APART, polls=2)
    run.event_queue.put(Stop())
    run.answer_hold()
    run.turn_until(lambda: run.is_over)
    assert (run.error, written(run.world), run.world.stored) == (None, [], {})


def test_a_conversion_failure_follows_earlier_polls() -> None:
    """A stage that died meanwhile fails the task after everything before is sent."""
    run = held_up(APART, polls=1)
    pipeline: Any = run.loop._services.pipeline
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
def test_records_before_a_fatal_one_are_sent(is_tolerant: bool) -> None:
    """An invalid timestamp fails the task whatever is tolerated."""
    run = Run(World(is_tolerant=is_tolerant))

    class Pipeline(WorldPipeline):
        """Finds something at the third row that cannot be sent, and failures around it."""

        def prepared(self, batches: Sequence[Batch]) -> Prepared:
            prepared = super().prepared(batches)
            error = ErrorInfo.of(ConnectError("Invalid record timestamp -2"))
            prepared.end = Failure(2, "KAFKA_PRODUCE", "the.Class", error)
            return prepared

    pipeline: Any = Pipeline(run.world)
    run.loop._polls._pipeline = pipeline
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
def test_an_idle_loop_rarely_wakes_up(wants_commits: bool) -> None:
    """It waits for commands, records, commits with listeners, and checks of its stage."""
    run = Run(World(), wants_commits=wants_commits)
    run.turn()
    turns, over = 0, run.world.now + 60
    while run.world.now < over:
        run.turn()
        turns += 1
    questions = 60 / ((1 - PING_EARLY) * SETTINGS.call_timeout / PING_SHARE)
    assert turns <= 60 / IDLE_SECONDS + questions + (60 / FLUSH_INTERVAL if wants_commits else 0) + 2


def test_records_after_an_idle_time_are_committed_in_time() -> None:
    """No commit was due while idle; from the first record on one is, until all is stored."""
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
def test_commit_is_called_only_if_the_task_implements_it(wants_commits: bool) -> None:
    """Each time one is due, even with nothing to store, as in Kafka Connect."""
    run = Run(World(), wants_commits=wants_commits)
    over = run.world.now + 9.5 * FLUSH_INTERVAL
    while run.world.now < over:
        run.turn()
    assert run.stage.commits == (10 if wants_commits else 0)


def test_any_event_ends_a_wait() -> None:
    """A command, records, or a delivery report."""
    run = Run(World())
    run.turn()
    began = run.world.now
    run.world.meanwhile = lambda: run.event_queue.put(Pause())
    run.turn()
    run.world.meanwhile = lambda: None
    run.turn()
    assert (run.stage.is_held, run.world.now - began < FLUSH_INTERVAL + 3 * MOMENT) == (True, True)
    assert run.link.states == ["PAUSED"]


def test_a_drained_loop_ends_at_once() -> None:
    """Its poll has returned, and nothing is in flight."""
    run = Run(World())
    run.turn()
    run.event_queue.put(Stop())
    run.turn()
    began = run.world.now
    run.world.meanwhile = run.answer_hold
    run.turn_until(lambda: run.is_over)
    assert run.world.now - began <= MOMENT


def test_a_long_call_timeout_makes_hang_checks_rare() -> None:
    """Every tenth of the call timeout, or a little earlier if the loop is awake anyway."""
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

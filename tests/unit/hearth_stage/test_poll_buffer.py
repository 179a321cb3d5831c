"""Which polls are sent together, when, in which order, and for whose credit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from hearth_api import STRING_SCHEMA, SourceRecord
from hearth_api.batch import Batch, records_by_kind
from hearth_execution.transformation import Outcome
from hearth_stage import poll_buffer as module
from hearth_stage.channel import ChannelClosed
from hearth_stage.kept_poll import KeptPoll
from hearth_stage.poll_buffer import PollBuffer
from hearth_stage.task_call import HandOver, Polled
from tests.timeouts import TIMEOUT, eventually

CREDIT = 100


def polled(*values: str, topic: str = "t") -> Polled:
    """Return the result of a poll."""
    data = pa.RecordBatch.from_arrays([pa.array(values, pa.string())], names=["value"])
    return Polled([Batch(topic, None, STRING_SCHEMA, data, {"p": 1})])


def kept(*values: str, topic: str = "t") -> KeptPoll:
    """Return a poll in its kept form."""
    records = [SourceRecord({"p": 1}, None, topic, value_schema=STRING_SCHEMA, value=value) for value in values]
    found = KeptPoll.of(records)
    assert found is not None
    return found


def made(records: Sequence[SourceRecord]) -> list[Polled]:
    """Return records as columns."""
    return [Polled(records_by_kind(records))]


def values(sent: HandOver) -> list[str]:
    """Return the values of a hand-over, in the order of the polls per topic."""
    return [value for batch in sent.batches for value in batch.column("value").to_pylist()]


def late_for_the_sending_thread() -> float:
    """Return a time at which the thread that adds polls never sends a buffered one, however slow the machine is."""
    return time.monotonic() if threading.current_thread().name == "stage-hand-overs" else 0.0


def unexpected(error: Exception) -> None:
    """Fail the test if a thread reports an error."""
    raise AssertionError("nothing was to fail") from error


class World:
    """The runtime, and the clock."""

    def __init__(self) -> None:
        self.now, self.sent = 0.0, list[HandOver]()
        self.fault: Exception | None = None
        self.poll_buffer = PollBuffer(self._hear, made, unexpected, lambda: self.now)
        self.poll_buffer.add_credit(CREDIT)

    def _hear(self, notice: HandOver) -> None:
        if self.fault is not None:
            raise self.fault
        self.sent.append(notice)

    def add(self, *values: str) -> None:
        """Poll."""
        self.poll_buffer.add([polled(*values)], at_once=False)


@pytest.fixture
def world() -> Iterator[World]:
    """Provide a runtime that has granted credit."""
    made = World()
    yield made
    made.poll_buffer.close()


def test_infrequent_polls_are_sent_at_once(world: World) -> None:
    """However little it is."""
    for number in range(3):
        world.now += module.APART_SECONDS
        world.add(f"{number}")
        assert len(world.sent) == number + 1
    assert threading.active_count() == len([each for each in threading.enumerate() if "hand-overs" not in each.name])


def test_quick_polls_are_sent_together(world: World) -> None:
    """With the poll that finds the delay over, or just before it."""
    world.add("a")
    world.add("b")
    world.add("c")
    assert [values(each) for each in world.sent] == [["a"]]
    world.now += module.APART_SECONDS
    world.add("d")
    assert values(world.sent[1])[:2] == ["b", "c"]
    world.poll_buffer.flush()
    assert [value for each in world.sent for value in values(each)] == ["a", "b", "c", "d"]


def test_large_polls_do_not_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By rows as well as by bytes."""
    world.add("a")
    world.add(*["b"] * module.FULL_ROWS)
    monkeypatch.setattr(module, "FULL_BYTES", 100)
    world.add("c")
    world.add("d" * 100)
    assert [len(values(each)) for each in world.sent] == [1, module.FULL_ROWS, 2]


def test_buffered_polls_are_sent_during_a_long_poll() -> None:
    """From another thread if there is no further poll; a second time as well."""
    sent: list[HandOver] = []
    poll_buffer = PollBuffer(sent.append, made, unexpected)
    poll_buffer.add_credit(CREDIT)
    for count in (2, 4):
        poll_buffer.add([polled("a")], at_once=True)
        poll_buffer.add([polled("b")], at_once=False)
        assert eventually(lambda: len(sent) == count, TIMEOUT)  # noqa: B023  (waited for right here)
    poll_buffer.close()
    assert [values(each) for each in sent] == [["a"], ["b"]] * 2
    assert not [each for each in threading.enumerate() if each.name == "stage-hand-overs"]


def test_buffered_polls_hold_their_credit(world: World) -> None:
    """So there are never more hand-overs than credit; the last credit is used without waiting."""
    world.poll_buffer.add_credit(2 - CREDIT)
    assert world.poll_buffer.has_room
    world.add("a")
    assert world.poll_buffer.has_room
    world.add("b")
    assert (len(world.sent), world.poll_buffer.has_room) == (2, False)
    world.poll_buffer.add_credit(2)
    world.add("c")
    assert (len(world.sent), world.poll_buffer.has_room) == (2, True)
    world.poll_buffer.add_credit(-1)
    assert not world.poll_buffer.has_room


def test_polls_of_several_topics_keep_their_order(world: World) -> None:
    """Those of one topic are one batch, and each row has its position."""
    world.add("-")
    for number in range(6):
        world.poll_buffer.add([polled(f"{number}", topic="ab"[number % 2])], at_once=False)
    world.poll_buffer.flush()
    (group,), batches = world.sent[1].groups, world.sent[1].batches
    assert group.polled == 2
    assert [(batch.topic, batch.column("row").to_pylist()) for batch in batches] == [
        ("a", [0, 2, 4]),
        ("b", [1, 3, 5]),
    ]


def test_kept_polls_are_sent_with_the_others(world: World) -> None:
    """In its position; one batch per topic, and repeated kept polls are converted to columns once."""
    world.add("-")
    for each in (kept("a"), polled("b"), kept("c"), kept("d", "e"), kept("f", topic="u"), polled("g")):
        world.poll_buffer.add([each], at_once=False)
    world.poll_buffer.flush()
    (sent,) = world.sent[1:]
    assert [(batch.topic, batch.column("row").to_pylist()) for batch in sent.batches] == [
        ("t", [0, 1, 2, 3, 4, 6]),
        ("u", [5]),
    ]
    assert values(sent) == ["a", "b", "c", "d", "e", "g", "f"]
    assert [group.polled for group in sent.groups] == [2]


def test_buffer_predicts_whether_a_poll_waits(world: World) -> None:
    """While the delay runs, with credit to spare, and for as many rows as there is room for."""
    assert not world.poll_buffer.may_wait(1)
    world.add("a")
    assert world.poll_buffer.may_wait(module.FULL_ROWS - 1)
    assert not world.poll_buffer.may_wait(module.FULL_ROWS)
    world.now += module.APART_SECONDS
    assert not world.poll_buffer.may_wait(1)
    world.now -= module.APART_SECONDS
    world.poll_buffer.add_credit(2 - CREDIT)
    assert not world.poll_buffer.may_wait(1)
    world.poll_buffer.add_credit(1)
    world.add("b")
    assert world.poll_buffer.may_wait(module.FULL_ROWS - 2)
    assert not world.poll_buffer.may_wait(module.FULL_ROWS - 1)


def test_poll_that_cannot_be_converted_is_dropped(world: World) -> None:
    """It is reported once; polls before it are sent, and so are later ones."""

    def refuse(records: Sequence[SourceRecord]) -> list[Polled]:
        if "bad" in [record.value for record in records]:
            raise TypeError("no schema")
        return made(records)

    world.poll_buffer._make = refuse
    world.add("a")
    for each in (kept("b"), kept("c", "d"), polled("e"), kept("f"), kept("bad", "g"), kept("h")):
        world.poll_buffer.add([each], at_once=False)
    with pytest.raises(TypeError, match="no schema") as caught:
        world.poll_buffer.flush()
    assert caught.value.__context__ is None
    assert [values(each) for each in world.sent] == [["a"], ["b", "c", "d", "e", "f"]]
    world.poll_buffer.flush()
    world.poll_buffer.add([kept("bad")], at_once=False)
    with pytest.raises(TypeError, match="no schema"):
        world.poll_buffer.flush()
    world.add("i")
    world.poll_buffer.flush()
    assert [value for each in world.sent[2:] for value in values(each)] == ["i"]


def test_transformed_polls_are_not_joined(world: World) -> None:
    """Its failures have the rows of that poll; it is sent with the others, in its position."""
    world.add("-")
    stepped = Polled(polled("x").origins, Outcome([*polled("X").origins], []))
    for each in (polled("a"), polled("b"), stepped, stepped, polled("c")):
        world.poll_buffer.add([each], at_once=False)
    world.poll_buffer.flush()
    assert values(world.sent[1]) == ["a", "b", "x", "X", "x", "X", "c"]
    assert [(group.polled, group.results) for group in world.sent[1].groups] == [
        (1, None), (1, 1), (1, 1), (1, None),
    ]  # fmt: skip


def test_error_of_the_sending_thread_is_reported_at_once() -> None:
    """It does not wait for a poll, and nothing is sent after it. A closed connection is no error."""
    for fault, is_reported in ((ValueError("too long"), True), (ChannelClosed("gone"), False)):
        sent: list[HandOver] = []
        errors: list[Exception] = []

        def send(notice: HandOver, fault: Exception = fault, sent: list[HandOver] = sent) -> None:
            sent.append(notice)
            if len(sent) == 2:
                raise fault

        poll_buffer = PollBuffer(send, made, errors.append, late_for_the_sending_thread)
        poll_buffer.add_credit(CREDIT)
        poll_buffer.add([polled("a")], at_once=True)
        poll_buffer.add([polled("b")], at_once=False)
        assert poll_buffer._thread is not None
        poll_buffer._thread.join(TIMEOUT)
        assert errors == [fault] * is_reported
        if is_reported:
            with pytest.raises(ValueError, match="too long"):
                poll_buffer.add([polled("c")], at_once=True)
            with pytest.raises(ValueError, match="too long"):
                poll_buffer.flush()
        poll_buffer.close()
        assert len(sent) == 2


def test_error_on_a_closed_connection_ends_the_thread_quietly() -> None:
    """The runtime has closed the connection in between."""

    def send(notice: HandOver) -> None:
        if values(notice) == ["b"]:
            raise ValueError("too long")

    def fail(error: Exception) -> None:
        raise ChannelClosed("gone")

    poll_buffer = PollBuffer(send, made, fail, late_for_the_sending_thread)
    poll_buffer.add_credit(CREDIT)
    poll_buffer.add([polled("a")], at_once=True)
    poll_buffer.add([polled("b")], at_once=False)
    assert poll_buffer._thread is not None
    poll_buffer._thread.join(TIMEOUT)
    with pytest.raises(ValueError, match="too long"):
        poll_buffer.flush()
    poll_buffer.close()


def test_polls_keep_their_order_on_any_sending_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls of any pace, with no more hand-overs than credit."""
    monkeypatch.setattr(module, "APART_SECONDS", 0.0005)
    chance = random.Random(44)
    sent: list[list[str]] = []
    poll_buffer = PollBuffer(lambda notice: sent.append(values(notice)), made, unexpected)
    given = 8
    poll_buffer.add_credit(given)
    number = 0
    while number < 5000:
        while not poll_buffer.has_room:
            dealt_with = len(sent) + 8 - given
            poll_buffer.add_credit(dealt_with)
            given += dealt_with
            time.sleep(0 if dealt_with else 0.0005)
        assert len(sent) <= given
        rows = chance.choice([1, 1, 1, 5, 40])
        texts = [f"{each}" for each in range(number, number + rows)]
        each = polled(*texts) if chance.random() < 0.5 else kept(*texts)
        poll_buffer.add([each], at_once=chance.random() < 0.05)
        number += rows
        if chance.random() < 0.1:
            time.sleep(chance.choice([0, 0.0003, 0.001]))
    poll_buffer.flush()
    poll_buffer.close()
    assert [value for each in sent for value in each] == [f"{each}" for each in range(number)]
    assert len(sent) <= given

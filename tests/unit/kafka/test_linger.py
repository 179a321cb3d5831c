"""How long rows wait for others, with a fixed clock."""

from __future__ import annotations

import pytest

from hearth.kafka.linger import LONGEST_MS, Linger


class Clock:
    """A clock that is moved by hand; in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


def test_the_first_rows_are_flushed_at_once(clock: Clock) -> None:
    """A sender with nothing more to send need not wait."""
    linger = Linger(5, clock)
    linger.sent()
    assert linger.left_ms == 0


def test_following_rows_are_sent_together(clock: Clock) -> None:
    """At most one early request per ``linger.ms``, however many small sends there are."""
    linger = Linger(5, clock)
    for _ in range(4):
        linger.sent()
        linger.flushed()
        assert linger.left_ms == 10
        linger.sent()
        assert linger.left_ms == 5
        clock.now += 0.003
        assert linger.left_ms == 2
        clock.now += 0.002
        assert linger.left_ms == 0


def test_returning_rows_delay_a_flush(clock: Clock) -> None:
    """Full requests come back all the time; rows of other partitions are flushed now and then."""
    linger = Linger(5, clock)
    linger.sent()
    linger.flushed()
    hurried = 0
    for _ in range(1000):
        linger.sent()
        linger.returned()
        clock.now += 0.004
        if linger.left_ms == 0:
            linger.flushed()
            hurried += 1
    assert 4 / 0.110 <= hurried <= 4 / 0.1


def test_a_full_request_delays_a_flush(clock: Clock) -> None:
    """It comes back by itself; rows of other partitions are flushed now and then."""
    linger = Linger(5, clock)
    linger.flushed()
    linger.sent(is_full=True)
    assert linger.left_ms == 100
    clock.now += 0.05
    linger.returned(is_full=True)
    assert linger.left_ms == 50
    linger.returned()
    assert linger.left_ms == 5
    linger.sent(is_full=True)
    waits = []
    for _ in range(8):
        waits.append(linger.left_ms)
        clock.now += linger.left_ms / 1000
        linger.flushed()
    assert waits == [50, 100, 100, 100, 100, 160, 320, 640]


def test_partly_returned_rows_are_flushed_again(clock: Clock) -> None:
    """librdkafka sends at most five requests at once, one per partition: others need another flush."""
    linger = Linger(5, clock)
    linger.sent()
    linger.flushed(30)
    clock.now += 0.001
    assert (linger.left_ms, linger.is_late) == (9, False)
    for _ in range(2):
        linger.returned(10)
        assert (linger.left_ms, linger.is_late) == (0, True)
        linger.sent()
        assert linger.left_ms == 0
    linger.returned(10)
    assert linger.left_ms == 5
    clock.now += 0.001
    linger.flushed(30)
    assert linger.left_ms == 10
    clock.now += 0.001
    linger.returned(10, is_full=True)
    assert linger.left_ms == 99


@pytest.mark.parametrize(
    ("took", "wait", "pauses"), [(0.003, 5, True), (0.04, 40, True), (0.19, 100, True), (0.04, 5, False)]
)
def test_rows_wait_as_long_as_others_to_many_partitions_took(
    clock: Clock, took: float, wait: int, pauses: bool
) -> None:
    """Where they have to be hurried again and again; else, or where there is no room for more, they need not wait.

    Nor need they in a transaction, which waits for all of them to come back.
    """
    linger = Linger(5, clock, pauses=pauses)
    linger.sent()
    for count, is_enough in ((30, False), (60, True)):
        linger.flushed(30)
        clock.now += took / 2
        linger.returned(count - 20)
        if not is_enough:
            linger.flushed(50)
            clock.now += took / 2
            linger.returned(20)
        linger.sent()
        assert linger.left_ms == (5 if is_enough else wait)
        linger.sent(is_crowded=True)
        assert linger.left_ms == 5
        linger.sent()
        clock.now += 0.1


def test_unanswered_flushes_back_off(clock: Clock) -> None:
    """An unavailable broker gets few requests, and one that is back an immediate one."""
    linger = Linger(5, clock)
    linger.sent()
    waits = []
    for _ in range(40):
        waits.append(linger.left_ms)
        clock.now += linger.left_ms / 1000
        linger.flushed()
    assert waits[:5] == [0, 10, 20, 40, 80]
    assert waits[8:] == [1000] * 32
    linger.returned()
    assert linger.left_ms == 5


def test_a_busy_sender_flushes_later(clock: Clock) -> None:
    """A caller that does not wait may have more to send, but not for long."""
    linger = Linger(5, clock)
    linger.returned()
    linger.sent()
    clock.now += 0.1
    assert (linger.left_ms, linger.is_late) == (0, False)
    clock.now += 0.006
    assert linger.is_late
    linger.flushed()
    assert not linger.is_late


def test_zero_linger_is_a_millisecond(clock: Clock) -> None:
    """So each wait of the producer flushes, but not in a busy loop."""
    linger = Linger.of({"linger.ms": "0"})
    assert Linger(0, clock).left_ms == 0
    linger.flushed()
    assert linger.left_ms > 0


@pytest.mark.parametrize(
    ("config", "linger", "sticky"),
    [
        ({}, LONGEST_MS, "10"),
        ({"linger.ms": "5"}, LONGEST_MS, "10"),
        ({"linger.ms": "0"}, LONGEST_MS, "0"),
        ({"linger.ms": "0.5"}, LONGEST_MS, "1"),
        ({"linger.ms": "5", "sticky.partitioning.linger.ms": "7"}, LONGEST_MS, "7"),
        ({"linger.ms": "5", "message.timeout.ms": "50"}, 25, "10"),
        ({"linger.ms": "5", "message.timeout.ms": "8"}, 5, None),
        ({"linger.ms": "5", "message.timeout.ms": "2000", "transaction.timeout.ms": "1000"}, 500, "10"),
        ({"linger.ms": "20000"}, 20000, None),
    ],
)
def test_librdkafka_gets_a_longer_linger(config: dict[str, str], linger: float, sticky: str | None) -> None:
    """Unless rows would time out; the sticky partitioner's linger is unchanged."""
    given = Linger.lengthened(config)
    assert float(given.get("linger.ms", "5")) == linger
    assert given.get("sticky.partitioning.linger.ms") == sticky


def test_an_invalid_linger_is_left_to_librdkafka() -> None:
    """It reports the error."""
    assert Linger.lengthened({"linger.ms": "soon"}) == {"linger.ms": "soon"}
    assert Linger.of({"linger.ms": "soon"}).left_ms == 0

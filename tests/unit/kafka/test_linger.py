"""How long rows wait for company, against a clock that stands still."""

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


def test_rows_go_at_once_where_nothing_went_before(clock: Clock) -> None:
    """Who has nothing more to send need not wait: company would have to come from elsewhere."""
    linger = Linger(5, clock)
    linger.sent()
    assert linger.left_ms == 0


def test_rows_that_follow_go_together(clock: Clock) -> None:
    """No more than one early request in ``linger.ms``, however many small sends there are."""
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


def test_what_comes_back_is_a_reason_to_wait(clock: Clock) -> None:
    """Where requests are full they come back all the time; rows for another partition are hurried now and then."""
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


def test_a_full_request_is_a_reason_to_wait(clock: Clock) -> None:
    """It comes back by itself, if later than ``linger.ms``; rows for other partitions are hurried now and then."""
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


def test_rows_that_were_flushed_follow_each_other(clock: Clock) -> None:
    """librdkafka sends no more than five requests at once, one for each partition: the others need another word."""
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


def test_while_nothing_comes_back_rows_are_flushed_less_and_less(clock: Clock) -> None:
    """A broker that is away for an hour is not asked for two hundred times a second, one that is back at once."""
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


def test_who_does_not_wait_hurries_them_later(clock: Clock) -> None:
    """Whoever only looks what came back may have more to send, but not for long."""
    linger = Linger(5, clock)
    linger.returned()
    linger.sent()
    clock.now += 0.1
    assert (linger.left_ms, linger.is_late) == (0, False)
    clock.now += 0.006
    assert linger.is_late
    linger.flushed()
    assert not linger.is_late


def test_no_linger_at_all_is_a_millisecond(clock: Clock) -> None:
    """Each wait of the producer hurries then, but not without end."""
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
def test_librdkafka_is_told_to_wait_longer(config: dict[str, str], linger: float, sticky: str | None) -> None:
    """As far as that is longer, and rows do not time out by then; the partitioner's time is what it would be."""
    given = Linger.lengthened(config)
    assert float(given.get("linger.ms", "5")) == linger
    assert given.get("sticky.partitioning.linger.ms") == sticky


def test_what_is_no_number_is_left_to_librdkafka() -> None:
    """It says what is wrong with it."""
    assert Linger.lengthened({"linger.ms": "soon"}) == {"linger.ms": "soon"}
    assert Linger.of({"linger.ms": "soon"}).left_ms == 0

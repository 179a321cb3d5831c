"""Reading ahead: in order, within limits, and on one thread."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from hearth.datasource.read_ahead import ReadAhead
from tests.timeouts import TIMEOUT


class Source:
    """Yields numbers, each of one byte, and notes how far it has come and where it ran."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self._count, self._error = count, error
        self.made = threading.Semaphore(0)
        self.threads: set[int] = set()
        self.is_over = threading.Event()
        self.has_ended = False

    def numbers(self) -> Generator[int, None, None]:
        """Yield numbers until stopped."""
        try:
            for number in range(self._count):
                self.threads.add(threading.get_ident())
                self.made.release()
                yield number
                if self.is_over.is_set():
                    return
            if self._error is not None:
                raise self._error
        finally:
            self.threads.add(threading.get_ident())
            self.has_ended = True

    def ahead(self, most: int) -> ReadAhead[int]:
        """Return what takes them ahead."""
        return ReadAhead(self.numbers(), lambda _: 1, most, self.is_over.set)

    def has_made(self, count: int) -> bool:
        """Wait for the given number of further items, and return whether they were made."""
        return all(self.made.acquire(timeout=TIMEOUT) for _ in range(count))


def test_items_arrive_in_order_from_one_thread() -> None:
    """Its end as well, which is over when this is."""
    source = Source(1000)
    assert list(source.ahead(7)) == list(range(1000))
    assert source.has_ended
    assert len(source.threads) == 1
    assert threading.get_ident() not in source.threads


def test_read_ahead_is_limited_by_bytes() -> None:
    """While the consumer takes nothing; each item that it takes makes room for another."""
    source = Source(1000)
    taken = iter(source.ahead(5))
    assert next(taken) == 0
    assert source.has_made(6)
    assert not source.made.acquire(timeout=0.05)
    assert next(taken) == 1
    assert source.has_made(1)
    taken.close()  # type: ignore[attr-defined]


def test_error_is_raised_after_earlier_items() -> None:
    """Nothing that was made is lost for an error."""
    taken = iter(Source(3, ValueError("broken")).ahead(100))
    assert [next(taken) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(taken)


def test_closing_the_iterator_ends_the_generator() -> None:
    """And finds it over: whatever it held is free."""
    source = Source(1000)
    taken = iter(source.ahead(3))
    next(taken)
    taken.close()  # type: ignore[attr-defined]
    assert source.has_ended
    assert len(source.threads) == 1

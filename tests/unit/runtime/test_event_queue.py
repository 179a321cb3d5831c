"""The event queue: in order, from any thread, and woken without a word."""

from __future__ import annotations

import threading
import time

from hearth.link.link_call import Pause, Resume, Stop
from hearth.runtime.event_queue import EventQueue


def test_items_come_in_the_order_they_were_told() -> None:
    """Those that are there, and those that come while they are taken."""
    event_queue = EventQueue()
    event_queue.put(Pause())
    event_queue.put(Resume())
    taken = event_queue.take()
    assert next(taken) == Pause()
    event_queue.put(Stop())
    assert list(taken) == [Resume(), Stop()]
    assert event_queue.is_empty


def test_nothing_is_waited_for_unless_that_is_wanted() -> None:
    """A loop has other things to do."""
    assert list(EventQueue().take()) == []


def test_a_wait_ends_with_the_first_item() -> None:
    """However long it may be."""
    event_queue = EventQueue()
    threading.Timer(0.05, event_queue.put, [Stop()]).start()
    began = time.monotonic()
    assert list(event_queue.take(60)) == [Stop()]
    assert time.monotonic() - began < 30


def test_a_wait_may_be_ended_without_an_item() -> None:
    """What came is looked for elsewhere."""
    event_queue = EventQueue()
    threading.Timer(0.05, event_queue.wake).start()
    began = time.monotonic()
    assert list(event_queue.take(60)) == []
    assert time.monotonic() - began < 30
    assert event_queue.is_empty


def test_what_is_not_taken_stays() -> None:
    """An item that ends the task leaves those behind it to whoever looks next."""
    event_queue = EventQueue()
    event_queue.put(Pause())
    event_queue.put(Stop())
    for item in event_queue.take():
        assert item == Pause()
        break
    assert list(event_queue.take()) == [Stop()]


def test_who_waits_elsewhere_is_fetched_for_each_item() -> None:
    """Also for a wake, which is no item; and no more when he has come back."""
    event_queue = EventQueue()
    calls: list[None] = []
    with event_queue.fetched(lambda: calls.append(None)):
        assert calls == []
        event_queue.put(Stop())
        event_queue.wake()
        assert len(calls) == 2
    event_queue.put(Pause())
    assert len(calls) == 2
    assert list(event_queue.take()) == [Stop(), Pause()]


def test_who_goes_to_wait_elsewhere_is_fetched_for_what_is_there() -> None:
    """It came between his last look and his going."""
    event_queue = EventQueue()
    event_queue.put(Stop())
    calls: list[None] = []
    with event_queue.fetched(lambda: calls.append(None)):
        assert len(calls) == 1

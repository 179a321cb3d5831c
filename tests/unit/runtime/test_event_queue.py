"""The event queue: ordered, usable from any thread, with wakes."""

from __future__ import annotations

import threading
import time

from hearth.link.link_call import Pause, Resume, Stop
from hearth.runtime.event_queue import EventQueue


def test_events_keep_their_order() -> None:
    """Those present, and those that arrive while they are taken."""
    event_queue = EventQueue()
    event_queue.put(Pause())
    event_queue.put(Resume())
    taken = event_queue.take()
    assert next(taken) == Pause()
    event_queue.put(Stop())
    assert list(taken) == [Resume(), Stop()]
    assert event_queue.is_empty


def test_take_without_timeout_does_not_wait() -> None:
    """A loop has other things to do."""
    assert list(EventQueue().take()) == []


def test_a_wait_ends_with_the_first_event() -> None:
    """However long its timeout is."""
    event_queue = EventQueue()
    threading.Timer(0.05, event_queue.put, [Stop()]).start()
    began = time.monotonic()
    assert list(event_queue.take(60)) == [Stop()]
    assert time.monotonic() - began < 30


def test_wake_ends_a_wait_without_an_event() -> None:
    """What arrived is found elsewhere."""
    event_queue = EventQueue()
    threading.Timer(0.05, event_queue.wake).start()
    began = time.monotonic()
    assert list(event_queue.take(60)) == []
    assert time.monotonic() - began < 30
    assert event_queue.is_empty


def test_events_not_taken_remain() -> None:
    """An event that ends the task leaves later ones in the queue."""
    event_queue = EventQueue()
    event_queue.put(Pause())
    event_queue.put(Stop())
    for item in event_queue.take():
        assert item == Pause()
        break
    assert list(event_queue.take()) == [Stop()]


def test_fetched_is_called_for_each_event() -> None:
    """Also for a wake, which is no event; and not after the block."""
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


def test_fetched_is_called_for_events_already_present() -> None:
    """They arrived between the last look and the start of the block."""
    event_queue = EventQueue()
    event_queue.put(Stop())
    calls: list[None] = []
    with event_queue.fetched(lambda: calls.append(None)):
        assert len(calls) == 1

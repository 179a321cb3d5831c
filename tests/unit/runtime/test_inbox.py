"""The inbox: in order, from any thread, and woken without a word."""

from __future__ import annotations

import threading
import time

from hearth.link.link_call import Pause, Resume, Stop
from hearth.runtime.inbox import Inbox


def test_items_come_in_the_order_they_were_told() -> None:
    """Those that are there, and those that come while they are taken."""
    inbox = Inbox()
    inbox.put(Pause())
    inbox.put(Resume())
    taken = inbox.take()
    assert next(taken) == Pause()
    inbox.put(Stop())
    assert list(taken) == [Resume(), Stop()]
    assert inbox.is_empty


def test_nothing_is_waited_for_unless_that_is_wanted() -> None:
    """A loop has other things to do."""
    assert list(Inbox().take()) == []


def test_a_wait_ends_with_the_first_item() -> None:
    """However long it may be."""
    inbox = Inbox()
    threading.Timer(0.05, inbox.put, [Stop()]).start()
    began = time.monotonic()
    assert list(inbox.take(60)) == [Stop()]
    assert time.monotonic() - began < 30


def test_a_wait_may_be_ended_without_an_item() -> None:
    """What came is looked for elsewhere."""
    inbox = Inbox()
    threading.Timer(0.05, inbox.wake).start()
    began = time.monotonic()
    assert list(inbox.take(60)) == []
    assert time.monotonic() - began < 30
    assert inbox.is_empty


def test_what_is_not_taken_stays() -> None:
    """An item that ends the task leaves those behind it to whoever looks next."""
    inbox = Inbox()
    inbox.put(Pause())
    inbox.put(Stop())
    for item in inbox.take():
        assert item == Pause()
        break
    assert list(inbox.take()) == [Stop()]


def test_who_waits_elsewhere_is_fetched_for_each_item() -> None:
    """Also for a wake, which is no item; and no more when he has come back."""
    inbox = Inbox()
    calls: list[None] = []
    with inbox.fetched(lambda: calls.append(None)):
        assert calls == []
        inbox.put(Stop())
        inbox.wake()
        assert len(calls) == 2
    inbox.put(Pause())
    assert len(calls) == 2
    assert list(inbox.take()) == [Stop(), Pause()]


def test_who_goes_to_wait_elsewhere_is_fetched_for_what_is_there() -> None:
    """It came between his last look and his going."""
    inbox = Inbox()
    inbox.put(Stop())
    calls: list[None] = []
    with inbox.fetched(lambda: calls.append(None)):
        assert len(calls) == 1

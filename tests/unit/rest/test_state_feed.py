"""A feed passes on each change of the states to each listener, and looks only while somebody listens."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hearth.rest import state_feed
from hearth.rest.state_feed import StateFeed, TooManyListeners

SOON = 0.005


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test on an event loop, for ten seconds at most."""
    asyncio.run(asyncio.wait_for(test(), 10))


def test_listeners_get_all_states_and_then_what_changes() -> None:
    """New, changed and removed ones; a listener that comes later gets the present ones."""
    states = {"a": 1, "b": 1}
    feed = StateFeed(lambda: dict(states), SOON)

    async def test() -> None:
        one = feed.follow()
        assert await anext(one) == {"connectors": {"a": 1, "b": 1}, "removed": []}
        del states["b"]
        states.update(a=2, c=3)
        assert await anext(one) == {"connectors": {"a": 2, "c": 3}, "removed": ["b"]}
        other = feed.follow()
        assert await anext(other) == {"connectors": {"a": 2, "c": 3}, "removed": []}
        states["a"] = 4
        assert await anext(one) == await anext(other) == {"connectors": {"a": 4}, "removed": []}
        await one.aclose()
        await other.aclose()

    run(test)


def test_nobody_looks_without_listeners() -> None:
    """A new listener wakes the feed again."""
    looks = itertools.count()
    seen = [0]

    def look() -> dict[str, int]:
        seen[0] = next(looks)
        return {"looks": seen[0]}

    feed = StateFeed(look, SOON)

    async def test() -> None:
        for _ in range(2):
            follower = feed.follow()
            await anext(follower)
            await anext(follower)
            await follower.aclose()
            await asyncio.sleep(10 * SOON)
            before = seen[0]
            await asyncio.sleep(20 * SOON)
            assert seen[0] == before

    run(test)


def test_end_ends_every_stream_from_another_thread() -> None:
    """Those that wait for a change as well as those with unread ones."""
    feed = StateFeed(dict, SOON)

    async def test() -> None:
        followers = [feed.follow() for _ in range(3)]
        for each in followers:
            await anext(each)
        waiting = [asyncio.create_task(anext(each, "ended")) for each in followers]
        await asyncio.sleep(SOON)
        await asyncio.to_thread(feed.end)
        assert await asyncio.gather(*waiting) == ["ended"] * 3

    run(test)


def test_a_listener_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stream ends, so that its client begins anew; others go on."""
    monkeypatch.setattr(state_feed, "MOST_WAITING", 2)
    number = iter(range(10_000))
    feed = StateFeed(lambda: {"a": next(number)}, SOON)

    async def test() -> None:
        slow, quick = feed.follow(), feed.follow()
        await anext(slow)
        for _ in range(8):
            assert await anext(quick) is not None
        found = [each async for each in slow]
        assert len(found) <= 2
        assert await anext(quick) is not None
        await quick.aclose()

    run(test)


def test_a_quiet_feed_says_that_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a proxy does not close the connection."""
    monkeypatch.setattr(state_feed, "QUIET_SECONDS", SOON)
    feed = StateFeed(dict, SOON)

    async def test() -> None:
        follower = feed.follow()
        await anext(follower)
        assert await anext(follower) is None
        await follower.aclose()

    run(test)


def test_a_change_is_encoded_once() -> None:
    """However many listen; all states are encoded for each listener that comes."""
    encoded: list[Any] = []
    states = {"a": 1}

    def encode(change: Any) -> int:
        encoded.append(change)
        return len(encoded)

    feed = StateFeed(lambda: dict(states), SOON, encode)

    async def test() -> None:
        followers = [feed.follow() for _ in range(3)]
        assert [await anext(each) for each in followers] == [1, 2, 3]
        states["a"] = 2
        assert [await anext(each) for each in followers] == [4, 4, 4]
        for each in followers:
            await each.aclose()

    run(test)
    assert encoded[3] == {"connectors": {"a": 2}, "removed": []}


def test_a_look_that_raises_does_not_silence_the_feed(caplog: pytest.LogCaptureFixture) -> None:
    """Listeners get the next change; the log has the reason."""
    numbers = itertools.count()

    def look() -> dict[str, int]:
        if (number := next(numbers)) == 1:
            raise KeyError("no")
        return {"a": max(1, number)}

    feed = StateFeed(look, SOON)

    async def test() -> None:
        follower = feed.follow()
        await anext(follower)
        assert await anext(follower) == {"connectors": {"a": 2}, "removed": []}
        await follower.aclose()

    run(test)
    assert "cannot be read now, listeners wait: KeyError('no')" in caplog.text


def test_there_are_only_so_many_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves makes room."""
    monkeypatch.setattr(state_feed, "MOST_LISTENERS", 1)
    feed = StateFeed(dict, SOON)

    async def test() -> None:
        first = feed.follow()
        await anext(first)
        with pytest.raises(TooManyListeners):
            await anext(feed.follow())
        await first.aclose()
        second = feed.follow()
        await anext(second)
        await second.aclose()

    run(test)

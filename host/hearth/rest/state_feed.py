"""Tells listeners how the states of connectors change, while there are listeners."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

log = logging.getLogger(__name__)

States = Mapping[str, Any]
"""The state of each connector by its name."""

LOOK_SECONDS = 0.5
QUIET_SECONDS = 15.0
"""Time without a change after which listeners hear that the feed still works."""
MOST_LISTENERS = 100
MOST_WAITING = 100
"""Changes that a listener may leave unread; it is dropped with the next one."""


class TooManyListeners(Exception):
    """There are as many listeners as a worker serves."""


class StateFeed:
    """Looks at the states twice a second, in a thread, and passes on what has changed.

    Use it on one event loop; only `end` may be called from any thread.
    """

    def __init__(
        self,
        look: Callable[[], States],
        look_seconds: float = LOOK_SECONDS,
        encode: Callable[[Mapping[str, Any]], Any] = lambda change: change,
    ) -> None:
        """``encode`` makes what listeners get of a change, once for all of them."""
        self._look, self._encode = look, encode
        self._look_seconds = look_seconds
        self._states: States = {}
        self._listeners: set[asyncio.Queue[Any]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_ended = False

    async def follow(self) -> AsyncGenerator[Any, None]:
        """Yield all states, then the changes, with None where nothing changed for a while, until the feed ends.

        Each is encoded from a map with `connectors`, the changed states by name, and `removed`, a list of names.
        Raises TooManyListeners before the first.
        """
        if len(self._listeners) >= MOST_LISTENERS:
            raise TooManyListeners
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Any] = asyncio.Queue(MOST_WAITING)
        if self._watch is None:
            self._states = await asyncio.to_thread(self._look)
        self._listeners.add(queue)
        if self._watch is None:
            self._watch = asyncio.create_task(self._watching())
        try:
            yield self._encode({"connectors": self._states, "removed": []})
            while queue in self._listeners and not self._has_ended:
                try:
                    found = await asyncio.wait_for(queue.get(), QUIET_SECONDS)
                except asyncio.TimeoutError:
                    yield None
                    continue
                if found is None:
                    return
                yield found
        finally:
            self._listeners.discard(queue)

    def end(self) -> None:
        """End all streams; may be called from any thread."""
        self._has_ended = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        for queue in list(self._listeners):
            self._drop(queue)

    def _drop(self, queue: asyncio.Queue[Any]) -> None:
        """End one stream."""
        self._listeners.discard(queue)
        if queue.full():
            queue.get_nowait()
        queue.put_nowait(None)

    async def _watching(self) -> None:
        """Look until there are no more listeners."""
        while self._listeners and not self._has_ended:
            await asyncio.sleep(self._look_seconds)
            before = self._states
            try:
                self._states = await asyncio.to_thread(self._look)
            except Exception as error:
                log.warning("the states of connectors cannot be read now, listeners wait: %r", error)
                continue
            changed = {name: each for name, each in self._states.items() if before.get(name) != each}
            removed = [name for name in before if name not in self._states]
            if changed or removed:
                self._tell(self._encode({"connectors": changed, "removed": removed}))
        self._watch = None

    def _tell(self, change: Any) -> None:
        for queue in list(self._listeners):
            if queue.full():  # its client does not read: it gets all states when it comes again
                self._drop(queue)
            else:
                queue.put_nowait(change)

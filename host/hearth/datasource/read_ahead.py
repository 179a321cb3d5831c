"""Reads items ahead on a separate thread while earlier ones are being used."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ReadAhead(Generic[T]):
    """Yields the items of a generator, which runs ahead by up to about ``most`` bytes as measured by ``size``.

    The generator runs and closes on one thread, which ends before this iterator does. To stop early, close the
    iterator: ``stop`` is called and must make the generator end soon.
    """

    def __init__(
        self, items: Generator[T, None, None], size: Callable[[T], int], most: int, stop: Callable[[], None]
    ) -> None:
        self._items, self._size, self._most, self._stop = items, size, most, stop
        self._changed = threading.Condition()
        self._made: deque[T] = deque()
        self._bytes = 0
        self._is_wanted = True
        self._has_ended = False
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[T]:
        """Yield the items once, then raise the error that ended the generator, if any."""
        thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)  # must not block process exit
        thread.start()
        try:
            while (made := self._next()) is not None:
                yield made
        finally:
            with self._changed:
                self._is_wanted = False
                self._changed.notify_all()
            self._stop()
            thread.join()
        if self._error is not None:
            raise self._error

    def _next(self) -> T | None:
        with self._changed:
            self._changed.wait_for(lambda: self._made or self._has_ended)
            if not self._made:
                return None
            item = self._made.popleft()
            self._bytes -= self._size(item)
            self._changed.notify_all()
            return item

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._keep(item):
                    break
            self._items.close()
        except BaseException as error:  # noqa: BLE001  (raised again on the consumer's thread)
            self._error = error
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _keep(self, item: T) -> bool:
        """Add an item, and wait while the buffer is full; returns whether the consumer wants more."""
        with self._changed:
            self._made.append(item)
            self._bytes += self._size(item)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._bytes < self._most or not self._is_wanted)
            return self._is_wanted

"""What is wanted next is made while what came before is being used, by a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ReadAhead(Generic[T]):
    """Yields what a generator yields, and has it made ahead, up to about ``most`` bytes by what ``size`` says.

    All of the generator runs on one thread, its end as well, which is over when this ends. Who wants no more closes
    the iterator: ``stop`` is called, and is to have the generator end soon.
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
        """Yield what is made, once, and raise at last what ended that."""
        thread = threading.Thread(target=self._run, name="read-ahead", daemon=True)  # a process may end before it
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
        except BaseException as error:  # noqa: BLE001  (it is raised where the items are wanted)
            self._error = error
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _keep(self, item: T) -> bool:
        """Add an item, and wait while there is enough; returns whether more is wanted."""
        with self._changed:
            self._made.append(item)
            self._bytes += self._size(item)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._bytes < self._most or not self._is_wanted)
            return self._is_wanted

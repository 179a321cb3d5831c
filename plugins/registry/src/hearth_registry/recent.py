"""An LRU cache with expiry."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the most recently used values.

    At most `size` values (none with 0), each for `ttl` seconds after it was put; a negative `ttl` means no expiry. Not
    thread-safe.
    """

    def __init__(self, size: int, ttl: float = -1, clock: Callable[[], float] = time.monotonic) -> None:
        """Start empty."""
        self._size = size
        self._ttl = ttl
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, None if it is missing or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._ttl >= 0 and self._clock() >= entry[1]:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V) -> V:
        """Keep a value, and return it."""
        if self._size > 0:
            self._entries[key] = (value, self._clock() + self._ttl if self._ttl >= 0 else 0.0)
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return value

    def clear(self) -> None:
        """Remove all values."""
        self._entries.clear()

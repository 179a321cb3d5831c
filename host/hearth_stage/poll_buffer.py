"""What a source hands over: how far ahead of the runtime that may be, and what goes together.

A hand-over costs both sides a millisecond, however little there is in it. So what is polled right behind a hand-over
waits for what comes behind it, for a moment; a task that seldom has something is handed over at once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import cast

from hearth_api import SourceRecord
from hearth_stage.channel import ChannelClosed
from hearth_stage.kept_poll import KeptPoll
from hearth_stage.task_call import HandOver, Polled

AHEAD_BYTES = 2 << 20
"""From so many bytes on that the runtime has not dealt with yet, two hand-overs are enough, whatever credit is left.

One is on its way while the one before is sent; more of large ones would fill the memory of both.
"""
APART_SECONDS = 0.005
"""Polls of which one comes back sooner than this behind a hand-over are handed over together, at the latest then."""
FULL_ROWS, FULL_BYTES = 1000, 1 << 18
"""So much is handed over without waiting for more."""


class PollBuffer:
    """What was polled and is not handed over yet, and the credit for that.

    Polls are made on one thread. What waits goes with the next poll that finds its time over, or, where the task is
    still in that, from a thread that is begun for it; plugins are not called there.
    """

    def __init__(
        self,
        send: Callable[[HandOver], None],
        make: Callable[[list[SourceRecord]], list[Polled]],
        fail: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``send`` is called by one thread at a time, in the order of the polls, and ``make`` for what was kept.

        ``fail`` hears what the thread begun for that has come across, while the task may still be in its poll.
        """
        self._send, self._make, self._fail, self._clock = send, make, fail, clock
        self._credit = 0
        self._ahead: deque[int] = deque()
        """The bytes of each hand-over that the runtime has not dealt with yet."""
        self._waiting: list[Polled | KeptPoll] = []
        self._rows = self._bytes = 0
        self._due = 0.0
        self._failure: Exception | None = None
        """What was told: nothing goes any more, or what came behind that would go without it."""
        self._is_over = False
        self._thread: threading.Thread | None = None
        self._is_asleep = False
        """Whether the thread waits for somebody to wake it: else it looks by itself, at the latest when it is due."""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @property
    def has_room(self) -> bool:
        """Return whether there is credit for another poll; what waits has taken its own."""
        is_far_ahead = len(self._ahead) > 1 and sum(self._ahead) >= AHEAD_BYTES
        return self._credit > bool(self._waiting) and not is_far_ahead

    def add_credit(self, count: int) -> None:
        """Take more credit: one for each hand-over the runtime has room for, and then for each it has dealt with."""
        with self._lock:
            self._credit += count
            for _ in range(min(count, len(self._ahead))):
                self._ahead.popleft()

    def may_wait(self, rows: int = 0) -> bool:
        """Return whether so many more rows than there are, if they came now, would wait for others."""
        return self._rows + rows < FULL_ROWS and self._credit > 1 and self._clock() < self._due

    def add(self, polled: Sequence[Polled | KeptPoll], *, at_once: bool) -> None:
        """Take in what a poll returned, and hand it over now or with what comes soon; raises what was told already."""
        with self._lock:
            self._verify()
            self._waiting += polled
            self._rows += sum(each.num_rows for each in polled)
            self._bytes += sum(each.memory for each in polled)
            if at_once or self._bytes >= FULL_BYTES or not self.may_wait():
                self._go()
            elif len(self._waiting) == len(polled):
                self._begin_to_watch()

    def flush(self) -> None:
        """Hand over what waits; raises what was told already."""
        with self._lock:
            self._verify()
            self._go()

    def close(self) -> None:
        """End the thread, if there is one; what still waits is dropped, as if it had not been polled."""
        with self._lock:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _verify(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _go(self) -> None:
        """Hand over what waits, as far as it can be; raises then what is wrong with the poll that comes next."""
        if not self._waiting:
            return
        waiting, self._waiting, self._rows, self._bytes = self._waiting, [], 0, 0
        made, failure = list[Polled](), None
        try:
            for each in self._made(waiting):
                made.append(each)
        except Exception as error:
            failure = error
        if made:
            polled = _joined(made)
            self._credit -= 1
            self._ahead.append(sum(each.size for each in polled))
            self._due = self._clock() + APART_SECONDS
            self._send(HandOver.of(polled))
        if failure is not None:
            raise failure

    def _made(self, waiting: Sequence[Polled | KeptPoll]) -> Iterator[Polled]:
        """Yield what has waited, that which was kept as columns: of all together, or of each where one is at fault."""
        for is_kept, run in groupby(waiting, lambda each: isinstance(each, KeptPoll)):
            if not is_kept:
                yield from cast("Iterable[Polled]", run)
                continue
            kept = [each.records for each in cast("Iterable[KeptPoll]", run)]
            try:
                together = self._make([*chain.from_iterable(kept)])
            except Exception:
                together = None
            for polled in map(self._make, kept) if together is None else [together]:
                yield from polled

    def _begin_to_watch(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="stage-hand-overs", daemon=True)
            self._thread.start()
        elif self._is_asleep:
            self._changed.notify()

    def _watch(self) -> None:
        with self._lock:
            while not self._is_over:
                left = self._due - self._clock() if self._waiting else None
                if left is None or left > 0:
                    self._is_asleep = left is None
                    self._changed.wait(left)
                    continue
                try:
                    self._go()
                except ChannelClosed:
                    return
                except Exception as error:
                    self._failure = error
                    with contextlib.suppress(ChannelClosed):
                        self._fail(error)
                    return


def _joined(polled: Iterable[Polled]) -> list[Polled]:
    """Return what several polls returned as if one had returned it all, as far as no step made anything of it."""
    joined: list[Polled] = []
    for form, run in groupby(polled, lambda each: each.form):
        parts = list(run)
        if form is not None and len(parts) > 1:
            parts = [Polled.join([each.origins for each in parts])]
        joined += parts
    return joined

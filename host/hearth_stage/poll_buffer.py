"""Buffers what a source hands over: limits how far it is ahead of the runtime, and joins polls.

A hand-over costs each side a millisecond, however small it is. So a poll that quickly follows a hand-over waits a
moment for further polls; a poll after a pause is handed over at once.
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
from hearth_stage.poll_times import NO_POLLS
from hearth_stage.task_call import HandOver, Polled

AHEAD_BYTES = 2 << 20
"""With this many bytes that the runtime has not processed, two hand-overs are enough, whatever the credit.

One is sent while the other is processed; more large ones would only fill the memory of both sides.
"""
APART_SECONDS = 0.005
"""Polls that return within this time of a hand-over are handed over together, when it ends at the latest."""
FULL_ROWS, FULL_BYTES = 1000, 1 << 18
"""Rows and bytes that are handed over without waiting for more."""


class PollBuffer:
    """Polls that are not handed over yet, and the credit for them.

    Polls are made on one thread. Buffered polls are sent with the next poll after their delay or, while the task is
    still in that poll, from a separate thread, which does not call plugins.
    """

    def __init__(
        self,
        send: Callable[[HandOver], None],
        make: Callable[[list[SourceRecord]], list[Polled]],
        fail: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``send`` is called by one thread at a time, in the order of the polls; ``make`` converts kept records.

        ``fail`` is called with an error of the separate thread, possibly while the task is still in its poll.
        """
        self._send, self._make, self._fail, self._clock = send, make, fail, clock
        self._credit = 0
        self._ahead: deque[int] = deque()
        """Bytes of each hand-over that the runtime has not processed yet."""
        self._waiting: list[Polled | KeptPoll] = []
        self._rows = self._bytes = 0
        self._times = NO_POLLS
        self._due = 0.0
        self._failure: Exception | None = None
        """The reported error: nothing is sent after it."""
        self._is_over = False
        self._thread: threading.Thread | None = None
        self._is_asleep = False
        """Whether the thread waits to be notified; otherwise it wakes when the delay ends."""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @property
    def has_room(self) -> bool:
        """Return whether there is credit for another poll, besides that of the buffered ones."""
        is_far_ahead = len(self._ahead) > 1 and sum(self._ahead) >= AHEAD_BYTES
        return self._credit > bool(self._waiting) and not is_far_ahead

    def add_credit(self, count: int) -> None:
        """Add credit: first one per hand-over that the runtime has room for, then one per processed hand-over."""
        with self._lock:
            self._credit += count
            for _ in range(min(count, len(self._ahead))):
                self._ahead.popleft()

    def may_wait(self, rows: int = 0) -> bool:
        """Return whether that many additional rows would be buffered now."""
        return self._rows + rows < FULL_ROWS and self._credit > 1 and self._clock() < self._due

    def add(self, polled: Sequence[Polled | KeptPoll], *, at_once: bool, seconds: float = 0.0) -> None:
        """Add the result of a poll that took so long; send it now or with the next ones.

        Raises an error that was reported.
        """
        rows = sum(each.num_rows for each in polled)
        with self._lock:
            self._verify()
            self._waiting += polled
            self._rows += rows
            self._times = self._times.add(rows, seconds)
            self._bytes += sum(each.memory for each in polled)
            if at_once or self._bytes >= FULL_BYTES or not self.may_wait():
                self._go()
            elif len(self._waiting) == len(polled):
                self._begin_to_watch()

    def flush(self) -> None:
        """Send what is buffered; raises an error that was reported."""
        with self._lock:
            self._verify()
            self._go()

    def close(self) -> None:
        """End the separate thread, if it runs; drops what is buffered, as if it had not been polled."""
        with self._lock:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _verify(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _go(self) -> None:
        """Send the buffered polls up to the first that cannot be converted, then raise its error."""
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
            times, self._times = self._times, NO_POLLS
            self._send(HandOver.of(polled, times))
        if failure is not None:
            raise failure

    def _made(self, waiting: Sequence[Polled | KeptPoll]) -> Iterator[Polled]:
        """Yield the buffered polls, converting kept ones together, or one by one if that fails."""
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
    """Join consecutive polls that no step has transformed."""
    joined: list[Polled] = []
    for form, run in groupby(polled, lambda each: each.form):
        parts = list(run)
        if form is not None and len(parts) > 1:
            parts = [Polled.join([each.origins for each in parts])]
        joined += parts
    return joined

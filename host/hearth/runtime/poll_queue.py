"""The queue of what a source's stage sent; its polls are joined and converted ahead of their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hearth.runtime.pipeline import Prepared
from hearth.runtime.task_services import TaskServices
from hearth.staging.source_stage import HandedOver
from hearth_stage.task_call import AddCredit, Polled

JOINED_ROWS = 4000
"""Rows that are processed together if they wait: the overhead of a batch equals a few hundred rows."""
LARGER = 3
"""Factor for quick rows: a batch costs 1 ms, in stages 2 ms, however few rows it has."""
EARLY_BYTES = 4 << 20
"""While the batches being converted hold no more than this, the stage need not wait for them."""


@dataclass
class _End:
    """Marks the end of one hand-over, and whether the stage got its credit."""

    has_credit: bool = False


@dataclass(frozen=True)
class _Begun:
    """A poll that is being or was converted; the first one matches the next result of the conversion."""

    polled: Polled
    memory: int


@dataclass(frozen=True)
class ConvertedPoll:
    """A poll, or several joined ones, and what to send of it."""

    polled: Polled
    prepared: Prepared


class PollQueue:
    """Holds the messages of a source's stage in order, and gives the stage credit for finished hand-overs."""

    def __init__(self, services: TaskServices[Prepared], joined_rows: int = JOINED_ROWS) -> None:
        self._stage, self._pipeline, self._conversion = services.stage, services.pipeline, services.conversion
        self._joined_rows = joined_rows
        self._waiting: deque[Any] = deque()
        self._begun: deque[Any] = deque()
        """Earlier messages, whose records are being converted."""

    @property
    def is_empty(self) -> bool:
        """Return whether all messages are processed."""
        return not self._waiting and not self._begun

    @property
    def is_next_due(self) -> bool:
        """Return whether a message can be processed now."""
        if not self._begun:
            return bool(self._waiting)
        return not isinstance(self._begun[0], _Begun) or self._conversion.is_next_done

    @property
    def is_at_end(self) -> bool:
        """Return whether the polls of a hand-over are all processed, and no message follows them yet."""
        return bool(self._begun) and isinstance(self._begun[0], _End)

    def add(self, message: Any) -> None:
        """Add a message of the stage."""
        if isinstance(message, HandedOver):
            self._waiting += [*message.polled, _End()]
        else:
            self._waiting.append(message)

    def put_first(self, message: Any) -> None:
        """Add a message that is processed before all others."""
        self._begun.appendleft(message)

    def take(self) -> Any:
        """Return the next message, a ``ConvertedPoll`` for a poll; ``None`` at the end of a hand-over.

        Raises what converting a poll raised.
        """
        if self.is_at_end:
            return None
        message = self._begun.popleft()
        return ConvertedPoll(message.polled, self._conversion.take()) if isinstance(message, _Begun) else message

    def convert_ahead(self) -> None:
        """Start to convert waiting polls, as far as there is capacity; a full batch only, if another is in progress.

        The stage gets credit first, because the conversion may block this thread.
        """
        while self._waiting and (not self._begun or self._pipeline.has_stages):
            if not isinstance(self._waiting[0], Polled):
                self._begun.append(self._waiting.popleft())
                self._take_ends()
            elif self._conversion.is_full or (self._conversion.is_busy and not self._is_much_waiting):
                return
            else:
                polled = self._joined(self._waiting.popleft())
                self._begun.append(_Begun(polled, polled.memory))
                self._take_ends()
                self.give_credit()
                self._convert(polled)

    def give_credit(self) -> None:
        """Give the stage credit for finished hand-overs, in one message, because each wakes it."""
        due = [end for end in self._ends_not_waited_for() if not end.has_credit]
        for end in due:
            end.has_credit = True
        if due and self._stage.is_alive:
            self._stage.notify(AddCredit(len(due)))
        while self.is_at_end:
            self._begun.popleft()

    def _take_ends(self) -> None:
        while self._waiting and isinstance(self._waiting[0], _End):
            self._begun.append(self._waiting.popleft())

    def _convert(self, polled: Polled) -> None:
        self._conversion.begin(
            polled.num_rows, lambda: self._pipeline.preparing(polled.results), lambda prepared: prepared()
        )

    @property
    def _is_much_waiting(self) -> bool:
        return sum(item.num_rows for item in self._waiting if isinstance(item, Polled)) >= self._joined_rows

    @property
    def _most_rows(self) -> int:
        """Return how many rows to process together: more while they are quick."""
        return max(self._joined_rows, min(LARGER * self._joined_rows, self._conversion.quick_rows))

    def _ends_not_waited_for(self) -> Iterator[_End]:
        """Yield the ends of hand-overs that are processed, or being converted while these are small.

        A stage that waited for the conversion would poll only when the converters have little left to do.
        """
        held = 0
        for item in self._begun:
            held += item.memory if isinstance(item, _Begun) else 0
            if held > EARLY_BYTES:
                return
            if isinstance(item, _End):
                yield item

    def _joined(self, polled: Polled) -> Polled:
        """Join a poll with those that wait, as if a single poll had returned all.

        A hand-over is joined whole or not at all, except the first: a transaction ends between two.
        """
        groups, end, count, rows, is_own = [polled.origins], 0, 1, polled.num_rows, True
        most = self._most_rows
        for place, item in enumerate(self._waiting, 1):
            if isinstance(item, _End):
                end, count, is_own = place, len(groups), False
                continue
            rows += item.num_rows if _may_join(polled, item) else most
            if rows > most:
                break
            groups.append(item.origins)
            if is_own:
                end, count = place, len(groups)
        if count == 1:
            return polled
        over = [self._waiting.popleft() for _ in range(end)]
        self._waiting.extendleft(item for item in over if isinstance(item, _End))
        return Polled.join(groups[:count])


def _may_join(polled: Polled, item: Any) -> bool:
    """Return whether a message is a poll that may be joined with an earlier one."""
    return isinstance(item, Polled) and item.form == polled.form is not None

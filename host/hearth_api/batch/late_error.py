"""Errors of rows that are made when somebody looks at one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class LateErrors(Mapping[int, Exception]):
    """The errors of rows by their places, for `PartlyFailed`: those that are `made`, and those made on demand.

    Where failures are tolerated and nobody hears of them, no error is looked at. So a batch method that finds its
    failed rows without an exception for each adds them together, with a function that returns the error of one. Such
    an error is no `RetriableError`. The function may be called on another thread, after the batch method has returned
    or the plugin has been closed, and more than once.
    """

    def __init__(self) -> None:
        """Begin without errors."""
        self.made: dict[int, Exception] = {}
        self._makers: dict[int, Callable[[int], Exception]] = {}

    def __setitem__(self, place: int, error: Exception) -> None:
        """Take the error of a row."""
        self.made[place] = error

    def add(self, places: Any, make: Callable[[int], Exception]) -> None:
        """Take rows, as a numpy array of their places, and what makes the error of one, given its place."""
        self._makers |= dict.fromkeys(places.tolist(), make)

    def add_part(self, errors: LateErrors, places: Any) -> None:
        """Take the errors of a part of the batch; the numpy array `places` holds the place of each row, ascending."""
        self.made |= {int(places[place]): error for place, error in errors.made.items()}
        self.add(places[list(errors._makers)], lambda place: errors[int(places.searchsorted(place))])

    def __getitem__(self, place: int) -> Exception:
        """Return the error of a row."""
        return self.made[place] if place in self.made else self._makers[place](place)

    def __iter__(self) -> Iterator[int]:
        """Return the places of the failed rows."""
        return itertools.chain(self.made, self._makers)

    def __len__(self) -> int:
        """Return how many rows failed."""
        return len(self.made) + len(self._makers)

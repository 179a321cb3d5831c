"""Row errors that are created on access."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class LateErrors(Mapping[int, Exception]):
    """The errors of rows by their indexes, for `PartlyFailed`: existing ones, and ones created on demand.

    If failures are tolerated and not reported, no error is ever read. So a batch method that finds failed rows without
    an exception for each adds them together, with a function that returns the error of one row. Such an error must not
    be a `RetriableError`. The function may be called on another thread, after the batch method has returned or the
    plugin has been closed, and more than once.
    """

    def __init__(self) -> None:
        """Start without errors."""
        self.made: dict[int, Exception] = {}
        self._makers: dict[int, Callable[[int], Exception]] = {}

    def __setitem__(self, place: int, error: Exception) -> None:
        """Store the error of a row."""
        self.made[place] = error

    def add(self, places: Any, make: Callable[[int], Exception]) -> None:
        """Add rows, as a numpy array of indexes, and a function that returns the error of one index."""
        self._makers |= dict.fromkeys(places.tolist(), make)

    def add_part(self, errors: LateErrors, places: Any) -> None:
        """Add the errors of a part of the batch; the numpy array `places` holds the index of each row, ascending."""
        self.made |= {int(places[place]): error for place, error in errors.made.items()}
        self.add(places[list(errors._makers)], lambda place: errors[int(places.searchsorted(place))])

    def __getitem__(self, place: int) -> Exception:
        """Return the error of a row."""
        return self.made[place] if place in self.made else self._makers[place](place)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indexes of the failed rows."""
        return itertools.chain(self.made, self._makers)

    def __len__(self) -> int:
        """Return the number of failed rows."""
        return len(self.made) + len(self._makers)

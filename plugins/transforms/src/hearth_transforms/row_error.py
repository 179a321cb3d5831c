"""Errors of single rows of a column, found together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from hearth_api import ConnectError, DataError
from hearth_api.batch import frameless

X = TypeVar("X")
Y = TypeVar("Y")


class RowErrors(DataError):
    """Some rows of a column fail, each with an error of its own; what becomes of the others is not told."""

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        """Take the errors by the places of their rows."""
        super().__init__(str(errors[min(errors)]))
        self.errors = errors


def each(change: Callable[[X], Y], values: Iterable[X]) -> list[Y]:
    """Return what a function makes of each value; raises RowErrors with all that fail."""
    made: list[Any] = []
    errors: dict[int, Exception] = {}
    for place, value in enumerate(values):
        try:
            made.append(change(value))
        except ConnectError as error:
            errors[place] = frameless(error)
    if errors:
        raise RowErrors(errors)
    return made

"""Collects the errors of single rows of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hearth_api import ConnectError, DataError
from hearth_api.batch import LateErrors, frameless

X = TypeVar("X")
Y = TypeVar("Y")


class RowErrors(DataError):
    """Some rows of a column fail, each with its own error; the results of the other rows are not included."""

    def __init__(self, errors: LateErrors) -> None:
        """Keep the errors by row index."""
        super().__init__(str(errors[min(errors)]))
        self.errors = errors

    def placed(self, places: Any) -> RowErrors:
        """Return the errors with the row indexes of an enclosing column."""
        errors = LateErrors()
        errors.add_part(self.errors, places)
        return RowErrors(errors)


def each(change: Callable[[X], Y], values: Iterable[X]) -> list[Y]:
    """Apply a function to each value; raise RowErrors with all failures."""
    made: list[Any] = []
    errors = LateErrors()
    for place, value in enumerate(values):
        try:
            made.append(change(value))
        except ConnectError as error:
            errors[place] = frameless(error)
    if errors:
        raise RowErrors(errors)
    return made


def error_of(change: Callable[[Any], Any], value: Any) -> Exception:
    """Return the error that a function raises for a value."""
    try:
        change(value)
    except ConnectError as error:
        return frameless(error)
    raise AssertionError(f"{value!r} does not fail")

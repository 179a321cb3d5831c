"""Errors of single rows of a column, found together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hearth_api import ConnectError, DataError
from hearth_api.batch import LateErrors, frameless

X = TypeVar("X")
Y = TypeVar("Y")


class RowErrors(DataError):
    """Some rows of a column fail, each with an error of its own; what becomes of the others is not told."""

    def __init__(self, errors: LateErrors) -> None:
        """Take the errors by the places of their rows."""
        super().__init__(str(errors[min(errors)]))
        self.errors = errors

    def placed(self, places: Any) -> RowErrors:
        """Return the errors where the column is a part of another one, in which its rows have these places."""
        errors = LateErrors()
        errors.add_part(self.errors, places)
        return RowErrors(errors)


def each(change: Callable[[X], Y], values: Iterable[X]) -> list[Y]:
    """Return what a function makes of each value; raises RowErrors with all that fail."""
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
    """Return the error with which a function fails for a value."""
    try:
        change(value)
    except ConnectError as error:
        return frameless(error)
    raise AssertionError(f"{value!r} does not fail")

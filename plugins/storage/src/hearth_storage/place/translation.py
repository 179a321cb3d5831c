"""Turns the errors of a store's library into those of a place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from hearth_api import ConnectError
from hearth_storage.place.place import NameTaken, Place

P = ParamSpec("P")
R = TypeVar("R")


def translating(
    taken: type[Exception], raised: tuple[type[Exception], ...], translate: Callable[[str, Exception], ConnectError]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a place's methods.

    An error of type `taken` becomes `NameTaken` for the first argument, others of the types `raised` become what
    `translate` returns for the address of the place and the error.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(*args, **kwargs)
            except taken as error:
                raise NameTaken(str(args[1])) from error
            except raised as error:
                raise translate(cast(Place, args[0]).address, error) from error

        return call

    return decorate

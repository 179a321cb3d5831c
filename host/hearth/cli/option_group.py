"""Several options of a command as one decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

C = TypeVar("C", bound=Any)


def options(*added: Callable[[Any], Any]) -> Callable[[C], C]:
    """Return a decorator that adds options to a command, in their order on its help page."""

    def add(command: C) -> C:
        for option in reversed(added):
            command = option(command)
        return command

    return add

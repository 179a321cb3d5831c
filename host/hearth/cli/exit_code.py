"""Exit codes of the commands."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hearth_api import ConfigError, ConnectError, NotFoundError


class ExitCode(IntEnum):
    """The exit code of a command; prints as its number, as ``IntEnum`` does from Python 3.11 on."""

    __str__ = int.__repr__

    OK = 0
    RUNTIME = 1
    BAD_INPUT = 2
    ENVIRONMENT = 3
    INTERRUPTED = 130


EXIT_CODES: Sequence[tuple[type[ConnectError], ExitCode]] = (
    (ConfigError, ExitCode.BAD_INPUT),
    (NotFoundError, ExitCode.BAD_INPUT),
    (ConnectError, ExitCode.RUNTIME),
)
"""The first match wins; an error code that starts with "environment." is about the machine, whatever the class."""


def exit_code(error: ConnectError) -> ExitCode:
    """Return the exit code for an error."""
    if error.code.startswith("environment."):
        return ExitCode.ENVIRONMENT
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))

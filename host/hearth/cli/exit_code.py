"""What a command tells its caller by its end."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hearth_api import ConfigError, ConnectError, NotFoundError


class ExitCode(IntEnum):
    """How a command went; printed it is its number, as such enumerations are from Python 3.11 on."""

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
"""First match wins; a code that begins with "environment." is about the machine, whatever the class."""


def exit_code(error: ConnectError) -> ExitCode:
    """Return the exit code that belongs to an error."""
    if error.code.startswith("environment."):
        return ExitCode.ENVIRONMENT
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))

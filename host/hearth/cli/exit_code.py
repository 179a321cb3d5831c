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
    DIFFERENCES = 4
    TIMEOUT = 5
    INTERRUPTED = 130


EXIT_CODES: Sequence[tuple[type[ConnectError], ExitCode]] = (
    (ConfigError, ExitCode.BAD_INPUT),
    (NotFoundError, ExitCode.BAD_INPUT),
    (ConnectError, ExitCode.RUNTIME),
)
"""The first match wins, after the area of the error's code."""
_AREAS = {"environment": ExitCode.ENVIRONMENT, "timeout": ExitCode.TIMEOUT}
"""What the first word of an error's code decides, whatever its class: about this machine, and time over."""


def exit_code(error: ConnectError) -> ExitCode:
    """Return the exit code for an error."""
    area, is_dotted, _ = error.code.partition(".")
    if is_dotted and area in _AREAS:
        return _AREAS[area]
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))

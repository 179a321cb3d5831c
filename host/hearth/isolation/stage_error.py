"""Errors of a stage process itself; an error that its plugins raise is a ``RemoteError``."""

from __future__ import annotations

import errno
import os
import platform

from hearth.foundation.descriptor import FILES_HINT, OUT_OF_FILES
from hearth_api import PluginError


class StageDied(PluginError):
    """The stage process ended while it was needed; its last words are in the trace."""

    code = "stage.died"

    def __init__(self, name: str, status: int | None, words: str) -> None:
        super().__init__(f"the stage process of {name} {_how(status)}")
        self.trace = f"{self}\nits last words:\n{words}" if words else f"{self}, without a word"


class StageOverLimit(StageDied):
    """The stage process exceeded a limit and was killed; others are not affected."""

    code = "stage.limit"

    def __init__(self, name: str, excess: str, words: str) -> None:
        PluginError.__init__(self, f"the stage process of {name} was ended: {excess}", hint="raise the limit")
        self.trace = f"{self}\nits last words:\n{words}" if words else str(self)


def _how(status: int | None) -> str:
    """Return in words how a process ended."""
    if status is None:
        return "ended with unknown status, because its fork server ended too"
    return f"was killed by signal {-status}" if status < 0 else f"exited with {status}"


class StageNotStarted(PluginError):
    """The system did not start the stage process, or lacks the program of its environment."""

    code = "stage.start"

    def __init__(self, name: str, error: OSError) -> None:
        is_full = error.errno in OUT_OF_FILES
        place = "" if is_full or error.filename is None else f": {os.fsdecode(error.filename)!r}"
        hint = FILES_HINT if is_full else None
        if error.errno == errno.ENOENT:
            hint = f"install this program on {platform.node()} at the same path, its environment names it"
        super().__init__(f"the stage process of {name} was not started: {error.strerror or error}{place}", hint=hint)
        self.trace = f"{self}\n{hint}" if hint else str(self)


class EnvironmentMissing(PluginError):
    """This machine lacks a directory of the environment, which Spark or a shared disk provides."""

    code = "environment.missing"
    hint = (
        "restart the task if this machine shares the host's disk, as the host builds it again; "
        "otherwise restart the host, as Spark sends files to an executor once"
    )

    def __init__(self, name: str, bundle: str, path: str) -> None:
        super().__init__(f"the environment of {bundle or name} is not on {platform.node()}: {path!r} is missing")
        self.trace = f"{self}\n{self.hint}"


class StageBroken(PluginError):
    """The stage process sent a message that violates the protocol, and was ended."""

    code = "stage.protocol"

    def __init__(self, name: str, fault: str, words: str) -> None:
        super().__init__(f"the stage process of {name} broke the protocol and was ended: {fault}")
        self.trace = f"{self}\nits last words:\n{words}" if words else str(self)


class StageTimeout(PluginError):
    """The stage process did not answer in time."""

    code = "stage.timeout"

    def __init__(self, name: str, op: str, seconds: float, stacks: str, words: str) -> None:
        super().__init__(f"the stage process of {name} did not answer {op!r} within {seconds:g} s")
        self.op = op
        where = f"\nits threads:\n{stacks}" if stacks else "\nit did not report its threads"
        self.trace = f"{self}{where}" + (f"\nits last words:\n{words}" if words else "")

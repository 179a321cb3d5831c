"""What can go wrong with a stage process as such; what its plugins raise is a ``RemoteError``."""

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
    """The stage process took more than it may, and was ended for it, alone."""

    code = "stage.limit"

    def __init__(self, name: str, excess: str, words: str) -> None:
        PluginError.__init__(self, f"the stage process of {name} was ended: {excess}", hint="raise the limit")
        self.trace = f"{self}\nits last words:\n{words}" if words else str(self)


def _how(status: int | None) -> str:
    """Return in words how a process ended."""
    if status is None:
        return "ended, and so did its fork server, which alone could tell how"
    return f"was killed by signal {-status}" if status < 0 else f"exited with {status}"


class StageNotStarted(PluginError):
    """The machine does not let the stage process start, or lacks the program that the environment names."""

    code = "stage.start"

    def __init__(self, name: str, error: OSError) -> None:
        is_full = error.errno in OUT_OF_FILES
        place = "" if is_full or error.filename is None else f": {os.fsdecode(error.filename)!r}"
        hint = FILES_HINT if is_full else None
        if error.errno == errno.ENOENT:
            hint = f"its environment names this program, which {platform.node()} has to have at the same path"
        super().__init__(f"the stage process of {name} was not started: {error.strerror or error}{place}", hint=hint)
        self.trace = f"{self}\n{hint}" if hint else str(self)


class EnvironmentMissing(PluginError):
    """This machine lacks a directory of the environment, which Spark or a shared disk has to bring."""

    code = "environment.missing"
    hint = (
        "restart the task where this machine shares the host's disk, for the host builds it again; "
        "restart the host where it does not, for Spark brings to an executor what that lacks once"
    )

    def __init__(self, name: str, bundle: str, path: str) -> None:
        super().__init__(f"the environment of {bundle or name} is not on {platform.node()}: {path!r} is missing")
        self.trace = f"{self}\n{self.hint}"


class StageBroken(PluginError):
    """The stage process said something that the protocol does not know, so it was ended."""

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
        where = f"\nwhat it was doing:\n{stacks}" if stacks else "\nit did not even say what it was doing"
        self.trace = f"{self}{where}" + (f"\nits last words:\n{words}" if words else "")

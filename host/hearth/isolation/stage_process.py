"""The process of a stage, as its owner has it: one that was started for it, be it of Python or of another program."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from io import BufferedIOBase
from typing import Protocol, cast

from hearth.foundation.child_signal import OwnProgram
from hearth.foundation.lasting_thread import on_lasting_thread
from hearth_stage.lineage import end_lineage, found, new_lineage


class StageProcess(Protocol):
    """A process that leads a session and a group of its own, and does not outlive its owner."""

    pid: int
    output: BufferedIOBase
    """Where all that it writes can be read."""
    has_ended: bool
    """Whether it is known to have ended; asked for again and again."""

    @property
    def lineage(self) -> int | None:
        """Return by which number it and all that it has started are told from others, where that can be done."""

    def end(self, grace: float) -> int | None:
        """Wait for its end, by force after ``grace`` seconds, and kill what is left of what it has started.

        Returns its exit status, the number of a signal below zero, or ``None`` where nobody knows. May be called from
        any thread, again.
        """


class StartedProcess:
    """A process that was started for one stage; raises ``OSError`` where that cannot be done.

    One that ``is_ours`` lets signals in by itself. It keeps its ``claim`` to be the first of its environment, if it
    has one, until its end.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        connection: int,
        claim: socket.socket | None = None,
        *,
        is_ours: bool = True,
    ) -> None:
        self._claim = claim
        self._group = threading.Lock()
        self._is_group_ended = False
        self._process = on_lasting_thread(lambda: _spawn(command, variables, connection, is_ours=is_ours))
        self.pid = self._process.pid
        self.lineage = new_lineage()
        found(self.lineage, self.pid)
        self.output = cast(BufferedIOBase, self._process.stdout)
        self.has_ended = False

    def end(self, grace: float) -> int | None:
        """Wait for its end, by force after ``grace`` seconds; returns its status."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self._end_lineage()
        status = self._process.wait()
        self.has_ended = True
        if self._claim is not None:
            self._claim.close()
        return status

    def _end_lineage(self) -> None:
        """Kill what is left of what it has started, once: later the number may be that of somebody else's group."""
        with self._group:
            if self._is_group_ended:
                return
            self._is_group_ended = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            end_lineage(self.lineage)


def _spawn(
    command: Sequence[str], variables: Mapping[str, str], connection: int, *, is_ours: bool
) -> subprocess.Popen[bytes]:
    return (OwnProgram if is_ours else subprocess.Popen)(
        command,
        env=variables,
        stdin=connection,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

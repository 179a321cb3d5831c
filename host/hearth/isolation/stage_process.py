"""The process of a stage that was started for it, a Python one or another program, from its owner's point of view."""

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
    """A process that leads its own session and group and does not outlive its owner."""

    pid: int
    output: BufferedIOBase
    """Its standard and error output."""
    has_ended: bool
    """Whether it is known to have ended; read often."""

    @property
    def lineage(self) -> int | None:
        """Return the number that identifies it and its descendants, if the system has one."""

    def end(self, grace: float) -> int | None:
        """Wait for it to end, kill it after ``grace`` seconds, and kill the remaining processes that it started.

        Returns its exit status, a negative signal number, or ``None`` if the status is unknown. May be called from any
        thread and more than once.
        """


class StartedProcess:
    """A process started for one stage; raises ``OSError`` if it cannot be started.

    One that ``is_ours`` unblocks signals itself. It holds ``claim``, as the first of its environment, until it ends.
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
        """Wait for it to end; kills it after ``grace`` seconds. Returns its exit status."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self._end_lineage()
        status = self._process.wait()
        self.has_ended = True
        if self._claim is not None:
            self._claim.close()
        return status

    def _end_lineage(self) -> None:
        """Kill its remaining descendants, once: later its number may be another group's."""
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

"""A stage process that the fork server of its environment forked, from its owner's point of view.

An owner looks for the fork server of an environment at an address that it shares with all processes forked from the
same one (``fork_server_directory``), such as the workers of an executor. The address is an abstract Unix socket: the
kernel binds it to one process at a time and frees it when that process ends. If no process listens there, the owner
binds the address, starts the fork server and passes it the socket.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BufferedIOBase
from typing import cast

from hearth.foundation.child_signal import OwnProgram
from hearth.foundation.log_context import hand_on
from hearth.isolation.environment import Environment
from hearth.isolation.output import ProcessOutput
from hearth_stage.fork_answer import ForkAnswer, ForkRequest
from hearth_stage.lineage import end_lineage, lineage_of
from hearth_stage.peer_user import is_own, user_of

FORK_SECONDS = 10.0
"""How long a fork server may take to answer; most of it is its own start."""
IDLE_SECONDS = 15.0
"""How long a fork server without stages waits before it exits."""
STATUS_SECONDS = 2.0
"""How long a fork server may take to report the exit status of a process."""
ATTEMPTS = 3


class NotForked(Exception):
    """No process was forked; the argument gives the reason. The stage can be started instead."""


class ForkServerGone(Exception):
    """The fork server ended before it answered."""


@dataclass(frozen=True)
class ForkServerDirectory:
    """Addresses of the fork servers that a process shares with its forks; the servers exit with the last of them."""

    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    """Keeps the addresses apart from those of others, in other containers for example."""
    life: tuple[int, int] = field(default_factory=os.pipe)
    """A pipe: each forked process holds both ends; a fork server reads its end when no process is left."""

    def address(self, *facts: object) -> str:
        """Return the address of the fork server with exactly these facts."""
        described = json.dumps([self.secret, *facts])
        return f"\0hearth-{hashlib.sha256(described.encode()).hexdigest()}"


_directory: ForkServerDirectory | None = None
_directory_lock = threading.Lock()


def fork_server_directory() -> ForkServerDirectory:
    """Return the directory of this process, shared with processes that it forks later."""
    global _directory
    with _directory_lock:
        if _directory is None:
            _directory = ForkServerDirectory()
        return _directory


@cache
def is_able() -> bool:
    """Return whether this machine supports forking: Linux 5.3 or later."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return sys.platform == "linux"


@dataclass(frozen=True)
class ForkPlan:
    """The parameters of a fork server; equal plans share one server."""

    environment: Environment
    variables: Mapping[str, str]
    modules: Sequence[str]
    """Modules that the fork server loads for its stages."""

    def claim_first(self) -> socket.socket | None:
        """Claim to be the only started stage until the socket is closed; ``None`` if another stage holds the claim.

        A single stage shares memory with no other, and a fork server would cost more than it saves.
        """
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            claim.bind(self._address("claim"))
        except OSError:
            claim.close()
            return None
        return claim

    def fork(self, connection: int, name: str) -> ForkedProcess:
        """Fork a process whose connection is a descriptor of this process.

        Raises ``NotForked``, or ``OSError`` if this process or a fork server lacks resources.
        """
        for _ in range(ATTEMPTS):
            control, server = self._found()
            try:
                return ForkedProcess(control, connection, ForkRequest(name, self.environment.confinement.limits))
            except ForkServerGone:
                if server is not None:
                    raise NotForked(f"its fork server exited at once, with status {server.wait()}") from None
            except TimeoutError:
                if server is not None:
                    server.kill()
                raise NotForked(f"its fork server did not answer within {FORK_SECONDS:g} s") from None
        raise NotForked("every fork server ended before it answered")

    def _found(self) -> tuple[socket.socket, subprocess.Popen[bytes] | None]:
        """Connect to the fork server; returns its process as well if this call started it."""
        address = self._address("fork server")
        patient_until = time.monotonic() + FORK_SECONDS
        while (control := connected(address)) is None:
            if (started := self._started(address, fork_server_directory().life[0])) is not None:
                return started
            if time.monotonic() > patient_until:
                raise NotForked("the process that starts its fork server does not respond")
            time.sleep(0.001)
        return control, None

    def _address(self, what: str) -> str:
        here = os.stat(".")
        facts = (self.environment.key, self.environment.start_line(), *self.modules, here.st_dev, here.st_ino)
        return fork_server_directory().address(what, *facts, sorted(self.variables.items()))

    def _started(self, address: str, life: int) -> tuple[socket.socket, subprocess.Popen[bytes]] | None:
        """Start the fork server, unless another process does, and connect before it can exit."""
        with contextlib.ExitStack() as failed, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise NotForked(f"its fork server has no address: {error.strerror}") from error
                return None
            listener.listen(socket.SOMAXCONN)
            if (control := connected(address)) is None:
                return None
            failed.enter_context(control)
            server = OwnProgram(
                [*self.environment.start_line(), "--", str(IDLE_SECONDS), str(life), *self.modules],
                env=self.variables,
                stdin=listener.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[life],
            )
            failed.pop_all()
        threading.Thread(target=_attend, args=(server,), name="fork-server", daemon=True).start()
        return control, server


class ForkedProcess:
    """A process forked for a stage.

    It has its own session, group and descriptors, and ends with its owner: Linux kills it when no process holds the
    pipe ``_lifeline``, and its fork server kills its group when none holds ``_control``. If the fork server is killed,
    the exit status is unknown.
    """

    def __init__(self, control: socket.socket, connection: int, wanted: ForkRequest) -> None:
        """Request the fork; on ``NotForked``, ``ForkServerGone`` or ``TimeoutError`` everything is released."""
        with contextlib.ExitStack() as given, contextlib.ExitStack() as kept:
            self._control = kept.enter_context(control)
            self.output: BufferedIOBase
            self.output, printed = _pipe(kept, given)
            held, self._lifeline = _pipe(given, kept)
            self.pid = self._forked(wanted, [connection, printed.fileno(), held.fileno()])
            self._process = _watched(kept, self.pid)
            self.lineage = lineage_of(self.pid)
            kept.pop_all()
        self._lock = threading.Lock()
        self.has_ended = False
        self._status: int | None = None

    def _forked(self, wanted: ForkRequest, descriptors: list[int]) -> int:
        self._control.settimeout(FORK_SECONDS)
        try:
            socket.send_fds(self._control, [wanted.to_bytes()], descriptors)
            answer = ForkAnswer.receive(self._control)
        except ConnectionError:
            answer = None
        if answer is None:
            raise ForkServerGone
        if answer.pid is None:
            raise NotForked(answer.refusal or f"it exited at once, with status {answer.status}")
        return answer.pid

    def end(self, grace: float) -> int | None:
        """Wait for the process to end; kills it after ``grace`` seconds. Returns its exit status."""
        if grace <= 0:
            self._kill()  # another thread may already wait with more patience
        with self._lock:
            if not self.has_ended:
                if not self._ends_within(grace):
                    self._kill()
                    self._ends_within(None)
                self._status = self._exit_status()
                self.has_ended = True
                for each in (self._control, self._process, self._lifeline):
                    each.close()
            return self._status

    def _ends_within(self, seconds: float | None) -> bool:
        watch = select.poll()
        watch.register(self._process, select.POLLIN)
        return bool(watch.poll(None if seconds is None else max(0, seconds) * 1000))

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, ValueError):  # it has ended
            signal.pidfd_send_signal(self._process.fileno(), signal.SIGKILL)

    def _exit_status(self) -> int | None:
        """Return the exit status that the fork server reports."""
        self._control.settimeout(STATUS_SECONDS)
        with contextlib.suppress(TimeoutError):
            if (answer := ForkAnswer.receive(self._control)) is not None:
                return answer.status
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # in place of the fork server
        if self.lineage is not None:
            end_lineage(self.lineage)
        return None


def connected(address: str) -> socket.socket | None:
    """Return a connection to a process of this user that listens at an address; ``None`` if there is none."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        control.connect(address)
    except ConnectionRefusedError:
        control.close()
        return None
    except BaseException:
        control.close()
        raise
    if not is_own(control):
        user = user_of(control)
        control.close()
        raise NotForked(f"a process of user id {user} listens at the address of its fork server")
    return control


def _attend(server: subprocess.Popen[bytes]) -> None:
    """Log the output of a fork server, what modules print while they load, until it exits."""
    with server:
        ProcessOutput(lambda line: hand_on(line, None)).copy(cast(BufferedIOBase, server.stdout))


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[io.BufferedReader, io.FileIO]:
    """Return the two ends of a pipe, which these stacks close."""
    reads, writes = os.pipe()
    return reader.enter_context(open(reads, "rb")), writer.enter_context(io.FileIO(writes, "wb"))


def _watched(kept: contextlib.ExitStack, pid: int) -> io.FileIO:
    """Return the pidfd of a process, which is not confused with a later process of the same number."""
    try:
        return kept.enter_context(io.FileIO(os.pidfd_open(pid)))
    except ProcessLookupError:
        raise NotForked("it exited at once") from None

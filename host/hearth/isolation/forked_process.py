"""The process of a stage that was forked from the fork server of its environment, as its owner has it.

An owner that needs a stage of an environment looks for its fork server at an address that all processes share which
were forked from one (``fork_server_directory``), such as the workers of an executor. The address is an abstract Unix
socket: the kernel gives it to one process at a time and frees it when that process ends. An owner that finds nobody
there takes the address, starts the fork server and hands it the socket.
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
"""How long a fork server may take to answer; most of that is its own start."""
IDLE_SECONDS = 15.0
"""How long a fork server waits for the next stage when it has none."""
STATUS_SECONDS = 2.0
"""How long a fork server may take to tell how a process ended that is gone."""
ATTEMPTS = 3


class NotForked(Exception):
    """No process was forked; the argument says why, and one may be started instead."""


class ForkServerGone(Exception):
    """The fork server ended before it answered."""


@dataclass(frozen=True)
class ForkServerDirectory:
    """Where a process and all that are forked from it look for fork servers, which end with the last of them."""

    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    """What keeps the addresses from being those of others, in other containers for example."""
    life: tuple[int, int] = field(default_factory=os.pipe)
    """A pipe: whoever was forked holds both ends, a fork server the one that tells it when nobody holds the other."""

    def address(self, *facts: object) -> str:
        """Return the address of a fork server; no other is the same in all these facts."""
        told = json.dumps([self.secret, *facts])
        return f"\0hearth-{hashlib.sha256(told.encode()).hexdigest()}"


_place: ForkServerDirectory | None = None
_placing = threading.Lock()


def fork_server_directory() -> ForkServerDirectory:
    """Return the meeting place of this process, which it shares with those that are forked from it after this."""
    global _place
    with _placing:
        if _place is None:
            _place = ForkServerDirectory()
        return _place


@cache
def is_able() -> bool:
    """Return whether this machine has what it takes: Linux of version 5.3."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return sys.platform == "linux"


@dataclass(frozen=True)
class ForkPlan:
    """What a fork server is started with; two that are equal in all of it are one."""

    environment: Environment
    variables: Mapping[str, str]
    modules: Sequence[str]
    """What its stages are going to load."""

    def claim_first(self) -> socket.socket | None:
        """Claim, until the socket is closed, to be the one stage that is started; ``None`` where another is.

        A stage by itself has nobody to share its memory with, and a fork server beside it would be more than it saves.
        """
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            claim.bind(self._address("claim"))
        except OSError:
            claim.close()
            return None
        return claim

    def fork(self, connection: int, name: str) -> ForkedProcess:
        """Have a process forked whose connection is a descriptor of this process.

        Raises ``NotForked``, and ``OSError`` where this process, or a fork server, lacks what it takes.
        """
        for _ in range(ATTEMPTS):
            control, server = self._found()
            try:
                return ForkedProcess(control, connection, ForkRequest(name, self.environment.confinement.limits))
            except ForkServerGone:
                if server is not None:
                    raise NotForked(f"its fork server ended at once, with {server.wait()}") from None
            except TimeoutError:
                if server is not None:
                    server.kill()
                raise NotForked(f"its fork server did not answer within {FORK_SECONDS:g} s") from None
        raise NotForked("one fork server after the other ended")

    def _found(self) -> tuple[socket.socket, subprocess.Popen[bytes] | None]:
        """Connect to the fork server; returns its process as well where it was started for that."""
        address = self._address("fork server")
        patient_until = time.monotonic() + FORK_SECONDS
        while (control := connected(address)) is None:
            if (started := self._started(address, fork_server_directory().life[0])) is not None:
                return started
            if time.monotonic() > patient_until:
                raise NotForked("whoever starts its fork server does not go on")
            time.sleep(0.001)
        return control, None

    def _address(self, what: str) -> str:
        here = os.stat(".")
        facts = (self.environment.key, self.environment.start_line(), *self.modules, here.st_dev, here.st_ino)
        return fork_server_directory().address(what, *facts, sorted(self.variables.items()))

    def _started(self, address: str, life: int) -> tuple[socket.socket, subprocess.Popen[bytes]] | None:
        """Start the fork server, unless somebody else is doing that, and connect to it before it can have ended."""
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
    """A process that was forked for a stage.

    It has a session, a group and descriptors of its own, and ends with its owner: Linux kills it when nobody holds the
    pipe ``_lifeline``, and its fork server kills all of its group when nobody holds ``_control``. The fork server may
    be killed; then nobody knows how the process ended.
    """

    def __init__(self, control: socket.socket, connection: int, wanted: ForkRequest) -> None:
        """Have it forked; raises ``NotForked``, ``ForkServerGone`` or ``TimeoutError``, and leaves nothing then."""
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
            raise NotForked(answer.refusal or f"it ended at once, with {answer.status}")
        return answer.pid

    def end(self, grace: float) -> int | None:
        """Wait for its end, by force after ``grace`` seconds; returns its status."""
        if grace <= 0:
            self._kill()  # who waits for it already may have more patience
        with self._lock:
            if not self.has_ended:
                if not self._ends_within(grace):
                    self._kill()
                    self._ends_within(None)
                self._status = self._told()
                self.has_ended = True
                for each in (self._control, self._process, self._lifeline):
                    each.close()
            return self._status

    def _ends_within(self, seconds: float | None) -> bool:
        watch = select.poll()
        watch.register(self._process, select.POLLIN)
        return bool(watch.poll(None if seconds is None else max(0, seconds) * 1000))

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, ValueError):  # gone, or known to be
            signal.pidfd_send_signal(self._process.fileno(), signal.SIGKILL)

    def _told(self) -> int | None:
        """Return how it ended, as its fork server says."""
        self._control.settimeout(STATUS_SECONDS)
        with contextlib.suppress(TimeoutError):
            if (answer := ForkAnswer.receive(self._control)) is not None:
                return answer.status
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # which the fork server would have done
        if self.lineage is not None:
            end_lineage(self.lineage)
        return None


def connected(address: str) -> socket.socket | None:
    """Return a connection to whoever has an address, who has to be this user; ``None`` where nobody has."""
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
        raise NotForked(f"somebody else, of the user id {user}, listens where its fork server would")
    return control


def _attend(server: subprocess.Popen[bytes]) -> None:
    """Log what a fork server writes, which is what modules print while they are loaded, until it ends."""
    with server:
        ProcessOutput(lambda line: hand_on(line, None)).copy(cast(BufferedIOBase, server.stdout))


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[io.BufferedReader, io.FileIO]:
    """Return the two ends of a pipe, which these stacks close."""
    reads, writes = os.pipe()
    return reader.enter_context(open(reads, "rb")), writer.enter_context(io.FileIO(writes, "wb"))


def _watched(kept: contextlib.ExitStack, pid: int) -> io.FileIO:
    """Return the descriptor of a process, by which it is told from a later one of its number."""
    try:
        return kept.enter_context(io.FileIO(os.pidfd_open(pid)))
    except ProcessLookupError:
        raise NotForked("it ended at once") from None

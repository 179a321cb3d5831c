"""The fork server of an environment: it loads what every stage needs and forks each of them.

A forked stage starts in milliseconds and shares the memory of the loaded modules. Requests follow ``fork_answer``. The
server serves its own user only, does not fork while it has more than one thread, and exits when no stage was requested
for a while or no owner is left. It holds nothing that a stage needs: if it dies, its stages continue, and the next
request starts another server.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import hearth_stage.program  # noqa: F401 - every stage needs it
from hearth_stage.call import prepare
from hearth_stage.fork_answer import MOST_BYTES, ForkAnswer, ForkRequest
from hearth_stage.forked import ITS_END, die_with, entitle
from hearth_stage.limit import LimitNotKept
from hearth_stage.lineage import end_lineage, found, new_lineage
from hearth_stage.operation import FROM_STAGE, TO_STAGE
from hearth_stage.peer_user import is_own
from hearth_stage.preload import LoadedFiles
from hearth_stage.shared_memory import share_memory
from hearth_stage.single_thread import single_threaded, threads

LOAD_SECONDS = 30
"""How long loading the modules may take."""


def load(modules: Iterable[str]) -> None:
    """Load the modules that stages will use; a module that fails is left to the stage that needs it.

    Linux kills this process if that takes too long, whatever a module is doing.
    """
    signal.alarm(LOAD_SECONDS)
    with single_threaded():
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception:
                traceback.print_exc()
    for known in (TO_STAGE, FROM_STAGE):
        prepare(known.all())
    signal.alarm(0)


class NotForkable(Exception):
    """Nothing can be forked; the argument gives the reason."""


@dataclass(frozen=True)
class Fork:
    """A forked process, and the socket on which its owner waits for its exit status."""

    pid: int
    descriptor: int
    """Its pidfd (``pidfd_open``), which becomes readable when it ends."""
    control: socket.socket
    lineage: int

    def kill(self) -> None:
        """Kill the process with its descendants."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # it may not lead a group yet
            os.killpg(self.pid, signal.SIGKILL)
        end_lineage(self.lineage)

    def close(self) -> None:
        """Close this process's descriptors of it."""
        os.close(self.descriptor)
        self.control.close()


class ForkServer:
    """Forks a stage per connection to a listening socket; ``life`` is a pipe that ends with the last owner."""

    def __init__(self, listener: socket.socket, loaded: LoadedFiles, idle_seconds: float, life: int) -> None:
        self._listener = listener
        self._loaded = loaded
        self._idle_seconds = idle_seconds
        self._life = life
        self._asking: dict[int, socket.socket] = {}
        self._forks: dict[int, Fork] = {}
        self._poll = select.poll()
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)

    def serve(self) -> socket.socket:
        """Fork until this process is no longer needed, then exit; returns the connection in each forked process."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._limit[1], self._limit[1]))  # each stage takes two
        entitle(b"fork-server")
        share_memory()
        self._listener.listen(socket.SOMAXCONN)  # a peer sees whose this is: its owner may have ended
        self._poll.register(self._life, ITS_END)
        self._poll.register(self._listener, select.POLLIN)
        while True:
            if (descriptor := self._next()) is None:
                _leave()
            if (connection := self._take(descriptor)) is not None:
                return connection

    def _next(self) -> int | None:
        """Wait for an event; ``None`` ends the server.

        Handles one event at a time: handling it may close a descriptor whose number is then reused.
        """
        is_idle = not self._forks and not self._asking
        if is_idle and self._listener.fileno() < 0:
            return None
        events = self._poll.poll(self._idle_seconds * 1000 if is_idle else None)
        return events[0][0] if events else None

    def _take(self, descriptor: int) -> socket.socket | None:
        """Handle an event; returns a connection in a forked process."""
        if descriptor == self._life:
            self._end()
        elif descriptor == self._listener.fileno():
            self._accept()
        elif descriptor in self._asking:
            return self._answer(self._asking.pop(descriptor))
        elif descriptor in self._forks:
            self._reap(self._forks.pop(descriptor))
        else:
            self._abandon(descriptor)
        return None

    def _accept(self) -> None:
        """Accept an owner of this user; one that cannot be accepted finds no server and starts another.

        The same happens if modules have changed since they were loaded.
        """
        try:
            control, _ = self._listener.accept()
        except OSError:
            self._retire()
            return
        if self._loaded.have_changed():
            self._retire()
            control.close()
            return
        if not is_own(control):
            control.close()
            return
        self._asking[control.fileno()] = control
        self._poll.register(control, select.POLLIN)

    def _retire(self) -> None:
        """Release the address for another server; this one stays for its stages."""
        self._poll.unregister(self._listener)
        self._listener.close()

    def _answer(self, control: socket.socket) -> socket.socket | None:
        """Fork, or send the reason why not; returns the connection in the forked process."""
        self._poll.unregister(control)
        with contextlib.ExitStack() as given:
            try:
                wanted, descriptors = _wanted(control, given)
                wanted.limits.load()
                lineage = new_lineage()
                pid, descriptor = _fork()
            except (OSError, NotForkable) as error:
                with contextlib.suppress(OSError):
                    ForkAnswer(refusal=str(error)).send(control)
                control.close()
                return None
            if pid == 0:
                given.pop_all()
                return self._become(control, wanted, lineage, *descriptors)
        self._forks[descriptor] = Fork(pid, descriptor, control, lineage)
        self._poll.register(descriptor, select.POLLIN)
        self._poll.register(control, ITS_END)
        return None

    def _become(
        self, control: socket.socket, wanted: ForkRequest, lineage: int, connection: int, output: int, lifeline: int
    ) -> socket.socket:
        """Set up a stage's process, without the descriptors of the fork server and of other stages."""
        try:
            os.setsid()
            found(lineage)
            self._listener.close()
            os.close(self._life)
            for fork in self._forks.values():
                fork.close()
            for other in self._asking.values():
                other.close()
            for standard in (1, 2):
                os.dup2(output, standard)
            os.close(output)
            die_with(lifeline)
            resource.setrlimit(resource.RLIMIT_NOFILE, self._limit)
            entitle(wanted.name.encode())
            pid = os.getpid()
            wanted.limits.impose(kept=[lifeline])
            reset_after_fork()
            ForkAnswer(pid=pid).send(control)
            control.close()
            return socket.socket(fileno=connection)
        except LimitNotKept as error:
            os.write(2, f"{error}\n".encode())
            os._exit(1)
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # in any case there must be no second server

    def _reap(self, fork: Fork) -> None:
        """Send a process's exit status to its owner, after killing its group, whose number is still reserved."""
        self._poll.unregister(fork.descriptor)
        with contextlib.suppress(KeyError):  # its owner may be gone as well
            self._poll.unregister(fork.control)
        fork.kill()
        _, status = os.waitpid(fork.pid, 0)
        with contextlib.suppress(OSError):
            ForkAnswer(status=os.waitstatus_to_exitcode(status)).send(fork.control)
        fork.close()

    def _abandon(self, descriptor: int) -> None:
        """Kill the process whose owner has gone."""
        self._poll.unregister(descriptor)
        for fork in self._forks.values():
            if fork.control.fileno() == descriptor:
                fork.kill()

    def _end(self) -> None:
        for fork in self._forks.values():
            fork.kill()
        _leave()


def _leave() -> NoReturn:
    """Exit at once: threads of loaded modules may never end and are not waited for."""
    if threads() > 1:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)
    sys.exit()


def _wanted(control: socket.socket, given: contextlib.ExitStack) -> tuple[ForkRequest, list[int]]:
    """Return the request and its three descriptors, which the stack closes."""
    message, descriptors, _, _ = socket.recv_fds(control, MOST_BYTES, 3, socket.MSG_CMSG_CLOEXEC)
    for each in descriptors:
        given.callback(os.close, each)
    if len(descriptors) < 3:
        raise NotForkable("its fork server has too many open files, or the request lacks descriptors")
    return ForkRequest.from_bytes(message), descriptors


def _fork() -> tuple[int, int]:
    """Fork; returns the new process and its pidfd, zeroes in the child.

    Refuses while there is another thread: a lock that it holds would never be released in the child.
    """
    if (others := threads() - 1) > 0:
        raise NotForkable(f"the modules that its fork server has loaded run {others} threads")
    spare = os.dup(0)  # reserves the descriptor of the pidfd
    pid = os.fork()
    os.close(spare)
    return pid, os.pidfd_open(pid) if pid else 0


def reset_after_fork() -> None:
    """Reset the state that a forked process must not share: random numbers and cached import paths."""
    if (numbers := sys.modules.get("numpy.random")) is not None:
        numbers.seed()  # the standard library seeds its own generator at every fork
    importlib.invalidate_caches()

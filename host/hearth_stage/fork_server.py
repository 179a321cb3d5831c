"""The fork server of an environment: a process that has loaded what every stage of it needs, and becomes each of them.

A stage that is forked starts in milliseconds and shares the memory of what was loaded. Who wants one says so as
``fork_answer`` tells. It serves nobody but its own user, has one thread, or forks nothing, and ends when nobody has
wanted a stage for a while or nobody is left who could. It holds nothing that a stage needs: where it dies, its stages
go on, and another one is started for the next.
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

import hearth_stage.program  # noqa: F401 - what every stage needs
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
"""How long modules may take to be loaded."""


def load(modules: Iterable[str]) -> None:
    """Load what stages are going to load; one that cannot be loaded is left to the stage that needs it.

    Linux ends this process where that takes too long, whatever a module is doing then.
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
    """Nothing can be forked here; the argument says why."""


@dataclass(frozen=True)
class Fork:
    """A process that was forked, and the socket on which its owner waits to hear of its end."""

    pid: int
    descriptor: int
    """What tells of its end: a process descriptor (``pidfd_open``)."""
    control: socket.socket
    lineage: int

    def kill(self) -> None:
        """Kill it with all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # it may not lead a group yet
            os.killpg(self.pid, signal.SIGKILL)
        end_lineage(self.lineage)

    def close(self) -> None:
        """Close what this process has of it."""
        os.close(self.descriptor)
        self.control.close()


class ForkServer:
    """Forks a stage for each connection to a listening socket; ``life`` is a pipe that ends with all its owners."""

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
        """Fork until nobody needs this process, which ends then; returns the connection in each forked one."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._limit[1], self._limit[1]))  # each stage takes two
        entitle(b"fork-server")
        share_memory()
        self._listener.listen(socket.SOMAXCONN)  # who connects sees whose this is: its owner may have ended
        self._poll.register(self._life, ITS_END)
        self._poll.register(self._listener, select.POLLIN)
        while True:
            if (descriptor := self._next()) is None:
                _leave()
            if (connection := self._take(descriptor)) is not None:
                return connection

    def _next(self) -> int | None:
        """Wait for something to do; ``None`` is the end.

        One thing at a time: what it closes may be the number of something else when the next is looked at.
        """
        is_idle = not self._forks and not self._asking
        if is_idle and self._listener.fileno() < 0:
            return None
        events = self._poll.poll(self._idle_seconds * 1000 if is_idle else None)
        return events[0][0] if events else None

    def _take(self, descriptor: int) -> socket.socket | None:
        """Do what there is to do; returns a connection in a process that was forked."""
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
        """Take an owner, who is this user's; one that cannot be taken finds nobody here, and starts another server.

        So does one whose stage would find loaded what has been changed since.
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
        """Leave the address to another server; this one stays for its stages."""
        self._poll.unregister(self._listener)
        self._listener.close()

    def _answer(self, control: socket.socket) -> socket.socket | None:
        """Fork, or say why not; returns the connection in the process that was forked."""
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
        """Be a stage's process, from which everything of the fork server and of its other stages is gone."""
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
            begin_anew()
            ForkAnswer(pid=pid).send(control)
            control.close()
            return socket.socket(fileno=connection)
        except LimitNotKept as error:
            os.write(2, f"{error}\n".encode())
            os._exit(1)
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # whatever happens, there is no second server

    def _reap(self, fork: Fork) -> None:
        """Tell the owner how a process ended, after what it started was killed: its number is still its group's."""
        self._poll.unregister(fork.descriptor)
        with contextlib.suppress(KeyError):  # its owner may be gone as well
            self._poll.unregister(fork.control)
        fork.kill()
        _, status = os.waitpid(fork.pid, 0)
        with contextlib.suppress(OSError):
            ForkAnswer(status=os.waitstatus_to_exitcode(status)).send(fork.control)
        fork.close()

    def _abandon(self, descriptor: int) -> None:
        """Kill the process of an owner that is gone."""
        self._poll.unregister(descriptor)
        for fork in self._forks.values():
            if fork.control.fileno() == descriptor:
                fork.kill()

    def _end(self) -> None:
        for fork in self._forks.values():
            fork.kill()
        _leave()


def _leave() -> NoReturn:
    """End this process: threads that something it loaded has started may never end, and are not waited for."""
    if threads() > 1:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)
    sys.exit()


def _wanted(control: socket.socket, given: contextlib.ExitStack) -> tuple[ForkRequest, list[int]]:
    """Return what is wanted and the three descriptors that are given to it, which the stack closes."""
    message, descriptors, _, _ = socket.recv_fds(control, MOST_BYTES, 3, socket.MSG_CMSG_CLOEXEC)
    for each in descriptors:
        given.callback(os.close, each)
    if len(descriptors) < 3:
        raise NotForkable("its fork server has too many open files, or was not told which to take")
    return ForkRequest.from_bytes(message), descriptors


def _fork() -> tuple[int, int]:
    """Fork; returns the new process and its descriptor, zeroes in it.

    Not where there is another thread: a lock that it holds would be held for ever in the new process.
    """
    if (others := threads() - 1) > 0:
        raise NotForkable(f"what its fork server has loaded for all stages runs {others} threads")
    spare = os.dup(0)  # or the new process could be there and not to be watched
    pid = os.fork()
    os.close(spare)
    return pid, os.pidfd_open(pid) if pid else 0


def begin_anew() -> None:
    """Give a forked process what one that was started has of its own: random numbers, a fresh look at its files."""
    if (numbers := sys.modules.get("numpy.random")) is not None:
        numbers.seed()  # the standard library's own generator is seeded at every fork
    importlib.invalidate_caches()

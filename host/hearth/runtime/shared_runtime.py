"""A process of an executor in which tasks run beside each other, each on a thread; their plugins share stages, too.

Spark's worker of such a task (``run_shared``) brings it there and waits. So Spark places, counts and ends each task as
it does any other, and what it ends is a process that does nothing: the task hears of that by the end of a connection.
The process is forked from the first worker that finds nobody at an address that all workers of one daemon share
(``fork_server_directory``). It ends after a while without a task, and with the daemon.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import resource
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict

from hearth.foundation.log_context import about, label_of
from hearth.isolation.environment import Environment
from hearth.isolation.forked_process import ForkServerDirectory, NotForked, connected, fork_server_directory, is_able
from hearth.isolation.stage_tenant import TenantStages
from hearth.runtime.end import RunEnd
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.launcher import RunLoss, TaskLaunch
from hearth.runtime.task import run_task
from hearth.runtime.task_log import TaskLog
from hearth_execution.failure import cut
from hearth_stage.forked import ITS_END, die_with, entitle
from hearth_stage.peer_user import is_own
from hearth_stage.single_thread import threads

log = logging.getLogger(__name__)

IDLE_SECONDS = 15.0
"""How long the process waits for the next task when it has none."""
MEET_SECONDS = 30.0
"""How long it may take until there is such a process, and until it has taken a task."""
DESCRIPTORS = 32
"""How many open files one task has at most, mostly: its link, its clients of Kafka, its worker."""
ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
ENDED = "the process that ran it has ended, which it shared with other tasks"
_LAUNCH_BYTES = 64 << 10
_TAKEN, _REFUSED = b"taken", b"full"

Found = Callable[[Environment], Environment]


def run_shared(launch: TaskLaunch, found: Found, task_log: TaskLog) -> RunLoss | None:
    """Have a task run in the process that it shares, and return when its run is over, as ``run_task`` does.

    Where that cannot be had it runs here, alone.
    """
    try:
        with _admitted(launch, found, task_log) as control:
            return _outcome(control)
    except (NotForked, OSError) as error:
        with about(label_of(launch.connector, launch.task)):
            log.warning("the task has a process of its own: %s", error)
    return run_task(launch, found, task_log)


def _admitted(launch: TaskLaunch, found: Found, task_log: TaskLog) -> socket.socket:
    """Bring a task to its process; returns the connection by whose end that hears of the end of this one."""
    if not is_able():
        raise NotForked("processes are shared on Linux 5.3 and later")
    for _ in range(ATTEMPTS):
        with contextlib.ExitStack() as failed:
            control = failed.enter_context(_met(launch.shares, found, task_log))
            answer = _asked(control, launch)
            if answer == _TAKEN:
                failed.pop_all()
                return control
            if answer == _REFUSED:
                raise NotForked("the process that it would share has as many open files or threads as it may have")
    raise NotForked("the processes that it would share have ended one after the other")


def _asked(control: socket.socket, launch: TaskLaunch) -> bytes:
    """Return what the process says to a task; nothing where it has just ended, for want of tasks."""
    control.settimeout(MEET_SECONDS)
    try:
        control.send(launch.to_json().encode(), socket.MSG_NOSIGNAL)
        answer = control.recv(_LAUNCH_BYTES)
    except ConnectionError:
        return b""
    control.settimeout(None)
    return answer


def _outcome(control: socket.socket) -> RunLoss | None:
    with contextlib.suppress(ConnectionError):
        if told := control.recv(_LAUNCH_BYTES):
            loss = json.loads(told)
            return None if loss is None else RunLoss(**loss)
    return RunLoss(ENDED, was_shared=True)


def _met(shares: str, found: Found, task_log: TaskLog) -> socket.socket:
    """Connect to the process for all who say the same of whom they share it with, which is begun where there is none.

    Raises ``NotForked``, and ``OSError`` where this machine lacks what it takes.
    """
    address = fork_server_directory().address("task runtime", shares)
    patient_until = time.monotonic() + MEET_SECONDS
    while (control := connected(address)) is None:
        if (control := _begun(address, found, task_log)) is not None:
            return control
        if time.monotonic() > patient_until:
            raise NotForked("whoever begins the process that it would share does not go on")
        time.sleep(0.001)
    return control


def _begun(address: str, found: Found, task_log: TaskLog) -> socket.socket | None:
    """Begin the process, unless somebody else is doing that, and connect to it before it can have ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return None
        if (others := threads() - 1) > 0:
            raise NotForked(f"the process that it would share cannot be forked, there are {others} threads")
        listener.listen(socket.SOMAXCONN)
        control = connected(address)
        if (middle := os.fork()) == 0:
            _become(listener, fork_server_directory(), found, task_log)
        os.waitpid(middle, 0)
        return control


def _become(listener: socket.socket, place: ForkServerDirectory, found: Found, task_log: TaskLog) -> None:
    """Be the process that tasks share: a child of the daemon, for the worker that forks it ends with its own task."""
    status = 1
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        entitle(b"task-runtime")
        _let_go_of_all_but({0, 1, 2, listener.fileno(), *place.life})
        os.close(place.life[1])
        die_with(os.open(f"/proc/self/fd/{place.life[0]}", os.O_RDONLY | os.O_NONBLOCK))
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        SharedRuntime(listener, found, task_log, most // DESCRIPTORS, IDLE_SECONDS).serve()
        status = 0
    except BaseException:
        log.exception("the process that tasks share ends")
    finally:
        os._exit(status)  # whatever happens, nobody goes on as the worker


def _let_go_of_all_but(kept: set[int]) -> None:
    """Hold nothing of the worker's open any more, Spark's connection above all; the numbers stay taken."""
    empty = os.open(os.devnull, os.O_RDWR)
    for each in map(int, os.listdir("/proc/self/fd")):
        if each not in kept:
            with contextlib.suppress(OSError):  # the one by which the folder was read
                os.dup2(empty, each)


class SharedRuntime:
    """Runs tasks that are brought to a listening socket, at most so many, until there has been none for a while."""

    def __init__(
        self, listener: socket.socket, found: Found, task_log: TaskLog, most: int, idle_seconds: float
    ) -> None:
        self._listener = listener
        self._found, self._task_log = found, task_log
        self._most = most
        self._idle_seconds = idle_seconds
        self._stages = TenantStages()
        self._visitors: dict[int, socket.socket] = {}
        self._runs: dict[int, _Run] = {}
        self._poll = select.poll()

    def serve(self) -> None:
        """Take tasks until nobody has brought one for a while."""
        self._poll.register(self._listener, select.POLLIN)
        while True:
            is_idle = not self._runs and not self._visitors
            events = self._poll.poll(self._idle_seconds * 1000 if is_idle else None)
            if not events and is_idle:
                break
            for descriptor, _ in events:
                self._take(descriptor)
        self._listener.close()
        self._stages.close()

    def _take(self, descriptor: int) -> None:
        if descriptor == self._listener.fileno():
            self._accept()
        elif (visitor := self._visitors.pop(descriptor, None)) is not None:
            self._poll.unregister(descriptor)
            self._admit(visitor)
        else:
            self._poll.unregister(descriptor)
            self._runs.pop(descriptor).leave()

    def _accept(self) -> None:
        try:
            visitor, _ = self._listener.accept()
        except OSError as error:  # it has as many open files as it may have
            log.error("no task can be brought to the process that tasks share: %s", error)
            time.sleep(_PAUSE_SECONDS)
            return
        if not is_own(visitor):
            visitor.close()
            return
        self._visitors[visitor.fileno()] = visitor
        self._poll.register(visitor, select.POLLIN)

    def _admit(self, visitor: socket.socket) -> None:
        """Begin the run of a task, or say that there is no room for it: too few files or threads may be had."""
        with contextlib.suppress(OSError):  # whoever brought it is gone
            told = visitor.recv(_LAUNCH_BYTES)
            if told and len(self._runs) < self._most and self._begin(visitor, TaskLaunch.from_json(told.decode())):
                return
            visitor.send(_REFUSED, socket.MSG_NOSIGNAL)
        visitor.close()

    def _begin(self, visitor: socket.socket, launch: TaskLaunch) -> bool:
        run = _Run(launch, visitor)
        try:
            run.begin(lambda: run_task(launch, self._found, self._task_log, run.end, self._stages.open))
        except RuntimeError:  # this machine has no thread left
            return False
        self._runs[visitor.fileno()] = run
        self._poll.register(visitor, ITS_END)
        return True


class _Run:
    """One task that runs here, and the connection to who has brought it."""

    def __init__(self, launch: TaskLaunch, control: socket.socket) -> None:
        self.launch = launch
        self._control = control
        self._label = label_of(launch.connector, launch.task)
        self._lock = threading.Lock()
        self._is_last = False
        with about(self._label):
            self.end = RunEnd(launch.name, EventQueue())

    def begin(self, run: Callable[[], RunLoss | None]) -> None:
        """Say that it is taken, and run it, on a thread of its own; raises ``RuntimeError`` where there is none.

        Whoever does not hear that it is taken runs it himself.
        """
        threading.Thread(target=self._execute, args=[run], name=self.launch.name, daemon=True).start()

    def leave(self) -> None:
        """Take note that its worker is gone: after the end of the run, or because Spark has ended it."""
        if not self.end.is_over:
            self.end.on_lost("Spark has ended its worker")
        self._close()

    def _execute(self, run: Callable[[], RunLoss | None]) -> None:
        try:
            loss = run() if self._tell(_TAKEN) else None
        except BaseException as error:  # whatever it is, whoever waits for its end hears of it
            with about(self._label):
                log.exception("the run has broken off")
            loss = RunLoss(cut(f"{type(error).__name__}: {error}", 1000))
        self.end.complete()  # also where it has not even begun
        self._tell(json.dumps(loss and asdict(loss)).encode())
        self._close()

    def _tell(self, told: bytes) -> bool:
        """Tell the worker something; returns whether it is there to be told."""
        try:
            self._control.send(told, socket.MSG_NOSIGNAL)
        except OSError:
            return False
        return True

    def _close(self) -> None:
        """Close the connection when neither the run nor whoever watches it needs it any more."""
        with self._lock:
            if self._is_last:
                self._control.close()
            self._is_last = True

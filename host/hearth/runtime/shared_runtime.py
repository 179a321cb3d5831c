"""A shared process of an executor: tasks run in it on threads, and their plugins share stage processes.

A Spark worker (``run_shared``) hands its task to the process and waits. So Spark places, counts and kills each task
like any other. What it kills is a process that only waits: the task notices by the end of a connection. The first
worker that finds no process at an address, which all workers of one daemon share (``fork_server_directory``), forks
it. It ends after a while without a task, and with the daemon.
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
"""Seconds that the process waits for the next task when it has none."""
MEET_SECONDS = 30.0
"""Timeout in seconds for the process to start, and for it to accept a task."""
DESCRIPTORS = 32
"""Most open files of one task, normally: its link, its Kafka clients, its worker."""
ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
ENDED = "the process that it shared with other tasks ended"
_LAUNCH_BYTES = 64 << 10
_TAKEN, _REFUSED = b"taken", b"full"

Found = Callable[[Environment], Environment]


def run_shared(launch: TaskLaunch, found: Found, task_log: TaskLog) -> RunLoss | None:
    """Run a task in its shared process; return when its run ends, as ``run_task`` does.

    If that is not possible the task runs in this process, alone.
    """
    try:
        with _hand_over(launch, found, task_log) as control:
            return _outcome(control)
    except (NotForked, OSError) as error:
        with about(label_of(launch.connector, launch.task)):
            log.warning("the task runs in its own process: %s", error)
    return run_task(launch, found, task_log)


def _hand_over(launch: TaskLaunch, found: Found, task_log: TaskLog) -> socket.socket:
    """Hand a task to its process; return the connection whose end shows the process that this one has ended."""
    if not is_able():
        raise NotForked("sharing processes requires Linux 5.3 or later")
    for _ in range(ATTEMPTS):
        with contextlib.ExitStack() as failed:
            control = failed.enter_context(_connect(launch.shares, found, task_log))
            answer = _send_launch(control, launch)
            if answer == _TAKEN:
                failed.pop_all()
                return control
            if answer == _REFUSED:
                raise NotForked("the shared process has reached its limit of open files or threads")
    raise NotForked(f"the shared process ended {ATTEMPTS} times before it accepted the task")


def _send_launch(control: socket.socket, launch: TaskLaunch) -> bytes:
    """Send a task and return the process's answer; nothing if it has just ended because it was idle."""
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
        if answer := control.recv(_LAUNCH_BYTES):
            loss = json.loads(answer)
            return None if loss is None else RunLoss(**loss)
    return RunLoss(ENDED, was_shared=True)


def _connect(shares: str, found: Found, task_log: TaskLog) -> socket.socket:
    """Connect to the process of a group of tasks, and start it if there is none.

    Raises ``NotForked``, and ``OSError`` if this machine lacks what it needs.
    """
    address = fork_server_directory().address("task runtime", shares)
    deadline = time.monotonic() + MEET_SECONDS
    while (control := connected(address)) is None:
        if (control := _fork(address, found, task_log)) is not None:
            return control
        if time.monotonic() > deadline:
            raise NotForked(f"another worker did not start the shared process within {MEET_SECONDS:g} s")
        time.sleep(0.001)
    return control


def _fork(address: str, found: Found, task_log: TaskLog) -> socket.socket | None:
    """Start the process, unless another worker does, and connect before it can end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return None
        if (others := threads() - 1) > 0:
            raise NotForked(f"the shared process cannot be forked: this process has {others} other threads")
        listener.listen(socket.SOMAXCONN)
        control = connected(address)
        if (middle := os.fork()) == 0:
            _run_forked(listener, fork_server_directory(), found, task_log)
        os.waitpid(middle, 0)
        return control


def _run_forked(listener: socket.socket, place: ForkServerDirectory, found: Found, task_log: TaskLog) -> None:
    """Run the shared process: a child of the daemon, because the worker that forks it ends with its own task."""
    status = 1
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        listener.listen(socket.SOMAXCONN)  # again, so that clients see the credentials of this process
        entitle(b"task-runtime")
        _close_all_but({0, 1, 2, listener.fileno(), *place.life})
        os.close(place.life[1])
        die_with(os.open(f"/proc/self/fd/{place.life[0]}", os.O_RDONLY | os.O_NONBLOCK))
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        SharedRuntime(listener, found, task_log, most // DESCRIPTORS, IDLE_SECONDS).serve()
        status = 0
    except BaseException:
        log.exception("the shared process ends")
    finally:
        os._exit(status)  # never continue as the worker


def _close_all_but(kept: set[int]) -> None:
    """Replace the worker's open files, such as Spark's connection, by ``/dev/null``; their numbers stay in use."""
    empty = os.open(os.devnull, os.O_RDWR)
    for each in map(int, os.listdir("/proc/self/fd")):
        if each not in kept:
            with contextlib.suppress(OSError):  # the descriptor of the directory listing
                os.dup2(empty, each)


class SharedRuntime:
    """Runs tasks that arrive at a listening socket, at most ``most``, until there were none for a while."""

    def __init__(
        self, listener: socket.socket, found: Found, task_log: TaskLog, most: int, idle_seconds: float
    ) -> None:
        self._listener = listener
        self._found, self._task_log = found, task_log
        self._most = most
        self._idle_seconds = idle_seconds
        self._stages = TenantStages()
        self._workers: dict[int, socket.socket] = {}
        self._runs: dict[int, _Run] = {}
        self._poll = select.poll()

    def serve(self) -> None:
        """Accept tasks until none arrived for a while."""
        self._poll.register(self._listener, select.POLLIN)
        while True:
            is_idle = not self._runs and not self._workers
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
        elif (worker := self._workers.pop(descriptor, None)) is not None:
            self._poll.unregister(descriptor)
            self._admit(worker)
        else:
            self._poll.unregister(descriptor)
            self._runs.pop(descriptor).leave()

    def _accept(self) -> None:
        try:
            worker, _ = self._listener.accept()
        except OSError as error:  # the limit of open files is reached
            log.error("the shared process cannot accept a task: %s", error)
            time.sleep(_PAUSE_SECONDS)
            return
        if not is_own(worker):
            worker.close()
            return
        self._workers[worker.fileno()] = worker
        self._poll.register(worker, select.POLLIN)

    def _admit(self, worker: socket.socket) -> None:
        """Start the run of a task, or refuse it if files or threads are short."""
        with contextlib.suppress(OSError):  # the worker is gone
            launch = worker.recv(_LAUNCH_BYTES)
            if launch and len(self._runs) < self._most and self._begin(worker, TaskLaunch.from_json(launch.decode())):
                return
            worker.send(_REFUSED, socket.MSG_NOSIGNAL)
        worker.close()

    def _begin(self, worker: socket.socket, launch: TaskLaunch) -> bool:
        run = _Run(launch, worker)
        try:
            run.begin(lambda: run_task(launch, self._found, self._task_log, run.end, self._stages.open))
        except RuntimeError:  # no thread is available
            return False
        self._runs[worker.fileno()] = run
        self._poll.register(worker, ITS_END)
        return True


class _Run:
    """One task that runs here, and the connection to its worker."""

    def __init__(self, launch: TaskLaunch, control: socket.socket) -> None:
        self.launch = launch
        self._control = control
        self._label = label_of(launch.connector, launch.task)
        self._lock = threading.Lock()
        self._is_last = False
        with about(self._label):
            self.end = RunEnd(launch.name, EventQueue())

    def begin(self, run: Callable[[], RunLoss | None]) -> None:
        """Confirm the task and run it on a thread; raises ``RuntimeError`` if no thread is available.

        A worker that does not receive the confirmation runs the task itself.
        """
        threading.Thread(target=self._execute, args=[run], name=self.launch.name, daemon=True).start()

    def leave(self) -> None:
        """Handle the end of the worker: after the run, or because Spark killed it."""
        if not self.end.is_over:
            self.end.on_lost("Spark ended its worker")
        self._close()

    def _execute(self, run: Callable[[], RunLoss | None]) -> None:
        try:
            loss = run() if self._send(_TAKEN) else None
        except BaseException as error:  # the worker waits for an answer in any case
            with about(self._label):
                log.exception("the run failed unexpectedly")
            loss = RunLoss(cut(f"{type(error).__name__}: {error}", 1000))
        self.end.complete()  # even if the run has not started
        self._send(json.dumps(loss and asdict(loss)).encode())
        self._close()

    def _send(self, message: bytes) -> bool:
        """Send bytes to the worker; return whether it is still connected."""
        try:
            self._control.send(message, socket.MSG_NOSIGNAL)
        except OSError:
            return False
        return True

    def _close(self) -> None:
        """Close the connection once both the run and ``serve`` are done with it."""
        with self._lock:
            if self._is_last:
                self._control.close()
            self._is_last = True

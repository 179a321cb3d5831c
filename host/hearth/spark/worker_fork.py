"""What Spark's Python daemon does once it has loaded everything: for each connection of Spark it forks a worker.

Spark starts one worker after the other. It holds a lock from its connection until it was told the worker's process id
and that its secret was right, so what happens in between is what a hundred tasks wait for in turn. pyspark's own loop
leaves all of it to the process that was just forked, and where all processors are busy nobody waits longer for one
than a new process. Here the daemon says it, and the worker looks at the secret after that: who does not know it has
heard a number and two letters, and that is all he hears.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

Work = Callable[[socket.socket, bool], int]
"""Runs a worker on its connection to Spark to its end, as ``pyspark.daemon.worker`` does; returns its exit status."""

LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
RETRY_SECONDS = 1.0
_BACKLOG = 1024
_INT_BYTES = 4
_ACCEPTED = b"\0\0\0\2ok"
"""What Spark hears of its secret, as a text with its length before it."""


def fork_workers(work: Work) -> NoReturn:
    """Tell Spark where to connect, then fork workers until it closes the standard input; ends with all of them.

    By that input it also says which of them are to be killed. The calling process has one thread.
    """
    os.setpgid(0, 0)  # of which its workers are, and nobody else
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = _listener()
    watch = select.poll()
    for each in (sys.stdin.fileno(), listener.fileno()):
        watch.register(each, select.POLLIN)
    while True:
        for descriptor, _ in watch.poll():
            if descriptor == listener.fileno():
                _serve(listener, work)
            elif not _kill_one():
                _end(listener)


def _listener() -> socket.socket:
    """Listen where Spark wants that, and tell it by the standard output."""
    if _has_path():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(Path(os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"], f".{uuid4()}.sock")))
        path = listener.getsockname().encode()
        said = len(path).to_bytes(_INT_BYTES, "big") + path
    else:
        family = socket.AF_INET6 if _is_set("SPARK_PREFER_IPV6") else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((LOOPBACK[family], 0))
        said = int(listener.getsockname()[1]).to_bytes(_INT_BYTES, "big")
    listener.listen(_BACKLOG)
    os.write(sys.stdout.fileno(), said)
    return listener


def _kill_one() -> bool:
    """Kill the worker that Spark names; returns whether Spark is there."""
    named = os.read(sys.stdin.fileno(), _INT_BYTES)
    if len(named) < _INT_BYTES:
        return False
    with contextlib.suppress(OSError):  # it has ended
        os.kill(int.from_bytes(named, "big"), signal.SIGKILL)
    return True


def _end(listener: socket.socket) -> NoReturn:
    """End, and all workers as well."""
    if _has_path():
        Path(listener.getsockname()).unlink(missing_ok=True)
    os.kill(0, signal.SIGHUP)
    sys.exit()


def _serve(listener: socket.socket, work: Work) -> None:
    """Fork a worker for a connection that waits, and say so."""
    connection, _ = listener.accept()
    with connection:
        try:
            pid = _fork()
        except OSError as error:
            said = (-(error.errno or 1)).to_bytes(_INT_BYTES, "big", signed=True)
        else:
            if pid == 0:
                _be_worker(listener, connection, work)
            said = pid.to_bytes(_INT_BYTES, "big") + (b"" if _has_path() else _ACCEPTED)
        with contextlib.suppress(OSError):  # Spark has gone, or whoever that was
            connection.sendall(said)


def _fork() -> int:
    """Fork, also where the machine had no process left a moment ago."""
    try:
        return os.fork()
    except BlockingIOError:
        time.sleep(RETRY_SECONDS)
        return os.fork()


def _be_worker(listener: socket.socket, connection: socket.socket, work: Work) -> NoReturn:
    """Be the worker of a connection, and nothing behind that, whatever happens."""
    try:
        listener.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, sys.stdin.fileno())
        os.close(nothing)
        if _has_path() or _knows_secret(connection):
            while work(connection, True) == 0 and os.environ.get("SPARK_REUSE_WORKER"):
                pass
            with contextlib.suppress(OSError):
                while connection.recv(_INT_BYTES):  # what was said is Spark's once Spark closes the connection
                    pass
    except BaseException:  # noqa: BLE001 - there is no second daemon
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _knows_secret(connection: socket.socket) -> bool:
    """Return whether whoever connected has the secret of Spark; reads no byte more."""
    secret = os.environ["PYTHON_WORKER_FACTORY_SECRET"].encode()
    expected = len(secret).to_bytes(_INT_BYTES, "big") + secret
    return hmac.compare_digest(connection.recv(len(expected), socket.MSG_WAITALL), expected)


def _has_path() -> bool:
    """Return whether Spark connects by a file, which says who may: then it shows no secret."""
    return _is_set("PYTHON_UNIX_DOMAIN_ENABLED")


def _is_set(name: str) -> bool:
    return os.environ.get(name, "").lower() == "true"

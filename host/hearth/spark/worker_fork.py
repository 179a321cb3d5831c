"""The main loop of Spark's Python daemon: forks a worker for each connection from Spark.

Spark starts workers one by one. It holds a lock from its connection until it has the worker's process id and the
confirmation of its secret, so a hundred tasks wait for this step in turn. In pyspark's own loop the forked process
sends both, and on a busy machine a new process is scheduled last. Here the daemon sends them, and the worker checks
the secret afterwards: a peer without the secret gets a process id and "ok", and nothing else.
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
"""Runs a worker on its connection to Spark, as ``pyspark.daemon.worker`` does; returns its exit status."""

LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
RETRY_SECONDS = 1.0
_BACKLOG = 1024
_INT_BYTES = 4
_ACCEPTED = b"\0\0\0\2ok"
"""The confirmation of Spark's secret: a string with its length in front."""


def fork_workers(work: Work) -> NoReturn:
    """Send Spark the address to connect to, then fork workers until it closes standard input; exits with all of them.

    Spark also sends the ids of workers to kill by standard input. The calling process has one thread.
    """
    os.setpgid(0, 0)  # a process group of this process and its workers
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
    """Listen as Spark's variables require, and write the address to standard output."""
    if _has_path():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(Path(os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"], f".{uuid4()}.sock")))
        path = listener.getsockname().encode()
        address = len(path).to_bytes(_INT_BYTES, "big") + path
    else:
        family = socket.AF_INET6 if _is_set("SPARK_PREFER_IPV6") else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((LOOPBACK[family], 0))
        address = int(listener.getsockname()[1]).to_bytes(_INT_BYTES, "big")
    listener.listen(_BACKLOG)
    os.write(sys.stdout.fileno(), address)
    return listener


def _kill_one() -> bool:
    """Kill the worker that Spark names; returns False if Spark has closed the input."""
    named = os.read(sys.stdin.fileno(), _INT_BYTES)
    if len(named) < _INT_BYTES:
        return False
    with contextlib.suppress(OSError):  # it has already ended
        os.kill(int.from_bytes(named, "big"), signal.SIGKILL)
    return True


def _end(listener: socket.socket) -> NoReturn:
    """Exit together with all workers."""
    if _has_path():
        Path(listener.getsockname()).unlink(missing_ok=True)
    os.kill(0, signal.SIGHUP)
    sys.exit()


def _serve(listener: socket.socket, work: Work) -> None:
    """Accept a connection, fork a worker for it, and send the worker's process id."""
    connection, _ = listener.accept()
    with connection:
        try:
            pid = _fork()
        except OSError as error:
            answer = (-(error.errno or 1)).to_bytes(_INT_BYTES, "big", signed=True)
        else:
            if pid == 0:
                _be_worker(listener, connection, work)
            answer = pid.to_bytes(_INT_BYTES, "big") + (b"" if _has_path() else _ACCEPTED)
        with contextlib.suppress(OSError):  # the peer has closed the connection
            connection.sendall(answer)


def _fork() -> int:
    """Fork; retry once if the process limit is reached."""
    try:
        return os.fork()
    except BlockingIOError:
        time.sleep(RETRY_SECONDS)
        return os.fork()


def _be_worker(listener: socket.socket, connection: socket.socket, work: Work) -> NoReturn:
    """Run the worker of a connection, and exit in any case."""
    try:
        listener.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, sys.stdin.fileno())
        os.close(nothing)
        if _has_path() or _knows_secret(connection):
            while work(connection, True) == 0 and os.environ.get("SPARK_REUSE_WORKER"):
                pass
            with contextlib.suppress(OSError):
                while connection.recv(_INT_BYTES):  # Spark has read everything once it closes the connection
                    pass
    except BaseException:  # noqa: BLE001 - the fork must never continue as a daemon
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _knows_secret(connection: socket.socket) -> bool:
    """Return whether the peer sends Spark's secret; reads only as many bytes as that has."""
    secret = os.environ["PYTHON_WORKER_FACTORY_SECRET"].encode()
    expected = len(secret).to_bytes(_INT_BYTES, "big") + secret
    return hmac.compare_digest(connection.recv(len(expected), socket.MSG_WAITALL), expected)


def _has_path() -> bool:
    """Return whether Spark connects by a Unix domain socket: its permissions replace the secret."""
    return _is_set("PYTHON_UNIX_DOMAIN_ENABLED")


def _is_set(name: str) -> bool:
    return os.environ.get(name, "").lower() == "true"

"""Workers are forked by Spark's protocol: announced at once, admitted by secret, and killed on request."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.timeouts import TIMEOUT, eventually

SECRET = "what Spark shows its workers"
WAIT = TIMEOUT
_PROGRAM = """
import os
from hearth.spark.worker_fork import fork_workers

def work(connection, is_known):
    while said := connection.recv(100):
        connection.sendall(b"%d %r %s" % (os.getpid(), is_known, said))
    return 0

{before}
fork_workers(work)
"""


@contextmanager
def daemon(before: str = "", **more: str) -> Iterator[tuple[subprocess.Popen[bytes], bytes]]:
    """Start what forks workers; yields it with the four bytes that it says first, and ends it as Spark does."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHON_WORKER_FACTORY_SECRET": SECRET, **more}
    command = [sys.executable, "-c", _PROGRAM.format(before=before)]
    with subprocess.Popen(command, env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        try:
            yield started, started.stdout.read(4)
        finally:
            started.stdin.close()


def connected(sent: bytes) -> socket.socket:
    """Connect as Spark does."""
    return socket.create_connection(("127.0.0.1", int.from_bytes(sent, "big")), WAIT)


def number(connection: socket.socket) -> int:
    """Return the number that comes first."""
    return int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big", signed=True)


def show(connection: socket.socket, secret: str = SECRET) -> None:
    """Show a secret."""
    connection.sendall(len(secret).to_bytes(4, "big") + secret.encode())


def ends(pid: int) -> bool:
    """Wait for the end of a process; returns whether it came."""
    return eventually(lambda: not Path(f"/proc/{pid}").exists(), WAIT)


def test_worker_is_announced_before_it_checks_the_secret() -> None:
    """What follows the secret at once is the worker's to read."""
    with daemon() as (_, sent), connected(sent) as connection:
        pid = number(connection)
        assert connection.recv(6, socket.MSG_WAITALL) == b"\0\0\0\2ok"
        show(connection)
        connection.sendall(b"a task")
        assert connection.recv(100) == f"{pid} True a task".encode()
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)


@pytest.mark.parametrize("secret", ["what Spark shows its workerz", "", "w"])
def test_peer_without_the_secret_gets_no_worker(secret: str) -> None:
    """He has heard a number and two letters."""
    with daemon() as (_, sent), connected(sent) as stranger:
        pid = number(stranger)
        show(stranger, secret)
        stranger.sendall(b"a task")
        stranger.shutdown(socket.SHUT_WR)
        assert ends(pid)
        with connected(sent) as connection:
            assert number(connection) not in (0, pid)


def test_only_the_named_worker_is_killed() -> None:
    """An unknown process id is ignored."""
    with daemon() as (started, sent), connected(sent) as first, connected(sent) as second:
        pids = number(first), number(second)
        show(second)
        assert started.stdin is not None
        for pid in (2**22 + 1, pids[0]):
            started.stdin.write(pid.to_bytes(4, "big"))
            started.stdin.flush()
        assert ends(pids[0])
        second.recv(6, socket.MSG_WAITALL)
        second.sendall(b"on")
        assert second.recv(100).startswith(str(pids[1]).encode())


def test_workers_end_with_spark() -> None:
    """Whatever they do: those that wait for the secret as well."""
    with daemon() as (started, sent), connected(sent) as first, connected(sent) as second:
        pids = number(first), number(second)
        show(first)
    assert started.wait(WAIT) == 0
    assert all(map(ends, pids))


def test_failed_fork_is_reported_as_a_negative_number() -> None:
    """By which Spark fails the one task; the next may be more lucky."""
    lacking = """
import errno
fork, left = os.fork, [1, 1]
def none():
    if left:
        left.pop()
        raise BlockingIOError(errno.EAGAIN, "no process left")
    return fork()
os.fork = none
"""
    with daemon(lacking) as (_, sent):
        with connected(sent) as refused:
            assert number(refused) < 0
            assert refused.recv(1) == b""
        with connected(sent) as connection:
            assert number(connection) > 0


def test_unix_socket_needs_no_secret() -> None:
    """The rights to the file say who may; it goes with the daemon."""
    with TemporaryDirectory() as folder:  # of a short name: that of a socket has a limit
        own = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": folder}
        with daemon(**own) as (started, sent), socket.socket(socket.AF_UNIX) as connection:
            assert started.stdout is not None
            connection.connect(started.stdout.read(int.from_bytes(sent, "big")))
            pid = number(connection)
            connection.sendall(b"a task")
            assert connection.recv(100) == f"{pid} True a task".encode()
        assert started.wait(WAIT) == 0
        assert os.listdir(folder) == []

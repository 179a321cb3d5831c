"""A spare takes over from Spark's daemon, which also works without one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyspark
import pytest

from hearth.spark.spare_daemon import MODULE, SpareDaemon, is_wanted
from tests.timeouts import TIMEOUT, eventually

HOME = str(Path(pyspark.__file__).parent)
SECRET = "what Spark shows its workers"
OURS = {"spark.master": "local[4]", "spark.python.daemon.module": MODULE}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="addresses without files are Linux's")


def variables(**more: str) -> dict[str, str]:
    """Return what Spark's JVM gives its daemon."""
    return {**os.environ, "SPARK_HOME": HOME, "PYTHONPATH": os.pathsep.join(sys.path), **more}


@contextmanager
def daemon(**more: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a daemon as Spark does; yields it with its port, and ends it as Spark does."""
    command = [sys.executable, "-m", MODULE, "pyspark.worker"]
    own = variables(PYTHON_WORKER_FACTORY_SECRET=SECRET, **more)
    with subprocess.Popen(command, env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        try:
            yield started, int.from_bytes(started.stdout.read(4), "big")
        finally:
            started.stdin.close()


def worker(port: int) -> tuple[int, bytes]:
    """Have a worker forked as Spark does; returns its process id, and what it says to the secret."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection, connection.makefile("rb") as answers:
        pid = int.from_bytes(answers.read(4), "big")
        connection.sendall(len(SECRET).to_bytes(4, "big") + SECRET.encode())
        answer = answers.read(int.from_bytes(answers.read(4), "big"))
        return pid, answer if parent(pid) else b""


def parent(pid: int) -> int:
    """Return the parent of a process, 0 where there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except FileNotFoundError:
        return 0


def test_spare_takes_over_from_sparks_daemon() -> None:
    """Its workers get what Spark sent to the original, which waits for the end of the spare and needs no memory."""
    with closing(SpareDaemon(sys.executable, variables())) as spare, daemon(**spare.variables) as (started, port):
        pid, answer = worker(port)
        forked_from = parent(pid)
        spare.close()  # which is no business of a daemon's
        assert (answer, worker(port)[1]) == (b"ok", b"ok")
        assert Path(f"/proc/{started.pid}/comm").read_text() == "cat\n"
        assert forked_from not in (0, started.pid)
        assert parent(forked_from) == os.getpid()
    assert started.wait(TIMEOUT) == 0
    assert eventually(lambda: not parent(forked_from), TIMEOUT)


def test_sparks_own_daemon_serves_without_a_spare() -> None:
    """The spare has ended since the JVM got its address, or another daemon has taken it."""
    spare = SpareDaemon(sys.executable, variables())
    spare.close()
    with closing(SpareDaemon(sys.executable, variables())) as other, daemon(**other.variables) as (_, first):
        for given in (spare.variables, other.variables):
            with daemon(**given) as (started, port):
                pid, answer = worker(port)
                assert (port != first, answer, parent(pid)) == (True, b"ok", started.pid)


@pytest.mark.parametrize(
    ("settings", "home", "wanted"),
    [
        ({}, None, True),
        ({}, HOME, True),
        ({}, "/opt/spark", False),
        ({"spark.master": "local"}, None, True),
        ({"spark.master": "local-cluster[2,1,640]"}, None, False),
        ({"spark.master": "spark://host:7077"}, None, False),
        ({"spark.python.daemon.module": "pyspark.daemon"}, None, False),
        ({"spark.python.use.daemon": "false"}, None, False),
    ],
)
def test_spare_is_used_only_with_a_local_master(settings: dict[str, str], home: str | None, wanted: bool) -> None:
    """Elsewhere, and in another pyspark, Spark starts what a spare here knows nothing of."""
    assert is_wanted({**OURS, **settings}, home, HOME) is wanted

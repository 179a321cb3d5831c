"""How what a process has started is told from others, by real processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from hearth_stage.lineage import end_lineage, found, lineage_of, members, new_lineage
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that keeps the number")

FAMILY = """
import os, subprocess, sys, time
print(os.getpid(), flush=True)
sys.stdin.readline()
subprocess.Popen(["sleep", "1000.36"], start_new_session=True, env={})
subprocess.run("setsid setsid sleep 1000.36 & setsid sh -c 'sleep 1000.36; true' &", shell=True)
print("done", flush=True)
sys.stdin.readline()
"""


def begun(lineage: int | None) -> subprocess.Popen[str]:
    """Begin a family: a process, and four that it starts, of which it knows one."""
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    if lineage is not None:
        found(lineage, process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == [f"{process.pid}\n", "done\n"]
    return process


def test_all_that_a_process_starts_are_of_its_lineage_and_nobody_else() -> None:
    """Those with a session of their own, an empty environment, and a parent that has ended."""
    first, second = new_lineage(), new_lineage()
    with begun(first) as one, begun(second):
        assert eventually(lambda: len(list(members(first))) == len(list(members(second))) == 5, TIMEOUT)
        assert {one.pid} < {*members(first)}
        assert lineage_of(one.pid) == first
        assert lineage_of() not in (first, second)
        end_lineage(first)
        assert one.wait(TIMEOUT) == -9
        assert eventually(lambda: not list(members(first)), TIMEOUT)
        assert len(list(members(second))) == 5
        end_lineage(second)


def test_one_that_has_ended_and_was_not_waited_for_still_has_its_lineage() -> None:
    """Who sent a signal may be gone when that is looked at; for ever, only once it was waited for."""
    lineage = new_lineage()
    with subprocess.Popen(["sleep", "1000"]) as process:
        found(lineage, process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert lineage_of(process.pid) == lineage
        end_lineage(lineage)  # does not wait for it
    assert lineage_of(process.pid) is None


def test_a_family_that_grows_while_it_is_ended_ends() -> None:
    """Whatever a process starts before it is killed is killed as well."""
    lineage = new_lineage()
    code = "import os, sys, time\nsys.stdin.read()\nfor _ in range(200):\n  if os.fork() == 0: break\ntime.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        found(lineage, process.pid)
        assert process.stdin is not None
        process.stdin.close()
        assert eventually(lambda: len(list(members(lineage))) > 5, TIMEOUT)
        end_lineage(lineage)
    assert eventually(lambda: not list(members(lineage)), TIMEOUT)


def test_a_limit_that_somebody_has_set_is_no_lineage() -> None:
    """``ulimit -x`` of a shell, and that there is none."""
    code = "import resource; resource.prlimit(0, 10, (77, 1000)); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert eventually(lambda: resource.prlimit(process.pid, 10) == (77, 1000), TIMEOUT)
        assert lineage_of(process.pid) is None
        found(new_lineage(), process.pid)  # above the hard limit, so it cannot be
        assert lineage_of(process.pid) is None
        process.kill()

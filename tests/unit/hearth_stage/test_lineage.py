"""How descendants of a process are identified, with real processes."""

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
    """Start a family: a process, and four that it starts, of which it knows one."""
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


def test_lineage_has_all_descendants_and_no_others() -> None:
    """Even with their own session, an empty environment, and a parent that has ended."""
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


def test_zombie_keeps_its_lineage() -> None:
    """The sender of a signal may have ended when it is looked up; the lineage is lost only after a wait."""
    lineage = new_lineage()
    with subprocess.Popen(["sleep", "1000"]) as process:
        found(lineage, process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert lineage_of(process.pid) == lineage
        end_lineage(lineage)  # does not wait for it
    assert lineage_of(process.pid) is None


def test_lineage_that_grows_while_it_is_killed_ends() -> None:
    """Descendants started before the kill are killed as well."""
    lineage = new_lineage()
    code = "import os, sys, time\nsys.stdin.read()\nfor _ in range(200):\n  if os.fork() == 0: break\ntime.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        found(lineage, process.pid)
        assert process.stdin is not None
        process.stdin.close()
        assert eventually(lambda: len(list(members(lineage))) > 5, TIMEOUT)
        end_lineage(lineage)
    assert eventually(lambda: not list(members(lineage)), TIMEOUT)


def test_existing_limit_is_not_a_lineage() -> None:
    """``ulimit -x`` of a shell, and no limit at all."""
    code = "import resource; resource.prlimit(0, 10, (77, 1000)); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert eventually(lambda: resource.prlimit(process.pid, 10) == (77, 1000), TIMEOUT)
        assert lineage_of(process.pid) is None
        found(new_lineage(), process.pid)  # above the hard limit, so it fails
        assert lineage_of(process.pid) is None
        process.kill()

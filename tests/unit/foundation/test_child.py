"""A child ends no later than its parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

from hearth.foundation.child import start_child, stop_child

PARENT = """
import signal, subprocess, sys
from hearth.foundation.child import start_child
child = start_child(["sleep", "60"], death_signal=signal.SIGKILL, stdout=sys.stdout)
print(child.pid, flush=True)
child.wait()
"""


def test_child_dies_when_its_parent_is_killed() -> None:
    """SIGKILL leaves the parent no time to clean up; the kernel does it."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    # The pipe is at its end once nobody holds it: the child had it, too.
    assert select.select([parent.stdout], [], [], 20)[0]
    assert parent.stdout.read() == b""
    parent.stdout.close()


def test_child_exits_on_sigterm() -> None:
    """SIGTERM ends a program of good manners within its grace."""
    child = start_child(["sleep", "60"])
    assert stop_child(child, grace=20)
    assert child.returncode == -signal.SIGTERM


def test_child_that_ignores_sigterm_is_killed() -> None:
    """After its grace a program is not asked again."""
    child = start_child(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    assert not stop_child(child, grace=0.1)
    child.stdout.close()

"""The thread that starts child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from hearth.foundation import lasting_thread
from hearth.foundation.child import start_child
from hearth.foundation.lasting_thread import on_lasting_thread


def test_functions_run_on_one_thread() -> None:
    """Which is not the one that asks, and hears also what is raised."""
    threads = {on_lasting_thread(threading.get_ident) for _ in range(3)}
    assert len(threads) == 1
    assert threads.isdisjoint({threading.get_ident()})
    with pytest.raises(ZeroDivisionError):
        on_lasting_thread(lambda: 1 // 0)


def test_a_forked_child_has_a_thread_of_its_own() -> None:
    """The parent's thread does not exist in the child, so nothing would run the child's calls."""
    program = (
        "import os\n"
        "from hearth.foundation.lasting_thread import on_lasting_thread\n"
        "on_lasting_thread(os.getpid)\n"
        "child = os.fork()\n"
        "if not child: os._exit(int(on_lasting_thread(os.getpid) != os.getpid()))\n"
        "raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True)


def test_children_survive_another_queue() -> None:
    """Several may be made where several ask at first; one that is forgotten does not end."""
    first = start_child(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write(b"here\n")
    first.stdin.flush()
    assert first.stdout.readline() == b"here\n"
    lasting_thread._queue.cache_clear()
    second = start_child(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for child in (second, first):
        assert child.communicate(b"still")[0] == b"still"

"""Measuring the costs of a process tree."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bench.meter import Meter, descendants, kinds, label, pss, wakes
from tests.timeouts import eventually

_BURN = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n"
_PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {_BURN!r}])
child.wait()
print("done", flush=True)
sys.stdin.read()
"""


def _parent() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_cpu_of_an_ended_child_still_counts() -> None:
    """A child that starts and ends between two observations of its parent counts."""
    with _parent() as parent, Meter(parent.pid) as meter:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert meter.refreshed().cpu >= 0.3
        parent.communicate()


def test_peak_covers_the_whole_tree() -> None:
    """The peak is at least the root's memory, and no JVM is among these processes."""
    with _parent() as parent, Meter(parent.pid) as meter:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert eventually(lambda: meter.peak >= pss(parent.pid) > 0, 10)
        assert meter.peak == meter.peak_without_jvm
        parent.communicate()


def test_waits_of_all_threads_count_as_wakes() -> None:
    """Each of two threads waits fifty times; the root of a tree is one of its kinds."""
    waits = "[threading.Event().wait(0.001) for _ in range(50)]"
    threads = f"thread = threading.Thread(target=lambda: ({waits}, sys.stdin.read())); thread.start()"
    program = f"import sys, threading; {threads}; {waits}; print('done', flush=True); thread.join()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert eventually(lambda: wakes(process.pid) >= 100, 10)
        assert sum(kind.wakes for kind in kinds(process.pid).values()) >= 100
        process.communicate()
    assert wakes(process.pid) == 0


def test_descendants_come_with_their_command_lines() -> None:
    """The root is among them."""
    with _parent() as parent:
        assert parent.stdout is not None
        assert "import subprocess" in descendants(parent.pid)[parent.pid]
        parent.communicate()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/usr/bin/java -cp x Main", "java"),
        ("/usr/bin/java -cp x hearth.stage.Main x", "java stage"),
        ("/v/bin/python -m hearth standalone w.properties", "hearth standalone"),
        ("/v/bin/python -I -S /x/hearth_stage cpython-312 a/site -- b", "hearth_stage"),
        ("/bin/cat", "cat"),
        ("", "ended"),
    ],
)
def test_label_describes_a_process(command: str, expected: str) -> None:
    """A breakdown by process is readable without whole command lines."""
    assert label(command) == expected


def test_an_ended_process_has_no_memory() -> None:
    """A vanished process is not an error."""
    with _parent() as parent:
        parent.communicate()
    assert pss(parent.pid) == 0

"""What an executor takes is what all of its processes take."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hearth.runtime import executor_usage as module
from hearth.runtime.executor_usage import EXECUTOR, executor_usage

BUSY = (
    "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint(flush=True); input()"
)


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_usage_includes_ended_descendants(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark worker that has ended leaves its ticks to its parent."""
    monkeypatch.setenv(EXECUTOR, str(os.getpid()))
    before = executor_usage()
    assert before.cpu is not None
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = executor_usage()
    after = executor_usage()
    assert during.cpu is not None
    assert after.cpu is not None
    assert during.cpu - before.cpu >= 0.25
    assert after.cpu >= during.cpu - 0.05
    assert after.at > before.at
    assert 1 <= after.processors <= (os.cpu_count() or 1)


def test_usage_is_unknown_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Autoscaling does not use it then."""
    monkeypatch.setattr(module, "_PROC", tmp_path)
    assert executor_usage().cpu is None

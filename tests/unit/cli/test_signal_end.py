"""Signals that end a command, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(getattr(signal, sys.argv[1]), signal.SIG_IGN)
from hearth.cli.signal_end import interrupt_on_signals
interrupt_on_signals()
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    try:
        os.kill(os.getpid(), number)
        print("went on", flush=True)
    except KeyboardInterrupt:
        print(number.name, flush=True)
        break
"""


@pytest.mark.parametrize(("ignored", "first"), [("SIGUSR1", "SIGHUP"), ("SIGHUP", "SIGINT")])
def test_a_signal_that_was_ignored_stays_ignored(ignored: str, first: str) -> None:
    """`nohup hearth standalone` outlives its terminal."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SIGNALS, ignored]
    output = subprocess.run(command, capture_output=True, text=True, env=environ, check=True).stdout.split("\n")
    assert output[-2] == first
    assert output[:-2] == (["went on"] if ignored == "SIGHUP" else [])


SLOW = """
import os, signal, threading, time
threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGTERM)).start()
time.sleep(0.1)
"""
IMPORTS = """
import sys, time
from hearth.cli.signal_end import interrupt_on_signals, terminate_as_interrupt
try:
    if sys.argv[1] == "host":
        interrupt_on_signals()
        import slow
        time.sleep(60)
    else:
        with terminate_as_interrupt():
            import slow
            time.sleep(60)
except KeyboardInterrupt:
    print("slow" in sys.modules)
"""


@pytest.mark.parametrize("command", ["host", "server"])
def test_an_import_is_not_interrupted(command: str, tmp_path: Path) -> None:
    """A lock of the interpreter's would stay taken now and then, and all threads that import something stand still."""
    (tmp_path / "slow.py").write_text(SLOW)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, command], capture_output=True, text=True, env=environ, check=True
    )
    assert done.stdout == "True\n"

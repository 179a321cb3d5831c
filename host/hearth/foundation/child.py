"""Starts a child process that ends with this one, however this one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from hearth.foundation.lasting_thread import on_lasting_thread

# The shim asks the kernel for a signal when its parent dies, then becomes the program. A preexec_fn would run Python
# between fork and exec in a process with threads, which may deadlock. The process id shows whether the parent died
# before the request.
_SHIM = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(sys.argv[2]))
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def start_child(
    command: Sequence[str], *, death_signal: signal.Signals = signal.SIGTERM, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a program that gets `death_signal` when this process ends in any way (on Linux).

    It runs in its own session, so Ctrl-C in the terminal reaches only its owner, which stops it in order. `options`
    are those of `subprocess.Popen`.
    """
    return on_lasting_thread(lambda: _start(command, death_signal, options))


def stop_child(child: subprocess.Popen[bytes], grace: float) -> bool:
    """Terminate a program, and kill it after `grace` seconds; return whether it exited before that."""
    child.terminate()
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    return True


def _start(command: Sequence[str], death_signal: signal.Signals, options: dict[str, Any]) -> subprocess.Popen[bytes]:
    shim = [sys.executable, "-I", "-S", "-c", _SHIM, str(os.getpid()), str(int(death_signal)), *command]
    return subprocess.Popen(shim, start_new_session=True, **options)

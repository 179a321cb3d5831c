"""Programs started by a process that receives signals on a thread."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
import os, signal, subprocess, threading
from hearth.foundation.child_signal import OwnProgram, block, let_in

SIGNALS = [signal.SIGTERM, signal.SIGHUP]
ASK = ["grep", "SigBlk", "/proc/self/status"]

def blocked(start):
    with start(ASK, stdout=subprocess.PIPE) as program:
        mask = int(program.stdout.read().split()[1], 16)
    return [each.name for each in SIGNALS if mask >> each - 1 & 1]

def all_blocked():
    return [blocked(subprocess.Popen), blocked(OwnProgram), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))]

print(all_blocked())
block(SIGNALS)
print(all_blocked())
thread = threading.Thread(target=lambda: print(all_blocked()))
thread.start()
thread.join()
print(subprocess.run(ASK, capture_output=True).stdout)
let_in(SIGNALS)
print(all_blocked())
"""


def test_programs_do_not_inherit_blocked_signals() -> None:
    """All but those that see to it themselves; the thread that starts one is as it was."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environ, check=True)
    kept = "[[], ['SIGTERM', 'SIGHUP'], [<Signals.SIGHUP: 1>, <Signals.SIGTERM: 15>]]"
    none = "[[], [], []]"
    assert done.stdout.splitlines() == [none, kept, kept, "b'SigBlk:\\t0000000000000000\\n'", none]

"""Signals that end the main thread with an exception, tested in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.timeouts import TIMEOUT

PROGRAM = """
import os, signal, time, weakref
from hearth.foundation.unwinding import cancel_unwinding, unwind

signal.signal(signal.SIGTERM, lambda _number, frame: unwind(frame, SystemExit, 7))

def ask():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0)

class Closing:
    def __del__(self):
        ask()

class Watched:
    pass

class Broken:
    def __del__(self):
        raise ValueError("of a plugin's")
"""
MOMENTS = {
    "a loop": "ask()",
    "an import": "import asking",
    "a destructor": "Closing()",
    "a callback": "watched = Watched()\nreference = weakref.ref(watched, lambda _: ask())\ndel watched",
}
ASKING = """
import __main__
__main__.ask()
print("imported", flush=True)
"""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with more lines, until it ends."""
    (folder / "asking.py").write_text(ASKING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@pytest.mark.parametrize("moment", MOMENTS)
def test_signal_ends_the_thread_at_any_point(moment: str, tmp_path: Path) -> None:
    """With the code that it is to have, after an import, and without a word about what was dropped meanwhile."""
    ended = run(f"{MOMENTS[moment]}\nwhile True: time.sleep(0.01)\n", tmp_path)
    assert (ended.returncode, ended.stderr) == (7, "")
    assert ended.stdout == ("imported\n" if moment == "an import" else "")


REMOVAL = """
import tempfile
remove = os.rmdir

def ask_first(*path, **place):
    ask()
    remove(*path, **place)

os.rmdir = ask_first
with tempfile.TemporaryDirectory() as folder:
    print(folder)
while True: time.sleep(0.01)
"""


def test_a_temporary_directory_is_removed_as_a_whole(tmp_path: Path) -> None:
    """No process would remove the rest of a partly removed one."""
    ended = run(REMOVAL, tmp_path)
    assert ended.returncode == 7
    assert not Path(ended.stdout.strip()).exists()


def test_other_dropped_exceptions_are_still_reported(tmp_path: Path) -> None:
    """The interpreter says it, as it always does."""
    ended = run("Closing()\nBroken()\nwhile True: time.sleep(0.01)\n", tmp_path)
    assert ended.returncode == 7
    assert ended.stderr.endswith("ValueError: of a plugin's\n")


SLOW = """
import sys
tell = sys.unraisablehook

def tell_slowly(dropped):
    time.sleep(0.05)
    tell(dropped)

sys.unraisablehook = tell_slowly
Closing()
Broken()
while True: time.sleep(0.01)
"""


def test_signal_during_the_hook_still_ends_the_thread(tmp_path: Path) -> None:
    """What is raised there would be lost."""
    ended = run(SLOW, tmp_path)
    assert ended.returncode == 7
    assert ended.stderr.endswith("ValueError: of a plugin's\n")


def test_pending_exception_can_be_cancelled(tmp_path: Path) -> None:
    """A command that has ended by itself meanwhile is not interrupted behind its end."""
    assert run("Closing()\ncancel_unwinding()\ntime.sleep(0.1)\nraise SystemExit(3)\n", tmp_path).returncode == 3

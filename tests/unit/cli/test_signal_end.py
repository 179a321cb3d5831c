"""Signals that end a command, tested in separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import Popen

import pytest

SIGNALS = """
import os, signal, sys, time
ignored = getattr(signal, sys.argv[1])
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(ignored, signal.SIG_IGN)
from hearth.cli.signal_end import interrupt_on_signals
interrupt_on_signals()
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    try:
        os.kill(os.getpid(), number)
        time.sleep(0.5 if number is ignored else 60)
        print("went on", flush=True)
    except KeyboardInterrupt:
        print(number.name, flush=True)
        break
"""


@pytest.mark.parametrize(("ignored", "first"), [("SIGUSR1", "SIGHUP"), ("SIGHUP", "SIGINT")])
def test_ignored_signal_stays_ignored(ignored: str, first: str) -> None:
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
def test_signal_does_not_interrupt_an_import(command: str, tmp_path: Path) -> None:
    """Otherwise a lock of the interpreter could stay taken, and block every thread that imports."""
    (tmp_path / "slow.py").write_text(SLOW)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, command], capture_output=True, text=True, env=environ, check=True
    )
    assert done.stdout == "True\n"


HOST = """
import logging, subprocess, sys, threading, time
from hearth.cli.signal_end import interrupt_on_signals, terminate_as_interrupt
from hearth.isolation.environment_store import python_environment
from hearth.isolation.forked_process import ForkPlan
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Describe, Ping
logging.basicConfig(stream=sys.stdout, format="%(message)s")
folder, how, command = sys.argv[1:]

def signalled():
    if how == "forked":
        ForkPlan.claim_first = lambda _: None
    stage = Stage.start(python_environment("test", host(), (folder,)), "sender")
    stage.call(Describe("sending:Plugin"))
    time.sleep(0.5)
    stage.call(Ping())
    stage.close()
    print("went on", flush=True)
    input()

try:
    if command == "host":
        interrupt_on_signals()
        signalled()
    else:
        with terminate_as_interrupt():
            signalled()
except KeyboardInterrupt:
    print("ended in order", flush=True)
"""
SENDERS = {
    "at import": "os.kill({host}, {number})\nclass Plugin:\n    def version(self): return '1'",
    "in a call": "class Plugin:\n    def version(self):\n        os.kill({host}, {number})\n        return '1'",
    "from a child": """
class Plugin:
    def version(self):
        code = "import os, time; os.kill({host}, {number}); time.sleep(0.5)"
        return str(subprocess.run([sys.executable, "-c", code]).returncode)
""",
    "from a daemon": """
class Plugin:
    def version(self):
        code = "import os, time; os.kill({host}, {number}); time.sleep(0.5)"
        subprocess.run(["setsid", "-f", "sh", "-c", 'exec "$0" -c "$1"', sys.executable, code], env={{}})
        return '1'
""",
}


def begun(tmp_path: Path, sends: str, number: int, how: str = "started", command: str = "host") -> Popen[str]:
    """Begin a host with a stage whose plugin sends a signal to the host."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", HOST, str(tmp_path), how, command]
    host = Popen(arguments, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    code = SENDERS[sends].format(host=host.pid, number=number)
    (tmp_path / "sending.py").write_text(f"import os, subprocess, sys\n{code}\n")  # before its imports are done
    return host


@pytest.mark.parametrize(("sends", "how"), [*((each, "started") for each in SENDERS), ("from a daemon", "forked")])
def test_signal_from_a_stage_is_logged_and_ignored(tmp_path: Path, sends: str, how: str) -> None:
    """Wherever in it that is done; that of an operator ends the host in order all the same."""
    with begun(tmp_path, sends, signal.SIGTERM, how) as host:
        assert host.stdout is not None
        line = host.stdout.readline()
        assert line.startswith("ignoring SIGTERM: it was sent by process ")
        assert line.endswith(" of the stage sender\n")
        assert host.stdout.readline() == "went on\n"
        host.terminate()
        assert host.stdout.read() == "ended in order\n"
    assert host.returncode == 0


@pytest.mark.parametrize(("number", "command"), [(signal.SIGINT, "server"), (signal.SIGHUP, "host")])
def test_each_terminating_signal_from_a_stage_is_ignored(tmp_path: Path, number: signal.Signals, command: str) -> None:
    """For a host, and for a command that runs one among other things."""
    with begun(tmp_path, "in a call", number, "started", command) as host:
        assert host.stdout is not None
        assert host.stdout.readline().startswith(f"ignoring {number.name}: ")
        assert host.stdout.readline() == "went on\n"
        host.send_signal(number)
        assert host.stdout.read() == "ended in order\n"


AFTERWARDS = """
import os, signal, subprocess, threading
from hearth.cli.signal_end import terminate_as_interrupt
for _ in range(2):
    try:
        with terminate_as_interrupt():
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
assert [each.name for each in threading.enumerate()] == ["MainThread"]
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_handlers_are_restored_after_a_command() -> None:
    """The thread that took them in is gone."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "interrupted\n" * 2, "")


TWICE = """
import os, signal, time
from hearth.cli.signal_end import interrupt_on_signals
interrupt_on_signals()
interrupt_on_signals()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


def test_second_signal_exits_at_once() -> None:
    """Where its orderly end takes too long for somebody."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stderr) == (130, "")


AT_ANY_MOMENT = """
import os, signal, threading, time
from hearth.cli.signal_end import terminate_as_interrupt
for delay in range(200):
    try:
        with terminate_as_interrupt():
            threading.Timer(delay / 1e5, os.kill, (os.getpid(), signal.SIGTERM)).start()
            time.sleep(60)
    except KeyboardInterrupt:
        pass
"""


def test_signal_interrupts_a_main_thread_that_starts_to_wait() -> None:
    """The interpreter checks for signals before it waits, and a signal in between would not wake it."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", AT_ANY_MOMENT], env=environ, check=True, timeout=55)

"""Isolated processes: what they can do, how they end, and what the machine has to allow, with real ones."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hearth_stage
from tests.crash.process import find, tree
from tests.timeouts import TIMEOUT
from tests.unit.isolation.test_stage import wait_for_end

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")

HOST = str(Path(hearth_stage.__file__).parents[1])
AS_NOBODY = """
import ctypes, os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: as for one who was nobody from the start
"""
LOADED = f"""
import signal, subprocess, sys
sys.path.insert(0, {HOST!r})
from hearth_stage.limit import LimitNotKept, Limits
Limits(has_own_processes=True).load()
"""
ALONE = """
try:
    Limits(has_own_processes=True).impose()
except LimitNotKept as error:
    sys.exit(str(error))
"""
USERS = [pytest.param("", id="as who tests"), pytest.param(AS_NOBODY, id="as nobody")]


def begun(code: str, *, before: str = "", stdin: int | None = None) -> subprocess.Popen[str]:
    """Start a Python program with its own processes."""
    command = [sys.executable, "-c", LOADED + before + ALONE + code]
    environment = {**os.environ, "VISIBLE": "to who may look"}
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )


def ended(code: str, *, before: str = "") -> tuple[int, str]:
    """Return the status and the output of such a program."""
    with begun(code, before=before) as process:
        output, _ = process.communicate(timeout=TIMEOUT)
    return process.returncode, output


@pytest.mark.parametrize("before", USERS)
def test_isolated_process_cannot_see_signal_or_inspect_others(before: str) -> None:
    """Neither by number nor in a listing; it keeps its user, without root's capabilities."""
    code = f"""
import os, signal
print(os.getpid(), sorted(int(each) for each in os.listdir("/proc") if each.isdigit()))
for number in ({os.getpid()}, os.getppid() + 100000):
    try: os.kill(number, 0)
    except ProcessLookupError: print("no such process")
    try: open(f"/proc/{{number}}/environ").read()
    except FileNotFoundError: print("no such file")
os.kill(os.getppid(), signal.SIGTERM); os.kill(os.getppid(), signal.SIGKILL)
try: os.kill(-1, signal.SIGTERM)
except ProcessLookupError: print("nobody else")
rights = dict(line.split(":", 1) for line in open("/proc/self/status"))
print({{rights[name].strip() for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}}, os.geteuid())
"""
    nothing = "no such process\nno such file\n" * 2
    user = 65534 if before else os.geteuid()
    assert ended(code, before=before if os.geteuid() == 0 else "") == (
        0, f"2 [1, 2]\n{nothing}nobody else\n{{'0000000000000000'}} {user}\n"
    )  # fmt: skip


@pytest.mark.parametrize("before", USERS)
def test_isolated_process_cannot_unmount(before: str) -> None:
    """The machine's ``/proc`` is still below its own; but nothing can be inspected there, as it has its own users."""
    code = """
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
print(library.umount2(b"/proc", 2) != 0, library.unshare(0x10020000) == 0 and library.umount2(b"/proc", 2) == 0)
print(library.ptrace(16, 1, 0, 0))
"""
    assert ended(code, before=before if os.geteuid() == 0 else "") == (0, "True False\n-1\n")


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("sys.exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("raise SystemExit('no more')", 1),
    ],
)
def test_exit_status_is_exact_and_descendants_end(how: str, status: int) -> None:
    """Also of those with their own session, and of those whose parent has ended."""
    code = f"""
import os, signal, subprocess, sys
nothing = {{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
subprocess.Popen(["sleep", "1000.32"], start_new_session=True, **nothing)
subprocess.run("setsid sleep 1000.32 & setsid sh -c 'sleep 1000.32; true' &", shell=True, **nothing)
{how}
"""
    assert ended(code)[0] == status
    shown = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 1000.32" not in shown


def test_killing_any_of_the_three_processes_ends_all() -> None:
    """The process that represents it outside, the init of its namespace, and the process itself."""
    code = (
        "import subprocess, sys; subprocess.Popen(['sleep', '1000.33'], start_new_session=True); print(1, flush=True)"
    )
    for victim in range(3):
        with begun(f"{code}; sys.stdin.read()", stdin=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "1\n"
            everyone = [each.pid for each in tree(process.pid)]
            assert len(everyone) == 4
            os.kill(everyone[victim], signal.SIGKILL)
            assert process.wait(TIMEOUT) == -signal.SIGKILL
            assert all(map(wait_for_end, everyone))


def test_init_reaps_orphans() -> None:
    """None of them remains a zombie, however many there are."""
    code = """
import os, subprocess, time
for _ in range(20): subprocess.run(["sh", "-c", "true & true &"])
until = time.monotonic() + 20
while len([each for each in os.listdir("/proc") if each.isdigit()]) > 2 and time.monotonic() < until: time.sleep(0.01)
print(sorted(each for each in os.listdir("/proc") if each.isdigit()))
"""
    assert ended(code) == (0, "['1', '2']\n")


def test_helpers_ignore_signals_that_end_a_service() -> None:
    """The other two ignore the signal: the process may have to drain first."""
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print(1, flush=True)
time.sleep(60)
"""
    with begun(code) as process:
        assert process.stdout is not None
        process.stdout.readline()
        outside, init, inside = (each.pid for each in tree(process.pid))
        for _ in range(3):
            os.kill(outside, signal.SIGTERM)
            os.kill(init, signal.SIGINT)
            time.sleep(0.05)
        assert process.poll() is None
        os.kill(inside, signal.SIGTERM)
        assert process.wait(TIMEOUT) == 9


def test_helpers_hold_no_descriptors_of_the_process() -> None:
    """A pipe that it closes is closed."""
    reads, writes = os.pipe()
    with begun("import os; os.dup2(1, 0); print(1, flush=True); os.read(1, 1)", stdin=writes) as process:
        os.close(writes)
        assert process.stdout is not None
        process.stdout.readline()
        watch = select.poll()
        watch.register(reads, select.POLLHUP)
        assert watch.poll(TIMEOUT * 1000)
        assert find(process.pid).pid == process.pid
        process.kill()
    os.close(reads)


NESTED = """
import ctypes, os, subprocess
library = ctypes.CDLL(None, use_errno=True)
user, group = os.geteuid(), os.getegid()
assert library.unshare(0x10020000) == 0
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"1000 {user} 1")
open("/proc/self/gid_map", "w").write(f"1000 {group} 1")
"""


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (
            'open("/proc/sys/user/max_pid_namespaces", "w").write("0")',
            "No space left on device; allow namespaces in the container's seccomp profile, or CAP_SYS_ADMIN",
        ),
        (
            'assert library.mount(b"none", b"/proc/sys", b"tmpfs", 0, None) == 0\n'
            'assert library.capset(b"\\x22\\x05\\x08\\x20\\0\\0\\0\\0", bytes(24)) == 0',
            "cannot mount /proc: Operation not permitted; allow CAP_SYS_ADMIN, or an unmasked /proc",
        ),
    ],
)
def test_forbidden_namespace_names_the_remedy(before: str, says: str) -> None:
    """As in a container: too few namespaces, or a partly masked ``/proc``."""
    status, output = ended("print('it runs')", before=f"{NESTED}{before}\n")
    assert status == 1
    assert output.startswith("plugin.processes cannot be enforced on ")
    assert output.strip().endswith(f": {says}")

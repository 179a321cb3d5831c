"""The limits that a process has applied to itself, with real processes."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import hearth_stage.limit
from hearth_stage.limit import NO_LIMITS, Limits

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


def run(limits: Limits, code: str, folder: Path) -> tuple[int, str]:
    """Run a Python program with these limits; returns its status and output."""
    command = [sys.executable, "-I", "-S", hearth_stage.limit.__file__, limits.to_json(), sys.executable, "-c", code]
    done = subprocess.run(command, env={"TMPDIR": str(folder)}, capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("limits", [NO_LIMITS, Limits(64 << 20, 0.5, 100, 1 << 20, has_network=False)])
def test_limits_are_read_as_they_were_written(limits: Limits) -> None:
    """They are sent as text, to a fork server and to the started program."""
    assert Limits.from_json(limits.to_json()) == limits


def test_open_files_are_limited(tmp_path: Path) -> None:
    """One more raises the program's OSError, whose number identifies it."""
    code = "import os\ntry:\n  for count in range(200): os.dup(0)\nexcept OSError as error: print(error.errno, count)"
    assert run(Limits(open_files=100), code, tmp_path) == (0, f"{errno.EMFILE} 97\n")


@LINUX
def test_process_without_network_reaches_itself_only(tmp_path: Path) -> None:
    """Not even servers on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        code = f"""
import socket
try: socket.create_connection({address!r}, 5)
except ConnectionRefusedError: print("nobody is there")
try: socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error: print(error.errno)
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname(), 5)
print("itself")
"""
        assert run(Limits(has_network=False), code, tmp_path) == (
            0, f"nobody is there\n{errno.ENETUNREACH}\nitself\n"
        )  # fmt: skip
        socket.create_connection(address, 30).close()


@LINUX
def test_temporary_files_are_limited(tmp_path: Path) -> None:
    """More raises the program's OSError; no other process sees them, and none remain."""
    code = """
import os, tempfile
with tempfile.NamedTemporaryFile(delete=False) as file:
    file.write(b"x" * 500_000); file.flush()
    try: file.write(b"x" * 1_000_000); file.flush()
    except OSError as error: print(error.errno)
print(len(os.listdir(tempfile.gettempdir())), os.environ["TMPDIR"] == tempfile.gettempdir())
"""
    for _ in range(2):
        assert run(Limits(temporary_bytes=1 << 20), code, tmp_path) == (0, f"{errno.ENOSPC}\n1 True\n")
    assert [list(each.iterdir()) for each in tmp_path.iterdir()] == [[]]


def test_refused_limit_prevents_the_program_from_running(tmp_path: Path) -> None:
    """The program does not run, and the error names the key."""
    (tmp_path / f"hearth-temporary-{os.geteuid()}").touch()
    status, output = run(Limits(temporary_bytes=1 << 20), "print('it runs')", tmp_path)
    assert status == 1
    assert output.startswith("plugin.limits.temporary.bytes cannot be enforced on ")
    assert "is not a directory of this user" in output


@LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="who is not root has tried this by the tests above")
def test_unprivileged_process_gets_a_user_namespace() -> None:
    """A host is seldom run by root."""
    code = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
from hearth_stage.limit import Limits
limits = Limits(has_network=False, temporary_bytes=1 << 20)
limits.load()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: as for one who was nobody from the start
limits.impose()
names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
print(names, os.geteuid(), os.listdir(os.environ["TMPDIR"]))
"""
    command = [sys.executable, "-c", code, str(Path(hearth_stage.limit.__file__).parents[1])]
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    assert subprocess.check_output(command, env=environment, text=True, timeout=30) == "['lo'] 65534 []\n"

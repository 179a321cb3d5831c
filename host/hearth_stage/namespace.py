"""Linux namespaces that a single-threaded process enters: network, mounts, processes and users.

Root and processes with ``CAP_SYS_ADMIN`` may create them. Others create a user namespace as well, if the system allows
it, in which they keep their user id.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import stat
import struct
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

MOUNTS, USERS, PROCESSES, NETWORK = 0x00020000, 0x10000000, 0x20000000, 0x40000000

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_FOLLOWING, _ALL_BELOW = 1 << 19, 1 << 14
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_REQUEST = struct.Struct("16sH14x")
_PAGE = 4096
_LEAST_FILES = 1024
_SET_DEATH_SIGNAL, _DROP_FROM_BOUNDS, _GAIN_NO_RIGHTS = 1, 24, 38
_CAPABILITIES_HEADER = struct.pack("Ii", 0x20080522, 0)
_NO_CAPABILITIES = bytes(24)
_STATUS_BYTES = 4
_SWITCHES = (
    ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces above 0"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
)
"""Settings in ``/proc/sys`` that forbid namespaces to users other than root, by value, and the remedy."""


def enter(namespaces: int) -> bool:
    """Enter new namespaces, with a user namespace if this process lacks the right to enter them otherwise.

    Returns whether it has a user namespace. Raises ``OSError``, whose text says what to allow.
    """
    try:
        try:
            _call("unshare", namespaces)
        except PermissionError:
            _enter_user_namespace(namespaces)
            return True
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; allow {_remedy()}") from error
    return False


def bring_loopback_up() -> None:
    """Bring up the loopback interface: some programs use it between their own parts."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _UP))


def mount_temporary_directory(size: int) -> None:
    """Mount an empty private directory for temporary files in memory, which ends with the process.

    Its mount point is shared by all processes of a user, but each sees its own mount.
    """
    place = os.path.join(tempfile.gettempdir(), f"hearth-temporary-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(place, 0o700)
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{place!r} is not a directory of this user")
    _follow_mounts()
    options = f"size={size},nr_inodes={max(_LEAST_FILES, size // _PAGE)},mode=700"
    _call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", _NO_SETUID | _NO_DEVICES, options.encode())
    os.environ.update(dict.fromkeys(("TMPDIR", "TMP", "TEMP"), place))
    tempfile.tempdir = place


def continue_isolated(kept: Collection[int], *, has_users: bool) -> None:
    """Continue as a process that sees no other, after entering process and mount namespaces.

    It is a grandchild of the caller. The process in between is the init of the namespace: it adopts orphans and, when
    the process ends, ends with everything that it started. The caller represents the process outside: it holds the
    descriptors ``kept``, exits with the process's status, and takes it along when it is killed.
    """
    status_reader, status_writer = os.pipe()
    held = {*map(int, os.listdir("/proc/self/fd"))}  # before /proc is replaced for both
    if init := os.fork():
        _represent(init, status_reader, held - {status_reader, *kept})
    os.close(status_reader)
    _show_own_processes()
    if not has_users:
        with contextlib.suppress(OSError):  # root without them: it drops its rights below
            _enter_user_namespace(0)
    _die_with_parent(status_writer)
    if process := os.fork():
        _run_init(process, status_writer, held - {status_writer})
    os.close(status_writer)
    _drop_rights()


def _represent(init: int, status_reader: int, held: Collection[int]) -> NoReturn:
    """Wait for the end of the namespace, then exit as its process did."""
    _detach(held)
    status = os.read(status_reader, _STATUS_BYTES)
    _, of_init = os.waitpid(init, 0)
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "little") if status else of_init)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the process has left its own core dump
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _run_init(process: int, status_writer: int, held: Collection[int]) -> NoReturn:
    """Wait for orphans until the process has ended, report its status, and end the namespace by exiting."""
    _detach(held)
    ended = status = 0
    while ended != process:
        ended, status = os.wait()
    os.write(status_writer, status.to_bytes(_STATUS_BYTES, "little"))
    os._exit(0)


def _die_with_parent(pipe: int) -> None:
    """Ask Linux to kill this process when its parent, the reader of a pipe, ends; it may have ended already."""
    _call("prctl", _SET_DEATH_SIGNAL, signal.SIGKILL)
    watch = select.poll()
    watch.register(pipe, 0)
    if watch.poll(0):
        os._exit(1)


def _show_own_processes() -> None:
    """Mount a ``/proc`` that shows the processes of the namespace only."""
    _follow_mounts()
    try:
        _call("mount", b"proc", b"/proc", b"proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, None)
    except PermissionError as error:
        text = f"cannot mount /proc: {error.strerror}; allow CAP_SYS_ADMIN, or an unmasked /proc"
        raise OSError(error.errno, text) from error


def _enter_user_namespace(namespaces: int) -> None:
    """Enter a user namespace, and others with it, in which this process keeps its user id.

    It can neither inspect processes outside, whatever their user, nor undo earlier mounts.
    """
    user, group = os.geteuid(), os.getegid()
    _call("unshare", namespaces | USERS)
    for name, text in ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _drop_rights() -> None:
    """Drop all capabilities, also those over its own namespaces, and prevent gaining new ones through programs."""
    _call("prctl", _GAIN_NO_RIGHTS, 1, 0, 0, 0)
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _call("prctl", _DROP_FROM_BOUNDS, capability, 0, 0, 0)
    _call("capset", _CAPABILITIES_HEADER, _NO_CAPABILITIES)


def _follow_mounts() -> None:
    """Receive unmounts from outside, but do not propagate mounts made here."""
    _call("mount", b"none", b"/", None, _FOLLOWING | _ALL_BELOW, None)


def _detach(held: Collection[int]) -> None:
    """Close descriptors that belong to the process, and ignore the signals that end all processes of a service."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    for each in held:
        with contextlib.suppress(OSError):  # it is closed
            os.close(each)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)


def _remedy() -> str:
    found = []
    for name, value, allowed in _SWITCHES:
        with contextlib.suppress(OSError):
            if Path("/proc/sys", name).read_text().strip() == value:
                found.append(allowed)
    return " and ".join(found or ["namespaces in the container's seccomp profile"]) + ", or CAP_SYS_ADMIN"


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBRARY, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

"""Namespaces of Linux that a process of one thread enters: networks, mounts, processes and users.

Root, or who has ``CAP_SYS_ADMIN``, may have them. Others have a namespace of users with them, where the system lets
them, in which they are who they were.
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
"""What of ``/proc/sys`` forbids namespaces to who is not root, by which value, and what would allow them."""


def enter(namespaces: int) -> bool:
    """Have namespaces of its own; whoever may not have them, as root may, has its own view of users with them.

    Returns whether it has that. Raises ``OSError``, whose text says what is to be allowed.
    """
    try:
        try:
            _call("unshare", namespaces)
        except PermissionError:
            _take_users(namespaces)
            return True
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; allow {_remedy()}") from error
    return False


def bring_loopback_up() -> None:
    """Let the process reach itself: there are programs that speak with their own parts so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _UP))


def take_directory(size: int) -> None:
    """Have an empty directory for temporary files, in memory, which nobody else sees and which ends with the process.

    It lies over one that all processes of a user have, where each sees its own.
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


def go_on_alone(kept: Collection[int], *, has_users: bool) -> None:
    """Go on as a process that sees no other, after namespaces of processes and mounts were entered.

    It is a grandchild of the caller. Between them is the init of the namespace, which takes in orphans and, when the
    process ends, ends with all that it has started. The caller stands for the process outside: it holds the
    descriptors ``kept``, ends as the process does, and takes it along when it is killed.
    """
    told, tell = os.pipe()
    held = {*map(int, os.listdir("/proc/self/fd"))}  # before /proc is another's, which both see
    if init := os.fork():
        _stand_for(init, told, held - {told, *kept})
    os.close(told)
    _show_own_processes()
    if not has_users:
        with contextlib.suppress(OSError):  # root without them: it loses its rights all the same
            _take_users(0)
    _end_with(tell)
    if process := os.fork():
        _be_init(process, tell, held - {tell})
    os.close(tell)
    _drop_rights()


def _stand_for(init: int, told: int, held: Collection[int]) -> NoReturn:
    """Wait for the end of everything in the namespace, then end as its process did."""
    _let_go(held)
    status = os.read(told, _STATUS_BYTES)
    _, of_init = os.waitpid(init, 0)
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "little") if status else of_init)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the process has left its own
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _be_init(process: int, tell: int, held: Collection[int]) -> NoReturn:
    """Wait for orphans until the process has ended, tell how, and end everything by one's own end."""
    _let_go(held)
    ended = status = 0
    while ended != process:
        ended, status = os.wait()
    os.write(tell, status.to_bytes(_STATUS_BYTES, "little"))
    os._exit(0)


def _end_with(pipe: int) -> None:
    """Have Linux kill this process when its parent ends, who reads from a pipe; it may have ended already."""
    _call("prctl", _SET_DEATH_SIGNAL, signal.SIGKILL)
    watch = select.poll()
    watch.register(pipe, 0)
    if watch.poll(0):
        os._exit(1)


def _show_own_processes() -> None:
    """Have ``/proc`` show the processes of the namespace, and nobody else's."""
    _follow_mounts()
    try:
        _call("mount", b"proc", b"/proc", b"proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, None)
    except PermissionError as error:
        text = f"/proc cannot be mounted: {error.strerror}; allow CAP_SYS_ADMIN, or a /proc of which nothing is masked"
        raise OSError(error.errno, text) from error


def _take_users(namespaces: int) -> None:
    """Have its own view of users, and namespaces with it, in which this process stays who it is.

    It may not look into processes outside, whatever their user, nor undo what was mounted before.
    """
    user, group = os.geteuid(), os.getegid()
    _call("unshare", namespaces | USERS)
    for name, text in ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _drop_rights() -> None:
    """Have none of root's rights, not even those over its own namespaces, and gain none by starting a program."""
    _call("prctl", _GAIN_NO_RIGHTS, 1, 0, 0, 0)
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _call("prctl", _DROP_FROM_BOUNDS, capability, 0, 0, 0)
    _call("capset", _CAPABILITIES_HEADER, _NO_CAPABILITIES)


def _follow_mounts() -> None:
    """Have what others unmount gone here as well, and keep from them what is mounted here."""
    _call("mount", b"none", b"/", None, _FOLLOWING | _ALL_BELOW, None)


def _let_go(held: Collection[int]) -> None:
    """Hold nothing of what is the process's, and go on when all processes of a service are told to end."""
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

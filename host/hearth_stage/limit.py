"""What a process of plugins may take of its machine, and how it binds itself to that before a plugin has a say.

A stage that is forked does so in the fork, one that is started by ``python -I -S PATH/limit.py LIMITS COMMAND...``,
which becomes the command: limits of the system stay with a process whatever it becomes. Memory and processors are a
matter of its control group, or watched by whoever owns the stage (``hearth.isolation``).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import resource
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

MEMORY = "plugin.limits.memory.bytes"
CPUS = "plugin.limits.cpus"
FILES = "plugin.limits.open.files"
TEMPORARY = "plugin.limits.temporary.bytes"
NETWORK, HOST, NONE = "plugin.network", "host", "none"

_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000
_FOLLOWING, _NO_SETUID, _NO_DEVICES, _ALL_BELOW = 1 << 19, 2, 4, 1 << 14
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_REQUEST = struct.Struct("16sH14x")
_PAGE = 4096
_LEAST_FILES = 1024


class LimitNotKept(Exception):
    """This machine does not let a process bind itself to a limit: the key that asks for it, and why not."""

    def __str__(self) -> str:
        """Name the machine as well: executors may differ."""
        key, why = self.args
        return f"{key} cannot be kept on {platform.node()}: {why}"


@dataclass(frozen=True)
class Limits:
    """What a process of plugins may take; ``None`` is as much as its machine gives."""

    memory_bytes: int | None = None
    """What it and the processes it starts have in memory of their own."""
    cpus: float | None = None
    """How much of processors, of which 1 is one of them all the time."""
    open_files: int | None = None
    temporary_bytes: int | None = None
    """What the files in its directory for temporary ones may take; that is empty, and its own, then."""
    has_network: bool = True
    """Whether it reaches more than itself."""
    control_group: str | None = None
    """The control group that was made for it, in which the kernel keeps those of memory and processors."""

    @property
    def are_enforced(self) -> bool:
        """Return whether there are some that no process can bind itself to."""
        return self.memory_bytes is not None or self.cpus is not None

    def to_json(self) -> str:
        """Return the limits as a JSON object, without those that are none."""
        return json.dumps({name: value for name, value in asdict(self).items() if value != getattr(NO_LIMITS, name)})

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """Read what ``to_json`` returned."""
        return cls(**json.loads(text))

    def bound(self, command: Sequence[str]) -> list[str]:
        """Return a command by which a process binds itself and becomes another one; that itself without limits."""
        if self == NO_LIMITS:
            return [*command]
        return [sys.executable, "-I", "-S", __file__, self.to_json(), *command]

    def impose(self) -> None:
        """Bind this process, which has one thread; raises LimitNotKept for what its machine does not let it."""
        if self.control_group is not None:
            with _keeping(CPUS if self.memory_bytes is None else MEMORY):
                _join(self.control_group)
        if self.memory_bytes is not None:
            _be_first_to_go()
        if self.temporary_bytes is not None or not self.has_network:
            self._leave_namespaces()
        if self.open_files is not None:
            with _keeping(FILES):
                _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
                files = self.open_files if most == resource.RLIM_INFINITY else min(self.open_files, most)
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def _leave_namespaces(self) -> None:
        network = 0 if self.has_network else _NEW_NETWORK
        mounts = 0 if self.temporary_bytes is None else _NEW_MOUNTS
        with _keeping(NETWORK if network else TEMPORARY):
            _unshare(network | mounts)
        if network:
            with _keeping(NETWORK):
                _bring_loopback_up()
        if self.temporary_bytes is not None:
            with _keeping(TEMPORARY):
                _take_directory(self.temporary_bytes)


NO_LIMITS = Limits()


@contextlib.contextmanager
def _keeping(key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, AttributeError) as error:  # the latter where the system is not Linux
        raise LimitNotKept(key, getattr(error, "strerror", None) or str(error)) from error


def _join(control_group: str) -> None:
    with open(f"{control_group}/cgroup.procs", "w") as group:
        group.write("0")  # itself


def _be_first_to_go() -> None:
    """Have Linux end this process before others where the machine has no memory left."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def _unshare(namespaces: int) -> None:
    """Have namespaces of its own; whoever may not have them, as root may, has its own view of users with them."""
    try:
        _call("unshare", namespaces)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        _call("unshare", namespaces | _NEW_USERS)
        for name, text in ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def _bring_loopback_up() -> None:
    """Let the process reach itself: there are programs that speak with their own parts so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _UP))


def _take_directory(size: int) -> None:
    """Have an empty directory for temporary files, in memory, which nobody else sees and which ends with the process.

    It lies over one that all processes of a user have, where each sees its own.
    """
    place = os.path.join(tempfile.gettempdir(), f"hearth-temporary-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(place, 0o700)
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(1, f"{place!r} is not a directory of this user")
    _call("mount", b"none", b"/", None, _FOLLOWING | _ALL_BELOW, None)  # what others unmount it does not hold
    options = f"size={size},nr_inodes={max(_LEAST_FILES, size // _PAGE)},mode=700"
    _call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", _NO_SETUID | _NO_DEVICES, options.encode())
    os.environ.update(dict.fromkeys(("TMPDIR", "TMP", "TEMP"), place))
    tempfile.tempdir = place


def _call(name: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become(limits: str, *command: str) -> None:
    """Bind this process and become the program of a command; says why it may not, and ends."""
    try:
        Limits.from_json(limits).impose()
    except LimitNotKept as error:
        sys.exit(str(error))
    os.execvp(command[0], command)  # noqa: S606 - a stage has no shell


if __name__ == "__main__":
    become(*sys.argv[1:])

"""A control group (version 2) in which the kernel enforces the memory and processor limits of one stage process.

A process may create groups only in a group that is delegated to it and holds no processes. systemd provides one to a
service with ``Delegate=memory cpu`` and ``DelegateSubgroup=host``: the parent of the group of the service's
processes, which has the attribute ``user.delegate``. Without it, the owner watches its stages
(``hearth.isolation.stage_watch``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from functools import cache
from pathlib import Path

from hearth_stage.limit import MEMORY, Limits

PERIOD_MICROSECONDS = 100_000
TIMEOUT, _PAUSE_SECONDS = 50, 0.01
"""How many times to try to remove a group, and the pause between attempts."""
_CONTROLLERS = {"memory", "cpu"}
_MAY_LACK = {"memory.swap.max": (PermissionError,)}  # a kernel that does not account for swap
_PREFIX = "hearth-stage-"
_numbers = itertools.count()


class ControlGroup:
    """The group of one stage, which joins it before any plugin code runs (``Limits.control_group``)."""

    def __init__(self, delegated: Path, limits: Limits) -> None:
        """Create the group, and remove groups left by processes that have ended; raises ``OSError``."""
        _clear(delegated)
        self.path = delegated / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        self._memory_bytes = limits.memory_bytes
        self.path.mkdir()
        try:
            for name, value in _settings(limits).items():
                with contextlib.suppress(*_MAY_LACK.get(name, ())):
                    (self.path / name).write_text(value)
        except OSError:
            self.remove()
            raise

    @property
    def excess(self) -> str:
        """Return which limit the processes exceeded if the kernel killed them for it, else an empty string."""
        with contextlib.suppress(OSError):
            events = dict(line.split() for line in (self.path / "memory.events").read_text().splitlines())
            if int(events.get("oom_kill", 0)):
                return f"it used all of {MEMORY}={self._memory_bytes}"
        return ""

    def remove(self) -> None:
        """Remove the group and kill the processes that still run in it."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        for _ in range(TIMEOUT):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # the last process takes a moment to end
                time.sleep(_PAUSE_SECONDS)
            else:
                return


@cache
def delegated_group(proc: Path = Path("/proc")) -> Path | None:
    """Return the group in which this process may create groups, with its controllers enabled, or None."""
    try:
        own = next(line[3:] for line in (proc / "self/cgroup").read_text().splitlines() if line.startswith("0::"))
        above = _place(own, (proc / "self/mountinfo").read_text()).parent
        if os.getxattr(above, "user.delegate") != b"1" or list((above / "cgroup.procs").read_text().split()):
            return None
        if not {*(above / "cgroup.controllers").read_text().split()} >= _CONTROLLERS:
            return None
        (above / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in sorted(_CONTROLLERS)))
    except (OSError, AttributeError, StopIteration):  # no such file or permission, not Linux, or no version 2
        return None
    return above


def _place(group: str, mounts: str) -> Path:
    """Return the directory of a group in the file system."""
    lines = (line.split() for line in mounts.splitlines())
    root, point = next((words[3], words[4]) for words in lines if words[words.index("-") + 1] == "cgroup2")
    return Path(point, os.path.relpath(group, root))


def _settings(limits: Limits) -> dict[str, str]:
    found = {}
    if limits.memory_bytes is not None:
        found = {"memory.max": str(limits.memory_bytes), "memory.swap.max": "0", "memory.oom.group": "1"}
    if limits.cpus is not None:
        found["cpu.max"] = f"{round(limits.cpus * PERIOD_MICROSECONDS)} {PERIOD_MICROSECONDS}"
    return found


def _clear(delegated: Path) -> None:
    for group in delegated.glob(f"{_PREFIX}*"):
        owner = group.name.removeprefix(_PREFIX).partition("-")[0]
        if not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):  # it still has processes
                group.rmdir()

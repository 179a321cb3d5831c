"""The resource limits of a plugin process, and how it applies them to itself before plugin code runs.

A forked stage does so in the fork; a started one runs ``python -I -S PATH/limit.py LIMITS COMMAND...``, which then
executes the command: system limits survive ``exec``. Memory and processor limits are enforced by its control group, or
by the owner of the stage (``hearth.isolation``).
"""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import os
import platform
import resource
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

MEMORY = "plugin.limits.memory.bytes"
CPUS = "plugin.limits.cpus"
FILES = "plugin.limits.open.files"
TEMPORARY = "plugin.limits.temporary.bytes"
NETWORK, HOST, NONE = "plugin.network", "host", "none"
PROCESSES, SHARED, OWN = "plugin.processes", "shared", "own"


class LimitNotKept(Exception):
    """This machine cannot enforce a limit: its key, and the reason."""

    def __str__(self) -> str:
        """Include the machine's name: executors may differ."""
        key, why = self.args
        return f"{key} cannot be enforced on {platform.node()}: {why}"


@dataclass(frozen=True)
class Limits:
    """The limits of a plugin process; ``None`` means unlimited."""

    memory_bytes: int | None = None
    """Memory of the process and of those it starts."""
    cpus: float | None = None
    """Processor time, where 1 is one processor all the time."""
    open_files: int | None = None
    temporary_bytes: int | None = None
    """Size of the files in its temporary directory, which is then empty and private."""
    has_network: bool = True
    """Whether it can reach anything but itself."""
    has_own_processes: bool = False
    """Whether it sees, signals and inspects only processes that it has started, which end with it."""
    control_group: str | None = None
    """Its control group, in which the kernel enforces the memory and processor limits."""

    @property
    def are_enforced(self) -> bool:
        """Return whether some limits cannot be set by the process itself."""
        return self.memory_bytes is not None or self.cpus is not None

    def to_json(self) -> str:
        """Return the limits that are set, as a JSON object."""
        return json.dumps({name: value for name, value in asdict(self).items() if value != getattr(NO_LIMITS, name)})

    @classmethod
    def from_json(cls, text: str) -> Limits:
        """Read the result of ``to_json``."""
        return cls(**json.loads(text))

    def bound(self, command: Sequence[str]) -> list[str]:
        """Return a command that applies the limits and executes ``command``; just the command if there are none."""
        if self == NO_LIMITS:
            return [*command]
        return [sys.executable, "-I", "-S", __file__, self.to_json(), *command]

    def impose(self, kept: Collection[int] = ()) -> None:
        """Apply the limits to this process, which has one thread; raises LimitNotKept if the machine refuses one.

        With its own processes it continues as another process; this one stays outside and holds the descriptors
        ``kept``.
        """
        if self.control_group is not None:
            with _keeping(CPUS if self.memory_bytes is None else MEMORY):
                _join(self.control_group)
        if self.memory_bytes is not None:
            _prefer_in_oom_kill()
        if self._needs_namespaces:
            self._leave_namespaces(kept)
        if self.open_files is not None:
            with _keeping(FILES):
                _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
                files = self.open_files if most == resource.RLIM_INFINITY else min(self.open_files, most)
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def load(self) -> None:
        """Import the modules that ``impose`` needs, before the fork."""
        if self._needs_namespaces:
            from hearth_stage import namespace  # noqa: F401

    @property
    def _needs_namespaces(self) -> bool:
        return self.temporary_bytes is not None or not self.has_network or self.has_own_processes

    def _leave_namespaces(self, kept: Collection[int]) -> None:
        from hearth_stage import namespace  # Linux only

        wanted = {
            PROCESSES: namespace.PROCESSES | namespace.MOUNTS if self.has_own_processes else 0,
            NETWORK: 0 if self.has_network else namespace.NETWORK,
            TEMPORARY: 0 if self.temporary_bytes is None else namespace.MOUNTS,
        }
        with _keeping(next(key for key, each in wanted.items() if each)):
            has_users = namespace.enter(functools.reduce(operator.or_, wanted.values()))
        if not self.has_network:
            with _keeping(NETWORK):
                namespace.bring_loopback_up()
        if self.temporary_bytes is not None:
            with _keeping(TEMPORARY):
                namespace.mount_temporary_directory(self.temporary_bytes)
        if self.has_own_processes:
            with _keeping(PROCESSES):
                namespace.continue_isolated(kept, has_users=has_users)


NO_LIMITS = Limits()


@contextlib.contextmanager
def _keeping(key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, AttributeError, ImportError) as error:  # the latter two where the system is not Linux
        raise LimitNotKept(key, getattr(error, "strerror", None) or str(error)) from error


def _join(control_group: str) -> None:
    with open(f"{control_group}/cgroup.procs", "w") as group:
        group.write("0")  # this process


def _prefer_in_oom_kill() -> None:
    """Make Linux kill this process before others if the machine runs out of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def become(limits: str, *command: str) -> None:
    """Apply limits to this process and execute a command; prints the reason and exits if a limit is refused.

    Unblocks the signals that the host blocks in its own threads.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        Limits.from_json(limits).impose()
    except LimitNotKept as error:
        sys.exit(str(error))
    os.execvp(command[0], command)  # noqa: S606 -


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    become(*sys.argv[1:])

"""What a process of plugins may take of its machine, and how it binds itself to that before a plugin has a say.

A stage that is forked does so in the fork, one that is started by ``python -I -S PATH/limit.py LIMITS COMMAND...``,
which becomes the command: limits of the system stay with a process whatever it becomes. Memory and processors are a
matter of its control group, or watched by whoever owns the stage (``hearth.isolation``).
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
    has_own_processes: bool = False
    """Whether it sees, signals and looks into no process but those it has started, which end with it."""
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

    def impose(self, kept: Collection[int] = ()) -> None:
        """Bind this process, which has one thread; raises LimitNotKept for what its machine does not let it.

        One with processes of its own goes on in another, for which this one stands outside, with descriptors ``kept``.
        """
        if self.control_group is not None:
            with _keeping(CPUS if self.memory_bytes is None else MEMORY):
                _join(self.control_group)
        if self.memory_bytes is not None:
            _be_first_to_go()
        if self._needs_namespaces:
            self._leave_namespaces(kept)
        if self.open_files is not None:
            with _keeping(FILES):
                _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
                files = self.open_files if most == resource.RLIM_INFINITY else min(self.open_files, most)
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def load(self) -> None:
        """Load what it takes to bind a process, before one is forked for that."""
        if self._needs_namespaces:
            from hearth_stage import namespace  # noqa: F401

    @property
    def _needs_namespaces(self) -> bool:
        return self.temporary_bytes is not None or not self.has_network or self.has_own_processes

    def _leave_namespaces(self, kept: Collection[int]) -> None:
        from hearth_stage import namespace  # Linux's

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
                namespace.take_directory(self.temporary_bytes)
        if self.has_own_processes:
            with _keeping(PROCESSES):
                namespace.go_on_alone(kept, has_users=has_users)


NO_LIMITS = Limits()


@contextlib.contextmanager
def _keeping(key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, AttributeError, ImportError) as error:  # the latter two where the system is not Linux
        raise LimitNotKept(key, getattr(error, "strerror", None) or str(error)) from error


def _join(control_group: str) -> None:
    with open(f"{control_group}/cgroup.procs", "w") as group:
        group.write("0")  # itself


def _be_first_to_go() -> None:
    """Have Linux end this process before others where the machine has no memory left."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def become(limits: str, *command: str) -> None:
    """Bind this process and become the program of a command; says why it may not, and ends.

    The program hears the signals that the host keeps from its own threads.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        Limits.from_json(limits).impose()
    except LimitNotKept as error:
        sys.exit(str(error))
    os.execvp(command[0], command)  # noqa: S606 - a stage has no shell


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    become(*sys.argv[1:])

"""Start of a stage process: ``python -I -S PATH/hearth_stage TAG SITE... -- BASE...``.

Its standard input is the connection. ``TAG`` is that of the Python for which the packages were installed. ``SITE``
directories are the bundle's own packages. ``BASE`` directories hold the host's packages; of them the process sees the
author API, in front of everything the bundle brings, and the base layer, behind it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import signal
import socket
import sys
from collections.abc import Collection, Sequence
from types import ModuleType

API = frozenset({"hearth_api", "hearth_execution", "hearth_stage"})
LAYER = frozenset({"pyarrow", "numpy"})


class HostFinder(importlib.abc.MetaPathFinder):
    """Finds a few of the host's packages, and nothing else that lies beside them (invariant 7)."""

    def __init__(self, packages: Collection[str], directories: Sequence[str]) -> None:
        self._packages = packages
        self._directories = list(directories)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find one of the packages; its submodules are found through the package's own path."""
        if path is None and name in self._packages:
            return importlib.machinery.PathFinder.find_spec(name, self._directories)
        return None


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, whatever the plugin is doing then."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def leave_signals_to_runtime() -> None:
    """Go on when all processes of a service are told to end: the runtime drains the task, then ends its stages.

    What a plugin starts is not spared: a handler is not inherited by a program, and a forked process gives it up
    before any signal reaches it.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    for number in numbers:
        signal.signal(number, lambda _number, _frame: None)
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers),
        after_in_child=restore,
    )


def main(arguments: list[str]) -> None:
    """Set up the import path and serve the connection."""
    split = arguments.index("--")
    tag, sites, base = arguments[0], arguments[1:split], arguments[split + 1 :]
    check_interpreter(tag)
    sys.path[0:0] = sites
    sys.meta_path.insert(0, HostFinder(API, base))
    sys.meta_path.append(HostFinder(LAYER, base))
    die_with_parent()
    leave_signals_to_runtime()
    from hearth_stage.log_output import begin_log
    from hearth_stage.program import Program

    begin_log()
    Program(_connection()).run()


def check_interpreter(tag: str) -> None:
    """End this process when it is another Python than the environment's packages were installed for."""
    own = sys.implementation.cache_tag or sys.implementation.name
    if own != tag:
        sys.exit(f"the environment was made for {tag}, and {sys.executable} is {own}")


def _connection() -> socket.socket:
    """Take over the connection, in whose place plugins find an empty standard input.

    It ends with this process, even while processes that a plugin started or forked live on.
    """
    connection = socket.socket(fileno=os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.register_at_fork(after_in_child=connection.close)
    return connection


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("hearth_stage")]
    main(sys.argv[1:])

"""Entry point of a stage process: ``PYTHON -I PATH/hearth_stage TAG SITE... [-- IDLE LIFE MODULE...]``.

Its standard input is the connection. ``PYTHON`` is the interpreter of its environment, which can import the bundle's
packages, the author API and the base layer only (``import_path``). ``TAG`` is that of the Python for which the
packages were installed, ``SITE`` are the bundle's directories. The arguments after ``--`` make it a fork server, which
forks stages.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import ModuleType

_TO_ALL = (signal.SIGINT, signal.SIGTERM)
"""Signals that end all processes of a service."""
_KEPT_FROM_HOST = (*_TO_ALL, signal.SIGHUP)
"""Signals that a host blocks in its threads, a mask that its child processes inherit."""


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, whatever a plugin is doing."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def ignore_service_signals() -> None:
    """Ignore the signals that end all processes of a service: the runtime drains the task, then ends its stages.

    Programs that a plugin starts do not inherit the handlers, so the signals end them.
    """
    for number in _TO_ALL:
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _KEPT_FROM_HOST)


def restore_signals_in_forks() -> None:
    """Restore the default handlers in processes that a plugin forks, before a signal can reach them."""

    def restore() -> None:
        for number in _TO_ALL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_ALL)

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, _TO_ALL),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, _TO_ALL),
        after_in_child=restore,
    )


def main(arguments: list[str]) -> None:
    """Serve the connection; in a fork server, that of each forked process."""
    (tag, *sites), *forking = _parts(arguments)
    check_interpreter(tag)
    hide_main_module()
    ignore_service_signals()
    from hearth_execution.stack import make_room
    from hearth_stage.log_output import begin_log
    from hearth_stage.missing_module import MissingModuleFinder

    sys.meta_path.insert(1, MissingModuleFinder())
    begin_log()
    make_room()
    connection = _forked(sites, *forking[0]) if forking else _started()
    os.register_at_fork(after_in_child=connection.close)
    restore_signals_in_forks()
    from hearth_stage.program import Program

    Program(connection).run()


def _parts(arguments: list[str]) -> list[list[str]]:
    """Return the arguments, split at each ``--``."""
    parts: list[list[str]] = [[]]
    for word in arguments:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def check_interpreter(tag: str) -> None:
    """Exit if this is another Python than the one for which the environment was built."""
    own = sys.implementation.cache_tag or sys.implementation.name
    if own != tag:
        sys.exit(f"the environment was built for {tag}, but {os.path.realpath(sys.executable)} is {own}")


def hide_main_module() -> None:
    """Hide the stage's main module and arguments from plugins and from what they start."""
    del sys.modules["sitecustomize"]  # Python has imported it already
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv[:] = [""]


def _started() -> socket.socket:
    """Take over this process's name and connection; it ends with its parent."""
    from hearth_stage.forked import NAME, entitle

    die_with_parent()
    entitle(os.environ.pop(NAME, "").encode())
    return socket.socket(fileno=_standard_input())


def _forked(sites: list[str], idle: str, life: str, *modules: str) -> socket.socket:
    """Run the fork server; returns in each forked process, with its connection."""
    from hearth_stage.fork_server import ForkServer, load
    from hearth_stage.preload import AGREED, LoadedFiles, agreed

    listener = socket.socket(fileno=_standard_input())
    load(name for each in modules for name in (agreed(sites) if each == AGREED else [each]))
    return ForkServer(listener, LoadedFiles(sites), float(idle), int(life)).serve()


def _standard_input() -> int:
    """Return a copy of the standard input, which plugins find empty."""
    taken = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("hearth_stage")]
    main(sys.argv[1:])

"""Start of a stage process: ``PYTHON -I PATH/hearth_stage TAG SITE... [-- IDLE LIFE MODULE...]``.

Its standard input is the connection. ``PYTHON`` is the interpreter of its environment, which finds the bundle's own
packages, the author API and the base layer, and nothing else (``import_path``). ``TAG`` is that of the Python for
which the packages were installed, ``SITE`` are the directories of the bundle's. What stands behind ``--`` makes it a
fork server, from which stages are forked.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import ModuleType

_TO_ALL = (signal.SIGINT, signal.SIGTERM)
"""What tells every process of a service to end."""
_KEPT_FROM_HOST = (*_TO_ALL, signal.SIGHUP)
"""What a host blocks in its threads, and whoever it starts inherits."""


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, whatever the plugin is doing then."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def leave_signals_to_runtime() -> None:
    """Go on when all processes of a service are told to end: the runtime drains the task, then ends its stages.

    A program that a plugin starts is not spared: a handler is not inherited.
    """
    for number in _TO_ALL:
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _KEPT_FROM_HOST)


def give_signals_back_to_forks() -> None:
    """Have a process that a plugin forks give up the handlers before any signal reaches it."""

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
    """Serve the connection; in a fork server, that of each process forked from it."""
    (tag, *sites), *forking = _parts(arguments)
    check_interpreter(tag)
    be_nobody()
    leave_signals_to_runtime()
    from hearth_execution.stack import make_room
    from hearth_stage.log_output import begin_log
    from hearth_stage.missing_module import MissingModuleFinder

    sys.meta_path.insert(1, MissingModuleFinder())
    begin_log()
    make_room()
    connection = _forked(sites, *forking[0]) if forking else _started()
    os.register_at_fork(after_in_child=connection.close)
    give_signals_back_to_forks()
    from hearth_stage.program import Program

    Program(connection).run()


def _parts(arguments: list[str]) -> list[list[str]]:
    """Return the arguments between the words ``--``."""
    parts: list[list[str]] = [[]]
    for word in arguments:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def check_interpreter(tag: str) -> None:
    """End this process when it is another Python than the environment's packages were installed for."""
    own = sys.implementation.cache_tag or sys.implementation.name
    if own != tag:
        sys.exit(f"the environment was made for {tag}, and {os.path.realpath(sys.executable)} is {own}")


def be_nobody() -> None:
    """Leave plugins, and what they start, a main module and arguments in which nothing of the stage stands."""
    del sys.modules["sitecustomize"]  # which Python has asked for, and does not again
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv[:] = [""]


def _started() -> socket.socket:
    """Take over the name and the connection of this process, which ends with it, and its parent."""
    from hearth_stage.forked import NAME, entitle

    die_with_parent()
    entitle(os.environ.pop(NAME, "").encode())
    return socket.socket(fileno=_standard_input())


def _forked(sites: list[str], idle: str, life: str, *modules: str) -> socket.socket:
    """Be a fork server; returns in each process forked from it, with that one's connection."""
    from hearth_stage.fork_server import ForkServer, load
    from hearth_stage.preload import AGREED, LoadedFiles, agreed

    listener = socket.socket(fileno=_standard_input())
    load(name for each in modules for name in (agreed(sites) if each == AGREED else [each]))
    return ForkServer(listener, LoadedFiles(sites), float(idle), int(life)).serve()


def _standard_input() -> int:
    """Return another descriptor of the standard input, in whose place plugins find an empty one."""
    taken = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if not entry.endswith("hearth_stage")]
    main(sys.argv[1:])

"""Processes by their ids: ancestry, open files, and whether all of a tree have ended."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.timeouts import TIMEOUT, eventually

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process; its start time distinguishes it from a later one with the same id."""

    pid: int
    parent: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Return whether it still runs; a zombie does not."""
        now = _look(self.pid)
        return now is not None and now.started == self.started

    @property
    def command(self) -> str:
        """Return its command line, empty if it has ended."""
        return self._read("cmdline")

    @property
    def environment(self) -> str:
        """Return the environment it was started with, empty if it has ended."""
        return self._read("environ")

    @property
    def title(self) -> str:
        """Return its title, empty if it has ended."""
        return self._read("comm").strip()

    def _read(self, name: str) -> str:
        try:
            return (_PROC / str(self.pid) / name).read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""


def freeze(pid: int) -> None:
    """Suspend a process, and wait until all its threads stop: a running one continues until it checks for signals."""
    os.kill(pid, signal.SIGSTOP)
    threads = _PROC / str(pid) / "task"

    def are_stopped() -> bool:
        states = [_state(int(each.name)) for each in threads.iterdir()]
        return all(state == "T" for _, state in filter(None, states))

    assert eventually(are_stopped, TIMEOUT, 0.001)


def tree(root: int) -> list[Process]:
    """Return a process and all its descendants."""
    everyone = _everyone()
    found = [each for each in everyone if each.pid == root]
    for each in found:  # it grows during the iteration
        found += [child for child in everyone if child.parent == each.pid]
    return found


def stages(root: int) -> list[Process]:
    """Return the stage processes below a process, without the fork servers."""
    return [each for each in tree(root) if _is_stage(each)]


def owner(stage: Process) -> Process:
    """Return the process that runs a stage: it has the other ends of its pipes.

    Raises ``ProcessLookupError`` if the stage has already ended.
    """
    pipes, below = _pipes(stage.pid), {each.pid for each in tree(stage.pid)}
    found = [each for each in _everyone() if each.pid not in below and pipes & _pipes(each.pid)]
    if not found and eventually(lambda: not stage.is_alive, 5.0):
        raise ProcessLookupError(stage.pid)
    assert len(found) == 1, [each.command for each in found]
    return found[0]


def carried(root: int) -> list[Process]:
    """Return a process and the processes that end with it: its descendants, and the stages that any of these run.

    A stage of another process may be a descendant too, if this process started its fork server.
    """
    found = [each for each in tree(root) if "hearth_stage" not in each.command]
    pipes = {pipe for each in found for pipe in _pipes(each.pid)}
    return found + [each for each in _everyone() if _is_stage(each) and pipes & _pipes(each.pid)]


def _is_stage(process: Process) -> bool:
    return "hearth_stage" in process.command and process.title != "fork-server"


def _pipes(pid: int) -> set[Path]:
    return {path for path in _open_files(pid) if path.name.startswith("pipe:")}


def defunct(root: int) -> list[int]:
    """Return the ids of zombies in a process's tree."""
    pids = {each.pid for each in tree(root)}
    states = [_state(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [process.pid for process, state in filter(None, states) if state == "Z" and process.parent in pids]


def find(pid: int) -> Process:
    """Return the process with an id; raises ``ProcessLookupError`` if there is none."""
    process = _look(pid)
    if process is None:
        raise ProcessLookupError(pid)
    return process


def holder(path: Path, timeout: float = 30.0) -> Process:
    """Return the one other process that has a file open; wait for it up to ``timeout`` seconds."""
    found: list[Process] = []

    def is_held() -> bool:
        found[:] = [each for each in _everyone() if each.pid != os.getpid() and path in _open_files(each.pid)]
        return bool(found)

    assert eventually(is_held, timeout), f"no process opened {path}"
    assert len(found) == 1, found
    return found[0]


def await_end(processes: list[Process], timeout: float = 20.0) -> None:
    """Wait until every process has ended; fail with the names of those that have not."""
    eventually(lambda: not any(each.is_alive for each in processes), timeout)
    left = [f"{each.pid}: {each.command}" for each in processes if each.is_alive]
    assert not left, f"still running after {timeout:g} s:\n" + "\n".join(left)


def _everyone() -> list[Process]:
    return [each for entry in _PROC.iterdir() if entry.name.isdigit() and (each := _look(int(entry.name)))]


def _look(pid: int) -> Process | None:
    """Return a running process, None if it has ended or is a zombie."""
    found = _state(pid)
    return None if found is None or found[1] in "ZX" else found[0]


def _state(pid: int) -> tuple[Process, str] | None:
    """Return a process and the letter of its state, None if it has ended."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[19])), fields[0]


def _open_files(pid: int) -> set[Path]:
    found = set()
    try:
        for entry in (_PROC / str(pid) / "fd").iterdir():
            found.add(Path(os.readlink(entry)))
    except OSError:  # it ended or closed a file meanwhile
        pass
    return found

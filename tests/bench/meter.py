"""Measures a process tree: CPU seconds and memory, read from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_CPU_EVERY = 0.1
_MEMORY_EVERY = 0.5
_PROC = Path("/proc")
_STAGE = "hearth_stage"
JAVA_STAGE = "java stage"
_STAGE_CLASS = "hearth.stage.Main"


class Row(NamedTuple):
    """The kernel's data on a process: `parent` is a pid, `started` in ticks, `cpu` in seconds."""

    name: str
    parent: int
    started: int
    cpu: float


@dataclass
class Process:
    """One process at its last observation; CPU in seconds, memory in bytes (PSS)."""

    name: str
    started: int
    cpu: float = 0.0
    memory: int = 0


@dataclass(frozen=True)
class Cost:
    """CPU seconds used so far by a tree, and its present memory; the JVMs' share separately."""

    cpu: float
    cpu_jvm: float
    memory: int
    memory_jvm: int


@dataclass
class Meter:
    """Watches the process `root` and its descendants in a thread, until closed.

    A process that ends still counts with the CPU of its last observation; orphans stay watched, because the watcher
    remembers them.
    """

    root: int
    peak: int = 0
    peak_without_jvm: int = 0
    at_peak: list[str] = field(default_factory=list)
    _seen: dict[int, Process] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Meter:
        self._look(memory=True)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def cost(self) -> Cost:
        """Return the tree's cost so far."""
        processes = list(self._seen.values())
        jvms = [process for process in processes if process.name == "java"]
        return Cost(
            cpu=sum(process.cpu for process in processes),
            cpu_jvm=sum(process.cpu for process in jvms),
            memory=sum(process.memory for process in processes),
            memory_jvm=sum(process.memory for process in jvms),
        )

    def refreshed(self) -> Cost:
        """Observe now, and return the tree's cost."""
        self._look(memory=False)
        return self.cost()

    def _watch(self) -> None:
        """Observe the CPU often, and less often the memory, which costs the kernel more."""
        memory_due = time.monotonic()
        while not self._stop.wait(_CPU_EVERY):
            memory = time.monotonic() >= memory_due
            self._look(memory)
            if memory:
                memory_due = time.monotonic() + _MEMORY_EVERY

    def _look(self, memory: bool) -> None:
        """Observe all processes of the tree."""
        alive = _tree(self.root, self._seen)
        for pid in [pid for pid in self._seen if pid not in alive]:
            self._seen[pid].memory = 0
        for pid, row in alive.items():
            process = self._seen.setdefault(pid, Process(row.name, row.started))
            process.name, process.cpu = _name(pid, row), row.cpu
            if memory:
                process.memory = pss(pid)
        if memory:
            cost = self.cost()
            self.peak = max(self.peak, cost.memory)
            if cost.memory - cost.memory_jvm > self.peak_without_jvm:
                self.peak_without_jvm = cost.memory - cost.memory_jvm
                self.at_peak = self._breakdown()

    def _breakdown(self) -> list[str]:
        """Describe the present memory of each process, the largest first."""
        rows = sorted(self._seen.items(), key=lambda row: -row[1].memory)
        return [f"{label(_command(pid))} {one.memory / 1e6:.0f} MB" for pid, one in rows if one.memory]


def _tree(root: int, seen: Mapping[int, Process]) -> dict[int, Row]:
    """Return the root, its descendants, and the processes observed before that are alive."""
    rows = {int(entry.name): row for entry in _PROC.iterdir() if entry.name.isdigit() and (row := _stat(entry))}
    members = {root} | {pid for pid, process in seen.items() if pid in rows and rows[pid].started == process.started}
    grew = True
    while grew:
        more = {pid for pid, row in rows.items() if row.parent in members} - members
        members |= more
        grew = bool(more)
    return {pid: rows[pid] for pid in members if pid in rows}


def _stat(entry: Path) -> Row | None:
    """Return the kernel's data on a process, None if it has ended."""
    try:
        text = (entry / "stat").read_text()
    except OSError:
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return Row(name, int(fields[1]), int(fields[19]), (int(fields[11]) + int(fields[12])) / _TICKS)


def pss(pid: int) -> int:
    """Return a process's proportional set size in bytes, 0 if it has ended."""
    return _memory(pid, "Pss:")


def private(pid: int) -> int:
    """Return the bytes of memory that a process shares with no other, 0 if it has ended."""
    return _memory(pid, "Private_Clean:", "Private_Dirty:")


def wakes(pid: int) -> int:
    """Return how often the present threads of a process have waited and been woken, 0 if it has ended."""
    return sum(
        int(line.split()[1])
        for status in (_PROC / str(pid)).glob("task/*/status")
        for line in _lines(status)
        if line.startswith("voluntary_ctxt_switches:")
    )


def _memory(pid: int, *parts: str) -> int:
    lines = _lines(_PROC / str(pid) / "smaps_rollup")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(parts))


def _lines(file: Path) -> list[str]:
    """Return the lines of a file of the kernel, none if the process or thread has ended."""
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def _name(pid: int, row: Row) -> str:
    """Return a process's name; the JVM of a stage has another than Spark's."""
    return label(_command(pid)) if row.name == "java" else row.name


def descendants(root: int) -> dict[int, str]:
    """Return the pids of a process and its descendants with their command lines."""
    return {pid: _command(pid) for pid in _tree(root, {})}


@dataclass
class Kind:
    """Processes of one kind in a tree: their number, and their total CPU seconds, memory (PSS, bytes) and wakes."""

    count: int = 0
    cpu: float = 0.0
    memory: int = 0
    wakes: int = 0


def kinds(root: int) -> dict[str, Kind]:
    """Return the present processes of a tree by kind.

    A stage counts as a stage of the process that owns it; a zombie counts as "ended".
    """
    rows = _tree(root, {})
    labels = {pid: label(_command(pid)) for pid in rows}
    found: dict[str, Kind] = {}
    for pid, row in rows.items():
        kind = found.setdefault(_kind(pid, rows, labels), Kind())
        kind.count += 1
        kind.cpu += row.cpu
        kind.memory += pss(pid)
        kind.wakes += wakes(pid)
    return found


def _kind(pid: int, rows: Mapping[int, Row], labels: Mapping[int, str]) -> str:
    """Return a process's kind; a stage's kind names the nearest ancestor that is not a stage."""
    own = owner = labels[pid]
    while owner == own == _STAGE and rows[pid].parent in rows:
        pid = rows[pid].parent
        owner = labels[pid]
    return own if owner == own else f"stage of {owner}"


def label(command: str) -> str:
    """Return a short name for a command line: java, the Python module with its first argument, the program."""
    words = command.split() or ["ended"]
    if words[0].endswith("java"):
        return JAVA_STAGE if _STAGE_CLASS in words else "java"
    if "-m" in words[:-1]:
        return " ".join(words[words.index("-m") + 1 :][:2])
    return next((Path(word).name for word in words[1:] if not word.startswith("-")), Path(words[0]).name)


def _command(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""

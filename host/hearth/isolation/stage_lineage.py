"""Finds the stage of a process, of this host or of another on the machine."""

from __future__ import annotations

from pathlib import Path

from hearth_stage.lineage import lineage_of, members

_names: dict[int, str] = {}


def note(lineage: int | None, name: str) -> None:
    """Register the name of a lineage until it is forgotten."""
    if lineage is not None:
        _names[lineage] = name


def forget(lineage: int | None) -> None:
    """Remove a lineage that has ended; may be called again."""
    if lineage is not None:
        _names.pop(lineage, None)


def stage_of(pid: int) -> str | None:
    """Return the name of the stage that is or started a process; ``None`` for other processes.

    If this process itself belongs to a stage, processes of the same lineage are not attributed to a stage.
    """
    lineage = lineage_of(pid) if pid > 0 else None
    if lineage is None or lineage == lineage_of():
        return None
    return _names.get(lineage) or _eldest(lineage)


def _eldest(lineage: int) -> str:
    """Return name and number of the first process of a lineage that another host's stage started."""
    for pid in members(lineage):
        try:
            return f"{Path(f'/proc/{pid}/comm').read_text().strip()} (process {pid})"
        except OSError:
            continue
    return "a task that has ended"

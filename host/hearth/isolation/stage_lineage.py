"""Which stage a process belongs to, of this process's stages or of others on its machine."""

from __future__ import annotations

from pathlib import Path

from hearth_stage.lineage import lineage_of, members

_names: dict[int, str] = {}


def note(lineage: int | None, name: str) -> None:
    """Note whose a lineage is, until it is forgotten."""
    if lineage is not None:
        _names[lineage] = name


def forget(lineage: int | None) -> None:
    """Forget a lineage that has ended; may be told again."""
    if lineage is not None:
        _names.pop(lineage, None)


def stage_of(pid: int) -> str | None:
    """Return the name of the stage that is a process or has started it; ``None`` for what has come from no stage.

    Where this process itself was started by a stage, what else that has started is no stranger than its parent.
    """
    lineage = lineage_of(pid) if pid > 0 else None
    if lineage is None or lineage == lineage_of():
        return None
    return _names.get(lineage) or _eldest(lineage)


def _eldest(lineage: int) -> str:
    """Return what Linux shows of the first process of a lineage, whose stage somebody else has started."""
    for pid in members(lineage):
        try:
            return f"{Path(f'/proc/{pid}/comm').read_text().strip()} (process {pid})"
        except OSError:
            continue
    return "a task that has ended"

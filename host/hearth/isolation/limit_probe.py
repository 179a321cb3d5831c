"""Which limits of plugins this machine lets a host keep, and how: each is tried on a process that does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from hearth.isolation.control_group import delegated_group
from hearth_stage.limit import CPUS, FILES, MEMORY, NETWORK, TEMPORARY, Limits

_TRIED = (
    (FILES, "RLIMIT_NOFILE", Limits(open_files=64)),
    (TEMPORARY, "a file system in memory, in a mount namespace", Limits(temporary_bytes=1 << 16)),
    (f"{NETWORK}=none", "a network namespace", Limits(has_network=False)),
)
_WATCHED = {MEMORY: "its owner looks at it, and ends it", CPUS: "its owner looks at it, and holds it up"}


@dataclass(frozen=True)
class KeptLimit:
    """One limit: the key that asks for it, by what it is kept, and why it is not where it cannot be."""

    key: str
    by: str
    refusal: str = ""


def kept_limits() -> Iterator[KeptLimit]:
    """Try each limit, as the user who asks."""
    group = delegated_group()
    for key, by in _WATCHED.items():
        if sys.platform != "linux":
            yield KeptLimit(key, by, "the system is not Linux")
        else:
            yield KeptLimit(key, by if group is None else f"a control group in {group}")
    for key, by, limits in _TRIED:
        yield KeptLimit(key, by, _refusal(limits))


def _refusal(limits: Limits) -> str:
    program = limits.bound([sys.executable, "-I", "-S", "-c", ""])
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return (done.stderr.strip() or f"it exited with {done.returncode}") if done.returncode else ""

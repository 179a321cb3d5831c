"""Which plugin limits this machine can enforce, and how: each is tried on a process that does nothing.

The Java that runs Java plugins is named as well.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hearth.config.java_key import HOME
from hearth.foundation.java import JavaMissing, find_java
from hearth.isolation.control_group import delegated_group
from hearth_stage.limit import CPUS, FILES, MEMORY, NETWORK, PROCESSES, TEMPORARY, Limits

_PROBES = (
    (FILES, "RLIMIT_NOFILE", Limits(open_files=64)),
    (TEMPORARY, "a file system in memory, in a mount namespace", Limits(temporary_bytes=1 << 16)),
    (f"{NETWORK}=none", "a network namespace", Limits(has_network=False)),
    (f"{PROCESSES}=own", "a namespace of processes, with a /proc of its own", Limits(has_own_processes=True)),
)
_WATCHED = {MEMORY: "its owner watches it, and kills it", CPUS: "its owner watches it, and suspends it"}


@dataclass(frozen=True)
class KeptLimit:
    """One limit: its key, the mechanism that enforces it, and the reason if this machine cannot."""

    key: str
    by: str
    refusal: str = ""


def kept_limits() -> Iterator[KeptLimit]:
    """Try each limit as the current user."""
    group = delegated_group()
    for key, by in _WATCHED.items():
        if sys.platform != "linux":
            yield KeptLimit(key, by, "the system is not Linux")
        else:
            yield KeptLimit(key, by if group is None else f"a control group in {group}")
    for key, by, limits in _PROBES:
        yield KeptLimit(key, by, _refusal(limits))
    try:
        java = find_java()
        yield KeptLimit(HOME, f"by default Java {java.version}, {java.executable}")
    except JavaMissing as error:
        yield KeptLimit(HOME, "", f"{error}; {error.hint}")


def unkept(limits: Limits) -> dict[str, str]:
    """Return why this machine cannot enforce one of these limits, by key; tries each once per process."""
    asked = {
        TEMPORARY: limits.temporary_bytes is not None,
        NETWORK: not limits.has_network,
        PROCESSES: limits.has_own_processes,
    }
    probes = {label.partition("=")[0]: each for label, _, each in _PROBES}
    return {key: why for key, is_asked in asked.items() if is_asked and (why := _known_refusal(probes[key]))}


@cache
def _known_refusal(limits: Limits) -> str:
    return _refusal(limits)


def _refusal(limits: Limits) -> str:
    program = limits.bound([sys.executable, "-I", "-S", "-c", ""])
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return (done.stderr.strip() or f"it exited with {done.returncode}") if done.returncode else ""

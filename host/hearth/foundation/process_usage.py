"""What this process uses of its machine."""

from __future__ import annotations

import math
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

STARTED = time.time()
"""When this process has imported this module, in seconds since the epoch."""


@dataclass(frozen=True)
class ProcessUsage:
    """Processor seconds, bytes of memory, open files and their limit, and the start in seconds since the epoch.

    What the system does not tell is NaN.
    """

    cpu_seconds: float
    resident_bytes: float
    open_files: float
    most_files: float
    started: float


def process_usage() -> ProcessUsage:
    """Return what this process uses now."""
    times = os.times()
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = math.inf if limit == resource.RLIM_INFINITY else limit
    return ProcessUsage(times.user + times.system, _resident_bytes(), _open_files(), most, STARTED)


def _resident_bytes() -> float:
    """Return the present memory, where the system has no ``/proc`` the most that there was."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _open_files() -> float:
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return math.nan

"""The number of a batch write: its start time, or the previous number plus one if that is higher.

Sinks that deduplicate by offset treat two writes with one number as the same, and ignore a write with a lower number
than they have seen. So the writes of a user on one machine have strictly increasing numbers, even if the clock is set
back.
"""

from __future__ import annotations

import time
from pathlib import Path

from filelock import FileLock, Timeout

from hearth.foundation.user_file import make_directory, replace_text, state_directory
from hearth_api import ConfigError

MOST = (1 << 34) - 1
FIRST_MOMENT, MOMENTS = 1_577_836_800, 8
"""Times are counted in eighths of a second since 2020; the range ends in 2088."""
OPTION = "hearth.batch.id"
_LOCK_SECONDS = 30.0


def next_number() -> int:
    """Allocate the number of a batch write that starts now; raises ConfigError if it cannot be stored."""
    folder = state_directory("datasource")
    noted = folder / "batch-number"
    try:
        make_directory(folder)
        with FileLock(folder / "lock", timeout=_LOCK_SECONDS, mode=0o600):
            number = max(int((time.time() - FIRST_MOMENT) * MOMENTS), _last(noted) + 1)
            replace_text(noted, str(number))
    except (OSError, Timeout) as error:
        raise ConfigError(
            f"the number of a batch write cannot be stored in {str(folder)!r}: {error}",
            hint=f"set the option {OPTION}, or set HEARTH_HOME to a writable directory",
        ) from error
    return number & MOST


def _last(noted: Path) -> int:
    """Return the last allocated number; 0 if none is known, as after a power failure."""
    try:
        return int(noted.read_text())
    except (FileNotFoundError, ValueError):
        return 0

"""The number of a batch write: when it begins, or one more than the number before where that is more.

Sinks that keep what they have by offset take two writes of one number for one, and what has a lower one than they have
seen for something they have. So no two writes of a user on one machine have the same, and each a higher one than all
before it, also where the clock was set back.
"""

from __future__ import annotations

import time
from pathlib import Path

from filelock import FileLock, Timeout

from hearth.foundation.user_file import make_directory, replace_text, state_directory
from hearth_api import ConfigError

MOST = (1 << 34) - 1
FIRST_MOMENT, MOMENTS = 1_577_836_800, 8
"""Times are counted in eighths of a second since 2020, until 2088."""
OPTION = "hearth.batch.id"
_LOCK_SECONDS = 30.0


def next_number() -> int:
    """Return the number of a batch write that begins now, and take it; raises ConfigError if it cannot be noted."""
    folder = state_directory("datasource")
    noted = folder / "batch-number"
    try:
        make_directory(folder)
        with FileLock(folder / "lock", timeout=_LOCK_SECONDS, mode=0o600):
            number = max(int((time.time() - FIRST_MOMENT) * MOMENTS), _last(noted) + 1)
            replace_text(noted, str(number))
    except (OSError, Timeout) as error:
        raise ConfigError(
            f"the number of a batch write cannot be kept in {str(folder)!r}: {error}",
            hint=f"say which batch it is with the option {OPTION}, or have HEARTH_HOME name a directory to write to",
        ) from error
    return number & MOST


def _last(noted: Path) -> int:
    """Return the number that was taken last; 0 where none is known, as after a power cut."""
    try:
        return int(noted.read_text())
    except (FileNotFoundError, ValueError):
        return 0

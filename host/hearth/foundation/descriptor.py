"""The limit of open files: raises it, and has the hint for when it is reached."""

from __future__ import annotations

import errno
import resource

from hearth_api import ConnectError

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
FILES_HINT = "raise the limit of open files: `ulimit -n 65536` in the shell, LimitNOFILE=65536 in a systemd unit"
ENOUGH = 65_536
LEAST = 512
"""Spark's JVM alone opens about 400 files, including its jars."""


class TooFewFiles(ConnectError):
    """This process may not open as many files as a host needs."""

    code = "environment.files"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the limit of open files is {limit} (ulimit -n), and a host needs {LEAST}",
            hint=FILES_HINT,
        )


def raise_limit() -> None:
    """Raise the limit of open files to the maximum, as Java does; raises TooFewFiles below ``LEAST``.

    The limit is at most ``ENOUGH``, because some programs iterate over all possible descriptors.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if wanted < LEAST:
        raise TooFewFiles(wanted)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

"""File descriptors: how many this process may have, and what to do when there are none left."""

from __future__ import annotations

import errno
import resource

from hearth_api import ConnectError

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
FILES_HINT = "raise the limit of open files: `ulimit -n 65536` in the shell, LimitNOFILE=65536 in a systemd unit"
ENOUGH = 65_536
LEAST = 512
"""Spark's JVM alone opens some 400 files, its jars among them."""


class TooFewFiles(ConnectError):
    """This process may not open as many files as a host needs."""

    code = "environment.files"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"there would be too many open files: a host needs {LEAST}, and {limit} are allowed at once (ulimit -n)",
            hint=FILES_HINT,
        )


def raise_limit() -> None:
    """Let this process open as many files as it may, as Java does at its start; raises TooFewFiles below ``LEAST``.

    More than ``ENOUGH`` are not asked for: some programs walk through all descriptors there could be.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if wanted < LEAST:
        raise TooFewFiles(wanted)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

"""File descriptors: how many this process may have, and what to do when there are none left."""

from __future__ import annotations

import errno
import resource

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
FILES_HINT = "raise the limit of open files: `ulimit -n 65536` in the shell, LimitNOFILE=65536 in a systemd unit"
ENOUGH = 65_536


def raise_limit() -> int:
    """Let this process open as many files as it may, as Java does at its start; returns how many that are.

    More than ``ENOUGH`` are not asked for: some programs walk through all descriptors there could be.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft if soft != resource.RLIM_INFINITY else ENOUGH

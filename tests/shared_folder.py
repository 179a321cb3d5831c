"""A folder that the processes of a parallel run share, for what is built once in a run and never changed."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

FOLDER = "HEARTH_TESTS_SHARED_FOLDER"
"""Environment variable that processes of a run inherit from the one that started them."""


@cache
def shared_folder() -> Path:
    """Return the folder; the process that made it removes it when it ends."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="hearth-shared-")
        atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
    return Path(os.environ[FOLDER])


def built_once(name: str, build: Callable[[Path], object]) -> Path:
    """Return a folder that ``build`` has filled in one of the processes; the others wait for it."""
    target = shared_folder() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{target}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=target.parent))
            build(unfinished)
            unfinished.rename(target)
    return target

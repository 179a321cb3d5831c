"""The ``uv`` program, which resolves, installs and builds; it comes from the PyPI package of that name."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from hearth.isolation.environment_refused import UvFailed

SECONDS = 1800
"""Longest run of one command; only a large download over a slow connection takes minutes."""
_LAST_LINES = 12


@lru_cache(maxsize=1)
def program() -> str:
    """Return the path of the program."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise UvFailed("the program uv is not installed", hint="pip install uv")
    return found


def run(*arguments: str, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Run uv and return its standard output; raises ``UvFailed`` with the end of its error output."""
    return run_and_listen(*arguments, folder=folder, environment=environment)[0]


def run_and_listen(
    *arguments: str, text: str = "", folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Run uv with ``text`` as its input; returns its standard output and its warnings.

    Without a ``folder`` it runs in an empty one, so that project files of the current directory are ignored. Its
    temporary files are removed even if it is killed, as on an interrupt.
    """
    with tempfile.TemporaryDirectory(prefix="hearth-uv-") as own:
        return _run(arguments, folder or own, {"TMPDIR": own, **(environment or {})}, text)


def _run(arguments: Sequence[str], folder: str | Path, environment: Mapping[str, str], text: str) -> tuple[str, str]:
    settings = {"UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    try:
        ended = subprocess.run(
            [program(), *arguments],
            cwd=folder,
            env={**os.environ, **settings, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            input=text,
        )
    except subprocess.TimeoutExpired as error:
        raise UvFailed(f"uv {arguments[0]} did not end within {SECONDS} s") from error
    if ended.returncode != 0:
        words = [line.rstrip() for line in ended.stderr.splitlines() if line.strip()]
        raise UvFailed("\n".join(words[-_LAST_LINES:]) or f"uv exited with {ended.returncode}")
    return ended.stdout, ended.stderr

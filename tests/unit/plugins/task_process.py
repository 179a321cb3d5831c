"""Processes with a task of a bundle, which are killed and stopped by the ledgers of sinks."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.page import ROOT


@contextmanager
def running(module: str, arguments: Sequence[str], bundles: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a module that sees these first-party bundles until the block ends, also if it was stopped."""
    paths = ":".join(str(ROOT / each) for each in ("", "host", *(f"plugins/{name}/src" for name in bundles)))
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": paths}, cwd=ROOT,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.send_signal(signal.SIGCONT)
        process.communicate()

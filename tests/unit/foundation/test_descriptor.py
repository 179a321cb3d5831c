"""The limit of open files, tested in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import resource, sys
from hearth.foundation.descriptor import TooFewFiles, raise_limit
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
try:
    raise_limit()
    print(resource.getrlimit(resource.RLIMIT_NOFILE))
except TooFewFiles as error:
    print(error.code, error, error.hint, sep="|")
"""


def limited(soft: int, hard: int) -> str:
    """Return what becomes of a limit."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CODE, str(soft), str(hard)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.strip()


@pytest.mark.parametrize(("soft", "hard"), [(256, 1024), (1024, 1024), (512, 512)])
def test_limit_is_raised_to_the_maximum(soft: int, hard: int) -> None:
    """The soft limit of a shell is often a small part of that; Java raises it as well."""
    assert limited(soft, hard) == f"({hard}, {hard})"


def test_low_limit_is_an_error() -> None:
    """The number, the command that shows it, and what to do."""
    code, message, hint = limited(128, 128).split("|")
    assert code.startswith("environment.")
    assert message == "the limit of open files is 128 (ulimit -n), and a host needs 512"
    assert "ulimit -n 65536" in hint

"""Runs the tests of the data source with the oldest supported Spark, in an environment with that version."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from hearth.isolation import uv
from tests.peer.hearth_connect import ROOT

OLDER = "4.2"
TESTS = [f"tests/integration/datasource/test_{name}.py" for name in ("data_source", "write")]


def with_older(lock: str) -> str:
    """Return this Python's lock with the older Spark that it lists for an older Python."""
    entries = re.split(r"\n(?=\S)", lock)
    newer = [entry for entry in entries if entry.startswith("pyspark==") and not entry.startswith(f"pyspark=={OLDER}")]
    kept = [entry for entry in entries if entry not in newer]
    return "\n".join(
        re.sub(r" ; [^\\]*", " ", entry, count=1) if entry.startswith("pyspark==") else entry for entry in kept
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_frames_are_read_and_written_with_the_older_spark(tmp_path: Path) -> None:
    """Spark finds the format, as a batch and as a stream; this runs all session tests of this folder."""
    if pyspark.__version__.startswith(OLDER):
        pytest.skip("the tests run with it anyway")
    lock = tmp_path / "requirements.lock"
    lock.write_text(with_older((ROOT / "tools" / "requirements.lock").read_text()))
    python = str(tmp_path / "venv" / "bin" / "python")
    projects = runpy.run_path(str(ROOT / "tools" / "setup"))["PROJECTS"]
    editable = [word for project in projects for word in ("--editable", str(ROOT / project))]
    into = ["pip", "install", "--python", python, "--no-deps"]
    uv.run("venv", "--python", sys.executable, str(tmp_path / "venv"))
    uv.run(*into, "--require-hashes", "-r", str(lock))
    uv.run(*into, "--no-build-isolation", *editable)
    assert run(python, "-c", "import pyspark; print(pyspark.__version__)").startswith(OLDER)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)


def run(*command: str) -> str:
    """Run a program in the root of the checkout, and return its output."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-8000:]}{done.stderr[-8000:]}"
    return done.stdout

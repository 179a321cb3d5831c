"""`tools/bench` finds all its cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_help_names_every_case() -> None:
    """The command runs as the script starts it, without the set-up before it."""
    line = (ROOT / "tools" / "bench").read_text().splitlines()[-1]
    command = line.replace('"$root/.venv/bin/python"', sys.executable).replace('"$@"', "--help")
    done = subprocess.run(
        ["sh", "-c", f"root={ROOT}\n{command}"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "dirty" in done.stdout
    assert "database" in done.stdout
    assert "(storage)" in done.stdout

"""The page for authors works as it stands there: every command, in its order, from nothing to a removed bundle."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import hearth
from hearth.cli.main import run

GUIDE = (Path(hearth.__file__).parent / "packaging" / "README.md").read_text(encoding="utf-8")


def test_every_command_of_the_guide_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With no index to reach, and nothing of the user's own."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    lines = [line for block in re.findall(r"^```\n(.*?)^```", GUIDE, re.M | re.S) for line in block.splitlines()]
    assert len(lines) > 20
    for line in lines:
        words = shlex.split(line)
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
        elif words[0] == "hearth":
            assert run(words[1:]) == 0, (line, capsys.readouterr())
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            host = f"src{os.pathsep}{Path(hearth.__file__).parents[1]}"
            shell = line.replace("PYTHONPATH=src", f"PYTHONPATH={shlex.quote(host)}")
            subprocess.run(shell, shell=True, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    told = capsys.readouterr().out
    assert re.search(r"^upgraded orders-source from 0\.1\.0 to 0\.2\.0 in .*/plugins/orders_source\.zip$", told, re.M)
    assert "rolled orders-source back from 0.2.0 to 0.1.0" in told
    assert not list((tmp_path / "plugins").glob("*.zip"))

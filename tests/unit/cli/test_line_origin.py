"""Lines of a file and rows of a table are counted and added alike."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hearth.cli.line_origin import LineFile, LineOrigin, LineTable


@pytest.mark.parametrize("kind", [LineFile, LineTable])
def test_lines_are_added_and_counted(kind: type[LineOrigin], tmp_path: Path) -> None:
    """Also by another instance, and before there is a file."""
    path = tmp_path / "lines"
    assert kind(path).count() == 0
    kind(path).append(["it's", "two"])
    kind(path).append(["three"])
    assert kind(path).count() == 3


@pytest.mark.parametrize("kind", [LineFile, LineTable])
def test_the_printed_command_adds_a_line(kind: type[LineOrigin], tmp_path: Path) -> None:
    """If its program is installed."""
    origin = kind(tmp_path / "lines")
    origin.append(["one"])
    command = origin.command("Hello, Hearth")
    if shutil.which(command.split()[0]) is None:
        assert command == f"sqlite3 {origin.path} \"insert into lines(line) values ('Hello, Hearth')\""
        return
    subprocess.run(["sh", "-c", command], check=True)
    assert origin.count() == 2

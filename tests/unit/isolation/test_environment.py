"""An environment is a command as data, which finds its directories wherever they were copied."""

from __future__ import annotations

import shutil
from pathlib import Path

from hearth.isolation.environment import Environment


def test_command_names_what_this_machine_has(tmp_path: Path) -> None:
    """Directories replace their numbers in the command, also within a word; other words are unchanged."""
    environment = Environment("key", ("/usr/bin/java", "-cp", "{0}/*:{1}/*", "Stage"), ("/one", "/two"))
    assert environment.command_line() == ["/usr/bin/java", "-cp", "/one/*:/two/*", "Stage"]
    copied = environment.copied(tmp_path).command_line()
    assert copied == ["/usr/bin/java", "-cp", f"{tmp_path}/0/*:{tmp_path}/1/*", "Stage"]


def test_copied_directories_are_found_by_their_numbers(tmp_path: Path) -> None:
    """Two directories may have the same name; on a shared disk the original ones are used."""
    for name in ("first", "second"):
        (tmp_path / name / "site").mkdir(parents=True)
        (tmp_path / name / "site" / "name").write_text(name)
    environment = Environment("key", ("cat",), (str(tmp_path / "first/site"), str(tmp_path / "second/site")))
    environment.copy_to(tmp_path / "copy")
    found = environment.copied(tmp_path / "copy")
    assert [Path(path, "name").read_text() for path in found.paths] == ["first", "second"]
    assert environment.is_here
    assert found.is_here
    shutil.rmtree(tmp_path / "first")
    assert not environment.is_here

"""A file changes in one step or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.foundation.atomic import replace_text, replacing


def test_file_has_the_new_text_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    """Directories are made as needed, and others may read the file."""
    target = tmp_path / "new" / "file.txt"
    replace_text(target, "one")
    replace_text(target, "two")
    assert target.read_text() == "two"
    assert list(target.parent.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o644


def test_failure_keeps_the_old_file(tmp_path: Path) -> None:
    """When writing fails half way, readers never see that half."""
    target = tmp_path / "file.txt"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as fresh:
            fresh.write_text("half")
            raise ValueError("disk on fire")

    with pytest.raises(ValueError, match="disk on fire"):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]

"""How uv is run, with another program in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.isolation import uv
from hearth.isolation.environment_refused import UvFailed


def test_temporary_files_of_uv_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is killed; an interrupted command leaves nothing behind."""
    program, place = tmp_path / "uv", tmp_path / "place"
    program.write_text(f'#!/bin/sh\ntouch "$TMPDIR/unpacked"\necho "$TMPDIR" > {place}\nkill -9 $$\n')
    program.chmod(0o755)
    monkeypatch.setattr(uv, "program", lambda: str(program))
    with pytest.raises(UvFailed, match="exited with -9"):
        uv.run("pip", "install")
    assert Path(place.read_text().strip()).name.startswith("hearth-uv-")
    assert not Path(place.read_text().strip()).exists()

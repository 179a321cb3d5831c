"""Hashes of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hearth.foundation.digest import sha256_of


def test_a_file_of_several_blocks_has_the_digits_of_its_content(tmp_path: Path) -> None:
    """It is read block by block, the last of which may be a short one."""
    content = b"0123456789abcdef" * (3 << 15) + b"end"
    (tmp_path / "file").write_bytes(content)
    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()

"""Program archives are unpacked once, and are complete or absent."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from hearth.broker.unpacked import fetch_unpacked
from hearth.maven import jar
from hearth.maven.ivy import Coordinates, Progress

NAME = "org.example:program:1.0:all@tar.gz"


@pytest.fixture
def archive() -> bytes:
    """Return an archive of one file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("lib/a.jar")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"jar"))
    return packed.getvalue()


def test_an_archive_is_fetched_once_and_only_what_was_in_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bytes
) -> None:
    """What a killed set-up has left behind goes."""
    lock, cache = tmp_path / "lock.txt", tmp_path / "cache"
    digest = hashlib.sha256(archive).hexdigest()
    lock.write_text(f"{digest} {len(archive)} {NAME}")
    asked: list[Coordinates] = []

    def download(wanted: Sequence[Coordinates], folder: Path, _progress: Progress) -> dict[Coordinates, Path]:
        asked.extend(wanted)
        (folder / wanted[0].file_name).write_bytes(archive)
        return {wanted[0]: folder / wanted[0].file_name}

    monkeypatch.setattr(jar, "download", download)
    (cache / ".unpack-left" / "whole").mkdir(parents=True)
    for _ in range(2):
        place = fetch_unpacked(lock, "a program", cache)
        assert (place / "lib" / "a.jar").read_bytes() == b"jar"
    assert [str(each) for each in asked] == [NAME]
    assert sorted(each.name for each in cache.iterdir()) == sorted([".lock", digest[:16]])

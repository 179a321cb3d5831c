"""The rehearsal: a broker starts once, so that what a later start needs is in an archive.

``python -m tests.java_rehearsal`` makes the archive unless it is there, as ``tools/test`` does.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hearth.broker import KafkaBroker
from hearth.broker.jar import fetch_jars
from hearth.broker.process import QUICK_START
from tests.java_archive import java_archive
from tests.reservation import reserve_port


def rehearse(folder: Path) -> None:
    """Start a broker and stop it: a Java writes its archive while it ends."""
    with made(fetch_jars()) as options, KafkaBroker(folder / "broker", reserve_port(), jvm_options=options):
        pass


@contextmanager
def made(class_path: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """Provide the options of a Java that writes its archive, which is in its place once that has ended."""
    path = java_archive(class_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        yield (*QUICK_START, f"-XX:ArchiveClassesAtExit={unfinished}")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


if __name__ == "__main__" and not java_archive(fetch_jars()).exists():
    with tempfile.TemporaryDirectory() as scratch:
        rehearse(Path(scratch))

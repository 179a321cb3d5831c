"""The rehearsal: a broker and Java's Connect start once, so that what a later start needs is in an archive.

``python -m tests.java_rehearsal`` makes the archives unless they are there, as ``tools/test`` does.
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
from tests.peer.java_connect import JavaConnect, connect_jars
from tests.reservation import reserve_port


def rehearse(folder: Path) -> None:
    """Start both, the one on the other, and stop them: a Java writes its archive while it ends."""
    with (
        made(fetch_jars()) as broker_options,
        made(connect_jars()) as connect_options,
        KafkaBroker(folder / "broker", reserve_port(), jvm_options=broker_options) as broker,
        JavaConnect(folder / "connect", broker.bootstrap_servers, jvm_options=connect_options),
    ):
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


if __name__ == "__main__" and not all(java_archive(jars).exists() for jars in (fetch_jars(), connect_jars())):
    with tempfile.TemporaryDirectory() as scratch:
        rehearse(Path(scratch))

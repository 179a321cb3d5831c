"""One pipeline for all tests of this folder: each test leaves it running for the next."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.pipeline import Pipeline
from tests.peer.topic import Topics


@pytest.fixture(scope="session")
def small_disk() -> Iterator[Path | None]:
    """Provide a file system of 64 KiB; None unless the tests run as root.

    It is outside pytest's own folders: a run that is killed would leave a mount there that later runs cannot remove.
    """
    with tempfile.TemporaryDirectory(prefix="hearth-small-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "hearth-test", name]
        if subprocess.run(mount, capture_output=True).returncode:
            yield None
            return
        yield Path(name)
        subprocess.run(["umount", "--lazy", name], check=True)


@pytest.fixture(scope="session")
def left_running(topics: Topics, small_disk: Path | None) -> Iterator[list[Pipeline]]:
    """Hold the pipeline between two tests; the clean stop at the end must commit everything.

    The broker and the disk exist until then.
    """
    left: list[Pipeline] = []
    yield left
    for pipeline in left:
        with closing(pipeline):
            pipeline.ledger.prove()
            pipeline.stop()
            pipeline.ledger.prove_all_committed()


@pytest.fixture
def pipeline(
    request: pytest.FixtureRequest,
    left_running: list[Pipeline],
    tmp_path: Path,
    topics: Topics,
    small_disk: Path | None,
) -> Iterator[Pipeline]:
    """Provide the pipeline that the previous test left running, or a new one if that test failed.

    Its offsets are on the small disk if there is one. Repeats of earlier tests are not counted.
    """
    failed = request.session.testsfailed
    if not left_running:
        offsets = (small_disk or tmp_path) / "connect.offsets"
        started = Pipeline(tmp_path, topics, {"offset.storage.file.filename": str(offsets)})
        left_running.append(started)
        started.start()
    left_running[0].ledger.begin()
    yield left_running[0]
    if request.session.testsfailed > failed:
        left_running.pop().close()

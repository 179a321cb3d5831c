"""The disk of the offset file is full while records flow, and has space again later."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from tests.crash.pipeline import Pipeline
from tests.timeouts import TIMEOUT, eventually

FILE = "offset.storage.file.filename"


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill a disk for the duration of the block."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        fill(file)
    yield
    filler.unlink()


def fill(file: IO[bytes]) -> None:
    """Write until the disk is full."""
    while True:
        file.write(bytes(4096))


@contextmanager
def limited(pid: int) -> Iterator[None]:
    """Limit a process to files of a few bytes during the block, as a full disk or a quota would."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (16, before[1]))
    yield
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
def test_unwritable_offsets_are_kept_and_written_later(pipeline: Pipeline) -> None:
    """The old file stays, the host reports the error and lines flow on; nothing repeats, as nothing restarted."""
    with pipeline.ledger.flowing():
        with limited(pipeline.host.pid):
            check_while_full(pipeline, "File too large")
        check_once_there_is_room(pipeline)
    pipeline.ledger.prove_exactly_once()
    print(pipeline.ledger)


@pytest.mark.slow
def test_a_full_disk_under_the_offsets_loses_nothing(pipeline: Pipeline, small_disk: Path | None) -> None:
    """The same on a real file system that is full."""
    if small_disk is None:
        pytest.skip("no file system can be mounted here")
    with pipeline.ledger.flowing():
        with filled(small_disk):
            check_while_full(pipeline, os.strerror(errno.ENOSPC))
        check_once_there_is_room(pipeline)
    pipeline.ledger.prove_exactly_once()
    print(pipeline.ledger)


@pytest.mark.slow
def test_a_host_killed_while_the_disk_is_full_repeats_and_loses_nothing(pipeline: Pipeline) -> None:
    """The next host starts from the last offsets that were written."""
    with pipeline.ledger.flowing():
        with limited(pipeline.host.pid):
            check_while_full(pipeline, "File too large")
            pipeline.kill()
        pipeline.start()
    pipeline.ledger.prove()
    assert pipeline.ledger.at_topic.repeats > 0
    print(pipeline.ledger)


def check_while_full(pipeline: Pipeline, reason: str) -> None:
    """Wait until the host reports the error; check that lines flow and the stored position does not change."""
    assert eventually(lambda: f"({FILE}): {reason}" in pipeline.host.last_words(), TIMEOUT), pipeline.host.last_words()
    stored = pipeline.ledger.committed_position()
    pipeline.await_new_line()
    assert pipeline.ledger.committed_position() == stored
    assert not list(pipeline.ledger.offsets.parent.glob("*.new"))


def check_once_there_is_room(pipeline: Pipeline) -> None:
    """Wait until a newer position is stored."""
    stored = pipeline.ledger.committed_position()
    assert eventually(lambda: pipeline.ledger.committed_position() > stored, TIMEOUT)

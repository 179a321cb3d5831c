"""A streaming read and write lose and duplicate nothing, whichever of their processes is killed."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.bundles.build import plugin_path
from tests.crash.stream_ledger import StreamLedger
from tests.peer.hearth_connect import file_bundle
from tests.spark_python import spark_python
from tests.timeouts import TIMEOUT, eventually


def bundles() -> str:
    """Return the program's plugin.path: the file source and an upserting sink."""
    return f"{file_bundle()},{plugin_path('upsert')}"


def environment() -> dict[str, str]:
    """Return the program's environment: Spark runs this Python."""
    return {**os.environ, "PYSPARK_PYTHON": spark_python()}


@pytest.mark.long
def test_each_line_exists_once_after_a_kill(tmp_path: Path) -> None:
    """The short form: a kill, and a second run that reads the rest.

    Without ``--long``, tests of ``datasource`` kill tasks, repeat micro-batches and continue from checkpoints.
    """
    with closing(StreamLedger(tmp_path, bundles(), "local[3]", 1, environment())) as ledger:
        verdict = ledger.run(1)
        assert verdict.is_clean, verdict


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("where", ["driver", "executors"])
@pytest.mark.parametrize(("master", "seed"), [("local[3]", 1), ("local-cluster[2,1,640]", 2)])
def test_each_line_exists_once_after_fifty_kills(tmp_path: Path, master: str, seed: int, where: str) -> None:
    """Kills driver, JVM, executors, workers, the reader, tasks and stages: a query may end, and is restarted."""
    with closing(StreamLedger(tmp_path, bundles(), master, seed, environment(), where)) as ledger:
        verdict = ledger.run(50)
        print(verdict)
        assert verdict.is_clean, verdict
    assert eventually(lambda: not ledger.tasks, TIMEOUT), "tasks are there after their read has ended"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_each_line_is_upserted_once_after_fifty_kills_between_commits(tmp_path: Path) -> None:
    """The sink receives rows that it already has again, under the same offsets."""
    with closing(StreamLedger(tmp_path, bundles(), "local[3]", 3, environment())) as ledger:
        verdict = ledger.run_between_commits(50)
        print(verdict)
        assert verdict.is_clean, verdict
        assert verdict.replayed >= 50, verdict

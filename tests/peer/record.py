"""Runs cases on Java's Kafka Connect that have no answer yet, and keeps the answers.

python -m tests.peer.record            # new and changed cases
python -m tests.peer.record --all      # all cases; git shows any difference
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from hearth.broker import KafkaBroker
from tests.peer.cases import WORKERS
from tests.peer.comparison import COMPARISONS
from tests.peer.distributed import JavaDistributed
from tests.peer.java_connect import JavaConnect
from tests.peer.side import Side
from tests.peer.topic import Topics
from tests.peer.worker import Worker
from tests.reservation import reserve_port


def java(folder: Path, bootstrap_servers: str, settings: Mapping[str, str]) -> Worker:
    """Return a Java Connect worker, distributed if the settings are a cluster's."""
    if "group.id" in settings:
        return JavaDistributed(folder, bootstrap_servers, settings["group.id"], settings)
    return JavaConnect(folder, bootstrap_servers, settings)


@contextmanager
def java_side() -> Iterator[Side]:
    """Provide Java's side with its own broker."""
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaBroker(Path(folder, "broker"), reserve_port()) as broker,
        Side(java, Path(folder, "java"), Topics(broker.bootstrap_servers), WORKERS) as side,
    ):
        yield side


def record(is_all: bool) -> None:
    """Run Java unless every case has an answer already, and remove answers of removed cases."""
    wanted = {
        each: [case for case in each.cases if is_all or case.name in each.kept.unanswered(each.cases)]
        for each in COMPARISONS
    }
    with java_side() if any(wanted.values()) else nullcontext() as side:
        for comparison, cases in wanted.items():
            print(f"{comparison.kept.path.name}: {len(cases)} cases")
            comparison.kept.keep(comparison.cases, comparison.play(side, cases) if side and cases else {})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run all cases again")
    record(parser.parse_args().all)

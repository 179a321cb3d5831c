"""A source that generates numbers, a sink that books them, and a judge for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from tests.crash.actor import Journal, repeat
from tests.crash.arrival import Books
from tests.crash.flow import Flow
from tests.crash.verdict import SinkJudge, SourceJudge, Verdict
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

_LOOK_EVERY = 0.15

Stored = Callable[[], dict[int, int]]


class JudgedConnectors:
    """Connectors of the bundle ``ledger``, NAME-sink and NAME-source, with their topics and judges."""

    def __init__(
        self, folder: Path, servers: str, name: str, partitions: tuple[int, int], rate: int, tasks: int
    ) -> None:
        """Create the topics; ``partitions`` are the sink's and the source's, ``rate`` is the sink's."""
        self.name, self._servers, self._tasks = name, servers, tasks
        self._partitions = partitions
        self.books, self.unwell = folder / "books", folder / "unwell"
        self.books.mkdir(parents=True)
        topics = Topics(servers)
        for suffix, count in (("", partitions[0]), ("-made", partitions[1]), ("-letters", 1)):
            topics.create(name + suffix, count)
        self.flow = Flow(servers, name, partitions[0], rate)

    @contextmanager
    def judged(self, stored: Stored, journal: Journal, isolation: str = "read_uncommitted") -> Iterator[None]:
        """Create the judges; ``stored`` returns the committed positions of the source."""
        self._journal = journal
        books = Books(self.books, f"{self.name}-sink")
        self.sink_judge = SinkJudge(self._servers, f"{self.name}-sink", self.name, books, f"{self.name}-letters")
        self.sink_judge.partitions = self._partitions[0]
        made = f"{self.name}-made"
        self.source_judge = SourceJudge(self._servers, made, self._partitions[1], stored, isolation)
        with closing(self.sink_judge), closing(self.source_judge):
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Run both judges repeatedly until the end of the block."""
        stop = threading.Event()
        with ThreadPoolExecutor(2) as lanes, ExitStack() as stack:
            judges = (self.sink_judge, self.source_judge)
            futures = [lanes.submit(repeat, partial(self._look, judge), _LOOK_EVERY, stop) for judge in judges]
            stack.callback(lambda: [future.result() for future in futures])
            stack.callback(stop.set)
            yield

    def _look(self, judge: SinkJudge | SourceJudge) -> None:
        if not judge.look():
            self._journal.note(f"{type(judge).__name__} could not look: {judge.silence}")

    def await_look(self) -> None:
        """Run both judges once, as soon as the broker responds."""
        for judge in (self.sink_judge, self.source_judge):
            assert eventually(judge.look, TIMEOUT, 0.5), f"no look was possible: {judge.silence}"

    def conclude(self) -> tuple[Verdict, Verdict]:
        """Judge sink and source; call it when no record is in flight."""
        sink = self.sink_judge.conclude(self.flow.produced)
        return sink, self.source_judge.conclude(Books(self.books, f"{self.name}-source"))

    def sink(self, manner: Mapping[str, str], in_batches: bool = False) -> dict[str, str]:
        """Return the configuration of the sink; a sink that refuses records has a dead letter queue."""
        errors = {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{self.name}-letters",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        return {
            "name": f"{self.name}-sink",
            "connector.class": f"org.example.ledger.Ledger{'Batch' if in_batches else ''}SinkConnector",
            "topics": self.name,
            **self._common(),
            **manner,
            **(errors if manner.get("ledger.errant", "never") != "never" else {}),
        }

    def source(self, seed: int) -> dict[str, str]:
        """Return the configuration of the source."""
        return {
            "name": f"{self.name}-source",
            "connector.class": "org.example.ledger.LedgerSourceConnector",
            "topic": f"{self.name}-made",
            "ledger.partitions": str(self._partitions[1]),
            "ledger.seed": str(seed),
            **self._common(),
        }

    def _common(self) -> dict[str, str]:
        return {"tasks.max": str(self._tasks), "ledger.folder": str(self.books), "ledger.unwell": str(self.unwell)}

"""Contexts of tasks in a test, without host or broker.

A test creates a task, passes it one of these contexts with `initialize`, starts it and makes the host's calls. A
context answers from memory and records the task's requests. It simulates no timing of a host: it makes no calls,
commits nothing, and requests have no effect except to be recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from hearth_api.record import SinkRecord, TopicPartition
from hearth_api.task import ErrantRecordReporter, OffsetStorageReader, SinkTaskContext, SourceTaskContext

Offsets = Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Source partitions, each with the offset after the last committed record."""


class MemoryOffsetStorageReader(OffsetStorageReader):
    """Returns the offsets it was given."""

    def __init__(self, offsets: Offsets = ()) -> None:
        """Store pairs of a source partition and its offset, as in the records of an earlier run."""
        self._offsets = [(dict(partition), dict(offset)) for partition, offset in offsets]

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last offset given for a source partition, None if there is none."""
        return next((dict(offset) for known, offset in reversed(self._offsets) if known == partition), None)

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the offset of each partition, in the requested order."""
        return [self.offset(partition) for partition in partitions]


class MemorySourceTaskContext(SourceTaskContext):
    """The context of a source task that resumes from the given offsets, or starts at the beginning."""

    def __init__(self, config: Mapping[str, str] | None = None, offsets: Offsets = ()) -> None:
        """Store the task's configuration and the committed offsets of an earlier run."""
        self._config = dict(config or {})
        self._reader = MemoryOffsetStorageReader(offsets)

    def config(self) -> dict[str, str]:
        """Return the configuration."""
        return dict(self._config)

    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of the offsets."""
        return self._reader


class MemoryErrantRecordReporter(ErrantRecordReporter):
    """Collects the records that a task reports, in `reported`."""

    def __init__(self) -> None:
        """Start with none."""
        self.reported: list[tuple[SinkRecord, BaseException]] = []

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Store the record with its error; the future is done at once."""
        self.reported.append((record, error))
        done: Future[None] = Future()
        done.set_result(None)
        return done


class MemorySinkTaskContext(SinkTaskContext):
    """The context of a sink task; its attributes hold the task's requests.

    `rewound` holds the offsets to read next, `timeout_ms` the wait before the next put (None = the host's default),
    `paused` the paused partitions, `commits_requested` the number of requested commits.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        assignment: Iterable[TopicPartition] = (),
        reporter: ErrantRecordReporter | None = None,
    ) -> None:
        """Store the task's configuration, its partitions, and the reporter of bad records, if any."""
        self._config = dict(config or {})
        self._assignment = set(assignment)
        self._reporter = reporter
        self.rewound: dict[TopicPartition, int] = {}
        self.timeout_ms: int | None = None
        self.paused: set[TopicPartition] = set()
        self.commits_requested = 0

    def config(self) -> dict[str, str]:
        """Return the configuration."""
        return dict(self._config)

    def offset(self, partition: TopicPartition | Mapping[TopicPartition, int], offset: int | None = None, /) -> None:
        """Record the offsets to read next."""
        if isinstance(partition, TopicPartition):
            assert offset is not None, "one partition comes with its offset"
            self.rewound[partition] = offset
        else:
            self.rewound.update(partition)

    def timeout(self, timeout_ms: int) -> None:
        """Record the requested wait."""
        self.timeout_ms = timeout_ms

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions of the task."""
        return set(self._assignment)

    def pause(self, *partitions: TopicPartition) -> None:
        """Record paused partitions."""
        self.paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Record resumed partitions."""
        self.paused -= set(partitions)

    def request_commit(self) -> None:
        """Count the request."""
        self.commits_requested += 1

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter of bad records."""
        return self._reporter

"""What a task is given in a test, with no host and no broker.

A test makes a task, gives it one of these contexts with `initialize`, starts it and calls what the host would call.
A context answers from memory and keeps what the task asked of it. It promises nothing of a host's timing: no call
comes by itself, nothing is committed, and what the task asks for has no effect but to be remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from hearth_api.record import SinkRecord, TopicPartition
from hearth_api.task import ErrantRecordReporter, OffsetStorageReader, SinkTaskContext, SourceTaskContext

Offsets = Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Source partitions, each with the offset after the last record that was committed."""


class MemoryOffsetStorageReader(OffsetStorageReader):
    """Knows the offsets it was given."""

    def __init__(self, offsets: Offsets = ()) -> None:
        """Take pairs of a source partition and its offset, as in the records of an earlier run."""
        self._offsets = [(dict(partition), dict(offset)) for partition, offset in offsets]

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last offset given for a source partition, None when there is none."""
        return next((dict(offset) for known, offset in reversed(self._offsets) if known == partition), None)

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the offset of each partition, in the order asked."""
        return [self.offset(partition) for partition in partitions]


class MemorySourceTaskContext(SourceTaskContext):
    """The context of a source task that goes on from offsets given to it, or begins when there are none."""

    def __init__(self, config: Mapping[str, str] | None = None, offsets: Offsets = ()) -> None:
        """Take the task's configuration and what an earlier run has committed."""
        self._config = dict(config or {})
        self._reader = MemoryOffsetStorageReader(offsets)

    def config(self) -> dict[str, str]:
        """Return the configuration."""
        return dict(self._config)

    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of the offsets."""
        return self._reader


class MemoryErrantRecordReporter(ErrantRecordReporter):
    """Keeps the records that a task reports, in `reported`."""

    def __init__(self) -> None:
        """Start with none."""
        self.reported: list[tuple[SinkRecord, BaseException]] = []

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Keep the record with its error; the future is done at once."""
        self.reported.append((record, error))
        done: Future[None] = Future()
        done.set_result(None)
        return done


class MemorySinkTaskContext(SinkTaskContext):
    """The context of a sink task; what the task asked for stands in its attributes.

    `rewound` holds the offsets it wants to read next, `timeout_ms` the wait before the next put (None = as the host
    does by itself), `paused` the partitions it wants nothing of, `commits_requested` how often it asked for a commit.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        assignment: Iterable[TopicPartition] = (),
        reporter: ErrantRecordReporter | None = None,
    ) -> None:
        """Take the task's configuration, the partitions it holds, and where bad records go, if they go anywhere."""
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
        """Note where the task wants to read next."""
        if isinstance(partition, TopicPartition):
            assert offset is not None, "one partition comes with its offset"
            self.rewound[partition] = offset
        else:
            self.rewound.update(partition)

    def timeout(self, timeout_ms: int) -> None:
        """Note how long the task wants to wait."""
        self.timeout_ms = timeout_ms

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions the task holds."""
        return set(self._assignment)

    def pause(self, *partitions: TopicPartition) -> None:
        """Note partitions the task wants nothing of."""
        self.paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Note partitions the task wants to read again."""
        self.paused -= set(partitions)

    def request_commit(self) -> None:
        """Count the request."""
        self.commits_requested += 1

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return where bad records go."""
        return self._reporter

"""Runs connectors in memory: makes all calls of a host, in its order, without its processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from hearth_api.connector import (
    Connector,
    SinkConnector,
    SinkConnectorContext,
    SourceConnector,
    SourceConnectorContext,
)
from hearth_api.errors import RetriableError
from hearth_api.record import OffsetAndMetadata, SinkRecord, SourceRecord, TopicPartition
from hearth_api.task import OffsetStorageReader, SinkTask, SourceTask
from hearth_api.testing.acceptance_rule import Caller, require
from hearth_api.testing.memory_context import (
    MemoryErrantRecordReporter,
    MemoryOffsetStorageReader,
    MemorySinkTaskContext,
    MemorySourceTaskContext,
    Offsets,
)

AnyTask = TypeVar("AnyTask", SourceTask, SinkTask)
AnyRun = TypeVar("AnyRun", bound="MemoryRun[Any]")

_PAUSE = 0.01


class MemoryConnectorContext(SourceConnectorContext, SinkConnectorContext):
    """The context of a connector; `requests` counts requested reconfigurations, `errors` holds reported errors."""

    def __init__(self, offsets: Offsets = ()) -> None:
        """Store the committed offsets of an earlier run."""
        self._reader = MemoryOffsetStorageReader(offsets)
        self.requests = 0
        self.errors: list[BaseException] = []

    def request_task_reconfiguration(self) -> None:
        """Count the request."""
        self.requests += 1

    def raise_error(self, error: BaseException) -> None:
        """Store the error."""
        self.errors.append(error)

    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of the offsets."""
        return self._reader


class MemoryRun(Generic[AnyTask]):
    """Runs a connector and its tasks from start to stop, as a context manager.

    All calls to the connector come on one thread, those to each task on another, each limited to `seconds`. With
    `max_tasks` 0 there are no tasks, and `task_configs` is not called.
    """

    def __init__(self, kind: type[Connector], config: Mapping[str, str], max_tasks: int, seconds: float) -> None:
        """Store what to run; makes no calls."""
        self.kind = kind
        self.config = dict(config)
        self.max_tasks = max_tasks
        self.connector: Connector
        self.connector_context = MemoryConnectorContext()
        self.tasks: list[AnyTask] = []
        self.caller = Caller(seconds)
        self._callers: list[Caller] = []
        self._is_started = False

    def __enter__(self: AnyRun) -> AnyRun:
        """Start the connector, call `task_configs` and start the tasks; stop everything again if one fails."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the tasks, then the connector."""
        self.stop()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return how the running connector would split its work."""
        return self.caller.call("task_configs()", self.connector.task_configs, max_tasks)

    def stop(self) -> None:
        """Stop the tasks and then the connector; repeated calls, and calls after one that hung, do nothing."""
        stops: list[tuple[str, Callable[[], None]]] = [
            ("the task's stop()", partial(self._stop_task, task)) for task in self.tasks
        ]
        callers = [*self._callers]
        if self._is_started:
            stops.append(("the connector's stop()", self.connector.stop))
            callers.append(self.caller)
        self.tasks, self._callers, self._is_started = [], [], False
        for (what, stop), caller in zip(stops, callers):
            if not caller.is_stuck:
                caller.call(what, stop)
            caller.end()

    def _start(self) -> None:
        self.connector = self.kind()
        self.caller.call("initialize()", self.connector.initialize, self.connector_context)
        self._is_started = True
        self.caller.call("the connector's start()", self.connector.start, self.config)
        task_class = self.caller.call("task_class()", self.connector.task_class)
        for config in self.task_configs(self.max_tasks) if self.max_tasks else ():
            task: Any = task_class()
            caller = Caller(self.caller.seconds)
            self.tasks.append(task)
            self._callers.append(caller)
            caller.call("the task's start()", self._start_task, task, config)

    def _start_task(self, task: AnyTask, config: Mapping[str, str]) -> None:
        raise NotImplementedError

    def _stop_task(self, task: AnyTask) -> None:
        task.stop()


class SourceRun(MemoryRun[SourceTask]):
    """A run of a source connector that resumes from `offsets`.

    `committed` holds the offset of every record taken, as if Kafka had acknowledged each. `in_columns` calls
    `poll_batch` of a `BatchSourceTask` and converts the batches to records.
    """

    def __init__(
        self,
        kind: type[SourceConnector],
        config: Mapping[str, str],
        offsets: Offsets = (),
        max_tasks: int = 1,
        seconds: float = 10.0,
        in_columns: bool = False,
    ) -> None:
        """Store the connector, its configuration and the committed offsets of an earlier run."""
        super().__init__(kind, config, max_tasks, seconds)
        self.in_columns = in_columns
        self.committed = [(dict(partition), dict(offset)) for partition, offset in offsets]
        self.connector_context = MemoryConnectorContext(self.committed)

    def poll(self) -> list[SourceRecord]:
        """Poll each task once and return the records, in the order of the tasks."""
        found: list[SourceRecord] = []
        for task, caller in zip(self.tasks, self._callers):
            records = caller.call("poll_batch()", _polled_in_columns, task) if self.in_columns else NotImplemented
            if records is NotImplemented:
                records = caller.call("poll()", _polled, task)
            require(
                records is None
                or (isinstance(records, list) and all(isinstance(each, SourceRecord) for each in records)),
                f"poll() returned {_shown(records)}: return a list of SourceRecord, or None",
            )
            found += records or []
        return found

    def take(self, count: int) -> list[SourceRecord]:
        """Poll until a number of records has arrived and return exactly these; their offsets count as committed.

        Raises a `Violation` if they do not arrive in time. Further records of the last poll are not committed, as
        after a killed host.
        """
        found: list[SourceRecord] = []
        deadline = time.monotonic() + self.caller.seconds
        while len(found) < count:
            require(
                time.monotonic() < deadline, f"{len(found)} records came within {self.caller.seconds:g} s, not {count}"
            )
            polled = self.poll()
            found += polled
            if not polled:
                time.sleep(_PAUSE)  # a poll() that does not block must not busy-wait
        taken = found[:count]
        self.committed += [
            (dict(each.source_partition), dict(each.source_offset))
            for each in taken
            if each.source_partition is not None and each.source_offset is not None
        ]
        return taken

    def _start_task(self, task: SourceTask, config: Mapping[str, str]) -> None:
        task.initialize(MemorySourceTaskContext(config, self.committed))
        task.start(config)


class SinkRun(MemoryRun[SinkTask]):
    """A run of a sink connector whose first task has all partitions.

    `in_columns` passes the records to a `BatchSinkTask` as batches.
    """

    def __init__(
        self,
        kind: type[SinkConnector],
        config: Mapping[str, str],
        partitions: Iterable[TopicPartition],
        max_tasks: int = 1,
        seconds: float = 10.0,
        in_columns: bool = False,
    ) -> None:
        """Store the connector, its configuration, and the partitions of its first task."""
        super().__init__(kind, config, max_tasks, seconds)
        self.in_columns = in_columns
        self.partitions = set(partitions)
        self.reporter = MemoryErrantRecordReporter()
        self._positions: dict[TopicPartition, OffsetAndMetadata] = {}

    def put(self, records: Sequence[SinkRecord]) -> None:
        """Put records; repeat with the same records after a RetriableError, as a host does."""
        require(self.tasks, "task_configs(1) returned no task")
        deadline = time.monotonic() + self.caller.seconds
        while True:
            try:
                self._put(list(records))
                break
            except RetriableError as error:
                require(time.monotonic() < deadline, f"put() keeps raising RetriableError: {error}")
                time.sleep(_PAUSE)
        for each in records:
            assert each.original_kafka_partition is not None, "a record that was read has a partition"
            place = TopicPartition(each.original_topic, each.original_kafka_partition)
            self._positions[place] = OffsetAndMetadata(each.original_kafka_offset + 1)

    def _put(self, records: list[SinkRecord]) -> None:
        if self.in_columns:
            from hearth_api.batch import records_to_batches

            if self._callers[0].call("put_batch()", _put_in_columns, self.tasks[0], records_to_batches(records)):
                return
        self._callers[0].call("put()", self.tasks[0].put, records)

    def pre_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the result of the task's pre_commit."""
        found = self._callers[0].call("pre_commit()", self.tasks[0].pre_commit, dict(self._positions))
        for place, offset in found.items():
            known = self._positions.get(place)
            require(
                known is not None and offset.offset <= known.offset,
                f"pre_commit() returned {offset.offset} for {place}, which is beyond what put() was given",
            )
        return dict(found)

    def _start_task(self, task: SinkTask, config: Mapping[str, str]) -> None:
        task.initialize(MemorySinkTaskContext(config, self.partitions, self.reporter))
        task.start(config)
        task.open(set(self.partitions))

    def _stop_task(self, task: SinkTask) -> None:
        task.close(set(self.partitions))
        task.stop()


def _polled(task: SourceTask) -> list[SourceRecord] | None:
    try:
        return task.poll()
    except RetriableError:  # a host logs it and polls again
        return None


def _polled_in_columns(task: SourceTask) -> Any:
    """Return the records of the batches that a task returns, or any other result unchanged."""
    from hearth_api.batch import Batch, BatchSourceTask, batch_to_source_records

    assert isinstance(task, BatchSourceTask), f"{type(task).__name__} has no form for columns"
    try:
        batches = task.poll_batch()
    except RetriableError:
        return None
    if batches is None or batches is NotImplemented:
        return batches
    require(
        isinstance(batches, list) and all(isinstance(each, Batch) for each in batches),
        f"poll_batch() returned {_shown(batches)}: return a list of Batch, None or NotImplemented",
    )
    for batch in batches:
        for name in ("value", "source_offset"):
            require(
                batch.column(name) is not None,
                f"poll_batch() returned a batch without the column {name!r}: "
                "Batch.of_rows and Batch.of_arrow make it, of `offsets` where it is the offset",
            )
    return [record for batch in batches for record in batch_to_source_records(batch)]


def _put_in_columns(task: SinkTask, batches: list[Any]) -> bool:
    """Put batches; return whether the task accepted them rather than request records."""
    from hearth_api.batch import BatchSinkTask

    assert isinstance(task, BatchSinkTask), f"{type(task).__name__} has no form for columns"
    return task.put_batch(batches) is not NotImplemented


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"

"""Tasks move records between Kafka and another system, each for a share of a connector's work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from hearth_api.plugin import UNDEFINED_VERSION
from hearth_api.plugin_metrics import PluginMetrics

if TYPE_CHECKING:
    from hearth_api.record import OffsetAndMetadata, RecordMetadata, SinkRecord, SourceRecord, TopicPartition


class TransactionBoundary(str, Enum):
    """How the transactions of an exactly-once source task start and end; follows KIP-618."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"

    def __str__(self) -> str:
        """Return the text used in configurations."""
        return self.value


class OffsetStorageReader(ABC):
    """Reads the connector's committed source offsets; follows Kafka's `OffsetStorageReader`.

    Partitions and offsets are mappings of text to text, numbers, booleans, bytes or `None`; lists and nested mappings
    are not stored. Bytes are stored and returned as base64 text; a partition may be looked up with the bytes
    themselves. Provided by the host; callable from any thread. Each call is a round trip to the host.
    """

    @abstractmethod
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last committed offset of a source partition, or `None` if there is none.

        Records returned by `poll` but not yet acknowledged are not included.
        """

    @abstractmethod
    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the last committed offset of each partition, in the requested order; `None` for none.

        One round trip for any number of partitions. Raises `ConnectError` if the store cannot be read.
        """


class TransactionContext(ABC):
    """Lets a source task define transaction boundaries; follows KIP-618.

    Call it on the thread that runs `poll`; a record in a request must be in the batch that this `poll` returns. A
    request for a record takes precedence over one for its batch.
    """

    @abstractmethod
    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Request a commit after `record`, the last of the transaction, or after the next batch."""

    @abstractmethod
    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Request an abort after `record`, or after the next batch.

        The records of the transaction are discarded, but their source offsets are still committed, so they are not
        read again. To read them again, raise an exception instead.
        """


class SourceTaskContext(ABC):
    """Gives a source task access to the host, from any thread; follows Kafka's `SourceTaskContext`."""

    _metrics: PluginMetrics | None = None

    @abstractmethod
    def config(self) -> dict[str, str]:
        """Return the latest task configuration with its variables resolved again.

        It may differ from the one passed to `start` if a secret has changed since.
        """

    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of the committed source offsets, never `None`."""

    def transaction_context(self) -> TransactionContext | None:
        """Return the transaction context, `None` unless `transaction.boundary=connector` is set."""
        return None

    def metrics(self) -> PluginMetrics:
        """Return the registry of the task's own metrics (KIP-877); callable from any thread."""
        if self._metrics is None:
            self._metrics = PluginMetrics()
        return self._metrics


class ErrantRecordReporter(ABC):
    """Reports records that a sink task could not write; follows KIP-610."""

    @abstractmethod
    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Send a record and its error to the dead-letter topic and the log, as configured.

        Call it from `put` with a record that `put` received. Returns at once; the future completes when the dead
        letter is stored. The host waits for all of them before it calls `pre_commit`, so a task need not wait. With
        `errors.tolerance=none` it raises `ConnectError`; swallowing that error has no effect: the task fails as soon
        as `put` returns.
        """


class SinkTaskContext(ABC):
    """Gives a sink task access to the host; follows Kafka's `SinkTaskContext`.

    Call it from the task's own methods, on the thread that called them; requests take effect after the method returns.
    """

    _metrics: PluginMetrics | None = None

    @abstractmethod
    def config(self) -> dict[str, str]:
        """Return the latest task configuration with its variables resolved again."""

    @overload
    def offset(self, partition: TopicPartition, offset: int, /) -> None: ...
    @overload
    def offset(self, partition: Mapping[TopicPartition, int], /) -> None: ...
    @abstractmethod
    def offset(self, partition: TopicPartition | Mapping[TopicPartition, int], offset: int | None = None, /) -> None:
        """Set the next offset to read in one or several partitions.

        For sinks that store offsets in their own system, normally called in `open`. It takes effect before the next
        fetch and replaces the last committed offset; records already in a batch still arrive.
        """

    @abstractmethod
    def timeout(self, timeout_ms: int) -> None:
        """Set how many milliseconds the host waits before it repeats `put` after a `RetriableError`.

        It applies to the next wait only. Without it the host waits until offsets are due to be committed.
        """

    @abstractmethod
    def assignment(self) -> set[TopicPartition]:
        """Return the partitions currently assigned to the task; empty before the first `open`."""

    @abstractmethod
    def pause(self, *partitions: TopicPartition) -> None:
        """Stop fetching from assigned partitions; records already fetched still arrive."""

    @abstractmethod
    def resume(self, *partitions: TopicPartition) -> None:
        """Resume fetching from partitions that this task paused."""

    @abstractmethod
    def request_commit(self) -> None:
        """Request an offset commit soon, for example after a flush; a hint without a guaranteed time."""

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter of bad records.

        `None` unless a dead-letter topic or `errors.log.enable` is configured: raise the error in that case.
        """
        return None

    def metrics(self) -> PluginMetrics:
        """Return the registry of the task's own metrics (KIP-877); callable from any thread."""
        if self._metrics is None:
            self._metrics = PluginMetrics()
        return self._metrics


class Task(ABC):
    """The common base of source and sink tasks; follows Kafka's `Task`.

    A task class is constructed without arguments, in the environment of its bundle. One instance lives from one start
    to one stop; a restart creates a new instance, often in another process. A task has its own process and main
    thread. Only with `task.isolation=environment` does it share a process with other tasks of its bundle, on its own
    thread and with the same modules: since the process keeps running, `stop` must end what `start` began.
    """

    def version(self) -> str:
        """Return the version of the task, usually the connector's; shown in the status and in metrics."""
        return UNDEFINED_VERSION

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Parse the configuration and open the task's resources.

        Called once, after `initialize`, with one of the mappings that `task_configs` returned, variables resolved. If
        it raises, the task becomes FAILED; `stop` is still called.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release what `start` opened; called once, but not after a crash or a kill."""


class SourceTask(Task):
    """Reads another system and returns records for Kafka; follows Kafka's `SourceTask`.

    Order of calls: `initialize`, `start`, then `poll` in a loop with `commit_record` and `commit` in between, `stop`.
    While the task is paused, `poll` is not called. Records count as delivered once Kafka acknowledges them; after a
    crash the task restarts from the last committed offset and repeats what came after it: at least once. For
    throughput, return many records per call, or use `hearth_api.batch.BatchSourceTask`.
    """

    TRANSACTION_BOUNDARY_CONFIG = "transaction.boundary"

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Keep the context; called once, before `start`."""
        self.context = context

    @abstractmethod
    def poll(self) -> list[SourceRecord] | None:
        """Return the next records, or `None` if there are none at present.

        Called in a loop, one call at a time, always on the same thread. It may block if there is nothing to read, but
        must return regularly (within about a second), or the task can be neither paused nor committed. The order of
        the records is kept per source partition. The next call does not mean that the last records were delivered. A
        `RetriableError` is logged and counts as `None`; any other exception makes the task FAILED and is not covered
        by `errors.tolerance`.
        """

    def is_exhausted(self) -> bool:
        """Return whether there is certainly nothing to poll at this moment; `False` if unknown.

        For a bounded read of a DataFrame, which ends then, or else after polls have returned nothing for a while; not
        called for a connector's task. Called on the thread of `poll`, right after a poll that returned nothing.
        Override it in a source that can check for more data, such as one of files, but not in one that fetches in the
        background or polls another system at intervals.
        """
        return False

    def commit(self) -> None:
        """Called after each successful commit of source offsets; for systems that keep a position of their own.

        That is every `offset.flush.interval.ms`, even if nothing new was committed. The committed offsets need not be
        the latest ones that `poll` returned: use `commit_record` for that. It may be called on another thread than
        `poll`, even during one. Exceptions are only logged.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called once for each record that is done.

        That is after Kafka acknowledged it, with the place it was written to, or with `None` if a transformation
        filtered it or `errors.tolerance=all` skipped it. Possibly on another thread than `poll` and long after it;
        calls for different partitions come in no fixed order. `record` is the record as `poll` returned it. The host
        skips the calls, and their cost, unless a class overrides this method.
        """

    @abstractmethod
    def stop(self) -> None:
        """Make a running `poll` return soon.

        Called once, possibly from another thread while `poll` runs. `poll` is not called again afterwards, but
        `commit_record` and `commit` may be. Set a flag or wake a selector; release resources that only `poll` uses
        once `poll` sees the flag.
        """


class SinkTask(Task):
    """Writes records from Kafka to another system; follows Kafka's `SinkTask`.

    Order of calls, all on one thread: `initialize`, `start`, `open`, then `put` in a loop with `pre_commit` in
    between, `close` and `open` whenever partitions move, finally `pre_commit`, `close`, `stop`. Partitions and offsets
    are always Kafka's own, from before any transformation: `SinkRecord.original_topic` and its counterparts hold them
    for a record (KIP-793). Records may be repeated after a crash: write idempotently, or store the offsets together
    with the data and call `context.offset`.
    """

    TOPICS_CONFIG = "topics"
    TOPICS_REGEX_CONFIG = "topics.regex"

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context; called once, before `start`, while no partition is assigned yet."""
        self.context = context

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Prepare writers for newly assigned partitions.

        Called after every assignment, before the first records of these partitions; with cooperative assignment, only
        with the new ones. If it raises, the task becomes FAILED.
        """

    @abstractmethod
    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records, or buffer them until `flush` or `pre_commit`.

        Called in a loop; the collection is empty if nothing arrived, which is the moment for time-driven work. Records
        are in Kafka's order per partition. A `RetriableError` makes the host pause fetching and call again with the
        same records after `context.timeout`; any other exception makes the task FAILED and is not covered by
        `errors.tolerance`: report single bad records to `context.errant_record_reporter()`.
        """

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Make everything that `put` received so far durable in the other system.

        Called by `pre_commit`, so every `offset.flush.interval.ms` and before partitions are closed. When it returns,
        the host commits `current_offsets`. If it raises, the data is not durable; the host returns to the last
        committed offsets and delivers the records again.
        """

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that are safe to commit; by default flushes and returns all.

        `current_offsets` holds for each partition the offset after the last record passed to `put`, including filtered
        and skipped records. Override it to commit less: an offset counts only for a given partition, and only if it is
        not beyond the given one. An empty mapping commits nothing, for sinks that store offsets themselves. Same
        thread and same handling of exceptions as `flush`.
        """
        self.flush(current_offsets)
        return current_offsets

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Close the writers of partitions that the task loses.

        Called after a last `pre_commit` if partitions are released in order, and without one if they were lost
        (another task may already have them: do not write then). No records of them arrive until the next `open`.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release the task's resources.

        Called once, on the same thread as all other calls, after the last `put`, `pre_commit` and `close`.
        """

"""Tasks: they move records between Kafka and another system, one share of a connector's work each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from hearth_api.plugin import UNDEFINED_VERSION

if TYPE_CHECKING:
    from hearth_api.record import OffsetAndMetadata, RecordMetadata, SinkRecord, SourceRecord, TopicPartition


class TransactionBoundary(str, Enum):
    """How the transactions of an exactly-once source task begin and end, follows KIP-618."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"

    def __str__(self) -> str:
        """Return the text used in configurations."""
        return self.value


class OffsetStorageReader(ABC):
    """Reads the connector's committed source offsets, follows Kafka's `OffsetStorageReader`.

    Partitions and offsets are mappings of text to text, numbers, booleans, bytes or `None`; lists and
    nested mappings are not stored. Bytes are stored as base64 and come back so, as text; a partition may
    be asked for with the bytes themselves. Provided by the host; callable from any thread. A call is a
    round trip to the host.
    """

    @abstractmethod
    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last committed offset of a source partition, or `None` when there is none.

        A record that was returned by `poll` but is not yet acknowledged is not included.
        """

    @abstractmethod
    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the last committed offset of each partition, in the order asked; `None` for none.

        One round trip however many partitions are asked for. Raises `ConnectError` when the store cannot
        be read.
        """


class TransactionContext(ABC):
    """Lets a source task place transaction boundaries itself, follows KIP-618.

    To be called on the thread that runs `poll`; a request made for a record must name a record of the
    batch that this `poll` returns. A request on a record takes precedence over one on its batch.
    """

    @abstractmethod
    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Ask to commit after `record`, which is the last of the transaction, or after the next batch."""

    @abstractmethod
    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Ask to abort after `record`, or after the next batch.

        The records of the transaction are discarded, but their source offsets are committed all the
        same: they are not read again. To have them read again raise an exception instead.
        """


class SourceTaskContext(ABC):
    """What a source task may ask of the host, from any thread; Kafka's `SourceTaskContext`."""

    @abstractmethod
    def config(self) -> dict[str, str]:
        """Return the latest task configuration with its variables resolved again.

        It may differ from the one given to `start` when a secret has changed since.
        """

    @abstractmethod
    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of the committed source offsets, never `None`."""

    def transaction_context(self) -> TransactionContext | None:
        """Return the transaction context, `None` unless `transaction.boundary=connector` is in force."""
        return None


class ErrantRecordReporter(ABC):
    """Takes records that a sink task could not write, follows KIP-610."""

    @abstractmethod
    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Send a record and its error to the dead-letter topic and the log, as configured.

        To be called from `put` with a record that `put` received. Returns at once; the future ends when
        the dead letter is stored. The host waits for all of them before it calls `pre_commit`, so a task
        need not wait. With `errors.tolerance=none` it raises `ConnectError`, and swallowing that error
        does not help: the task is failed as soon as `put` returns.
        """


class SinkTaskContext(ABC):
    """What a sink task may ask of the host, follows Kafka's `SinkTaskContext`.

    To be called from within the task's own methods, on the thread that called them; requests take effect
    after the method has returned.
    """

    @abstractmethod
    def config(self) -> dict[str, str]:
        """Return the latest task configuration with its variables resolved again."""

    @overload
    def offset(self, partition: TopicPartition, offset: int, /) -> None: ...
    @overload
    def offset(self, partition: Mapping[TopicPartition, int], /) -> None: ...
    @abstractmethod
    def offset(self, partition: TopicPartition | Mapping[TopicPartition, int], offset: int | None = None, /) -> None:
        """Move the position in one or several partitions to the offset that is to be read next.

        For sinks that keep the positions in their own system, normally called in `open`. It takes effect
        before the next batch is fetched and replaces the last committed offset; records already in a
        batch still arrive.
        """

    @abstractmethod
    def timeout(self, timeout_ms: int) -> None:
        """Set how many milliseconds to wait before `put` is repeated after a `RetriableError`.

        It holds for the next wait only. Without it the host waits until offsets are due to be committed.
        """

    @abstractmethod
    def assignment(self) -> set[TopicPartition]:
        """Return the partitions the task holds now; empty before the first `open`."""

    @abstractmethod
    def pause(self, *partitions: TopicPartition) -> None:
        """Stop fetching from partitions the task holds; records already fetched still arrive."""

    @abstractmethod
    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch again from partitions this task paused."""

    @abstractmethod
    def request_commit(self) -> None:
        """Ask for an offset commit soon, for example after a flush; a hint without any promise of time."""

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return where to report bad records.

        `None` unless a dead-letter topic or `errors.log.enable` is configured: raise the error in that
        case.
        """
        return None


class Task(ABC):
    """What source and sink tasks share: a version, a start and a stop, follows Kafka's `Task`.

    A task class is constructed without arguments, in the environment of its bundle. One instance lives
    from one start to one stop; a restart makes a new instance, often in another process. A task has a
    process, and its main thread, to itself. Only with `task.isolation=environment` it shares one with
    other tasks of its bundle, on a thread of its own, and sees the same modules as they: `stop` has to
    end what `start` began there, for the process goes on.
    """

    def version(self) -> str:
        """Return the version of the task, usually the connector's; shown in the status and in metrics."""
        return UNDEFINED_VERSION

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Parse the configuration and open what the task needs.

        Called once, after `initialize`, with one of the mappings `task_configs` returned, variables
        resolved. An exception makes the task FAILED; `stop` is called even then.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release what `start` opened; called once, but never after a crash or a kill."""


class SourceTask(Task):
    """Reads another system and returns records for Kafka, follows Kafka's `SourceTask`.

    Order of calls: `initialize`, `start`, then `poll` in a loop with `commit_record` and `commit` in
    between, `stop`. While the task is paused `poll` is not called. Records count as delivered when Kafka
    acknowledged them; after a crash the task starts again from the last committed offset and repeats
    what came after it: at least once. Throughput comes from returning many records per call, or from
    `hearth_api.batch.BatchSourceTask`.
    """

    TRANSACTION_BOUNDARY_CONFIG = "transaction.boundary"

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Keep the context; called once, before `start`."""
        self.context = context

    @abstractmethod
    def poll(self) -> list[SourceRecord] | None:
        """Return the next records, or `None` when there are none at present.

        Called in a loop, one call at a time, always on the same thread. It may block for a while when
        there is nothing to read, but must return regularly (a second at most is good), else the task can
        be neither paused nor committed. The order of the records is kept per source partition. The next
        call does not mean that the last records were delivered. `RetriableError` is logged and counts as
        `None`; any other exception makes the task FAILED and is not covered by `errors.tolerance`.
        """

    def is_exhausted(self) -> bool:
        """Return whether there is nothing to be polled at this moment, for certain; `False` where nobody knows.

        For a bounded read of a DataFrame, which ends with that and else once polls have brought nothing for a
        while; a connector's task is not asked. Called on the thread of `poll`, right after one that returned
        nothing. Only a source that looks whether there is more, such as one of files, can say so; one that
        fetches in the background, or asks another system now and then, leaves it.
        """
        return False

    def commit(self) -> None:
        """Learn that source offsets were committed; for systems that keep a position of their own.

        Called after each successful offset commit (every `offset.flush.interval.ms`), also when nothing
        new was committed. The committed offsets need not be the latest ones `poll` returned: follow
        `commit_record` for that. It may come on another thread than `poll`, even during one. Exceptions
        are only logged.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Learn that one record is done with.

        Called once per record after Kafka acknowledged it, with the place it was written to; or with
        `None` when a transformation filtered it or `errors.tolerance=all` skipped it. Possibly on
        another thread than `poll` and long after it; calls for different partitions come in no fixed
        order. `record` is the record as `poll` returned it. The host skips the calls, and their cost,
        unless a class overrides this method.
        """

    @abstractmethod
    def stop(self) -> None:
        """Make a running `poll` return soon.

        Called once, possibly from another thread while `poll` runs; `poll` is not called again after it,
        but `commit_record` and `commit` may be. Set a flag or wake a selector; release what only `poll`
        uses when `poll` has seen the flag.
        """


class SinkTask(Task):
    """Takes records from Kafka and writes them to another system, follows Kafka's `SinkTask`.

    Order of calls, all on one thread: `initialize`, `start`, `open`, then `put` in a loop with
    `pre_commit` in between, `close` and `open` whenever partitions move, at the end `pre_commit`,
    `close`, `stop`. Partitions and offsets are always Kafka's own, as before any transformation:
    `SinkRecord.original_topic` and its neighbours tell them for a record (KIP-793). Records may come
    again after a crash: write idempotently, or keep the offsets together with the data and call
    `context.offset`.
    """

    TOPICS_CONFIG = "topics"
    TOPICS_REGEX_CONFIG = "topics.regex"

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context; called once, before `start`, while no partition is assigned yet."""
        self.context = context

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Prepare writers for newly assigned partitions.

        Called after every assignment, before the first records of these partitions; with cooperative
        assignment only the new ones are named. An exception makes the task FAILED.
        """

    @abstractmethod
    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records, or buffer them until `flush` or `pre_commit`.

        Called in a loop; the collection is empty when nothing arrived, which is the moment for
        time-driven work. The order is Kafka's per partition. `RetriableError` makes the host pause
        fetching and call again with the same records after `context.timeout`; any other exception makes
        the task FAILED and is not covered by `errors.tolerance`: hand single bad records to
        `context.errant_record_reporter()`.
        """

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Make everything that `put` received so far durable in the other system.

        Called by `pre_commit`, so every `offset.flush.interval.ms` and before partitions are closed.
        When it returns, the host commits `current_offsets`. An exception means: not durable; the host
        goes back to the last committed offsets and delivers the records again.
        """

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that are safe to commit; by default flushes and returns them all.

        `current_offsets` holds for each partition the offset after the last record given to `put`,
        filtered and skipped records included. Override it to commit less: an offset counts only if its
        partition was asked for and it is not beyond the given one. An empty mapping commits nothing, for
        sinks that keep offsets themselves. Same thread and same meaning of exceptions as `flush`.
        """
        self.flush(current_offsets)
        return current_offsets

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Close the writers of partitions the task loses.

        Called after a last `pre_commit` when partitions are given up in order, and without one when they
        were lost (another task may already hold them: do not write then). No records of them arrive
        until the next `open`.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release what the task holds.

        Called once, on the same thread as everything else, after the last `put`, `pre_commit` and
        `close`.
        """

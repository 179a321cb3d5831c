"""A sink task inside its stage process: open, put, pre_commit and close, in the order of the runtime's calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from hearth_api import (
    ConnectError,
    ErrantRecordReporter,
    OffsetAndMetadata,
    PluginMetrics,
    SinkRecord,
    SinkTask,
    SinkTaskContext,
    TopicPartition,
)
from hearth_api.batch import Batch, BatchSinkTask, records_to_batches
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.load import load_class, version_of
from hearth_execution.order import are_interleaved, cut, in_order
from hearth_execution.transformation import Step, Transformations, records_in_turn
from hearth_stage.channel import MessageSender
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    OpenPartitions,
    PreCommit,
    PreCommitted,
    Put,
    PutDone,
    ReportRecord,
    SinkStarted,
    StartSink,
    StopSink,
)

FEWEST_ROWS = 16
"""If interleaved batches split into runs with fewer rows on average, the task gets records instead."""
MOST_SECONDS = 0.05
"""How long the puts of one call may take before no further one starts."""


class ConsumedRecords:
    """The consumed records of one put; transformed records find theirs by row."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches

    def __getitem__(self, row: int) -> Batch:
        """Return one record as a batch; rows are numbered across all batches."""
        for batch in self._batches:
            if row < batch.num_rows:
                return batch.slice(row, 1)
            row -= batch.num_rows
        raise IndexError(row)


class TaskNotices:
    """Sends a task's notices to its runtime, and counts those that puts have to wait for."""

    def __init__(self, channel: MessageSender) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self.sent_count = 0
        """Number of context requests and reports, counted before they are sent, and of skipped puts."""

    def ask(self, request: ContextRequest) -> None:
        """Send a request; may be called from any thread."""
        self.count()
        self._channel.notify(request)

    def report(self, report: ReportRecord, *, is_tolerant: bool) -> Future[None]:
        """Send a report, counted if it ends the task; may be called from any thread."""
        if not is_tolerant:
            self.count()
        return self._channel.begin(report)

    def count(self) -> None:
        """Count one more."""
        with self._lock:
            self.sent_count += 1


class ChannelErrantReporter(ErrantRecordReporter):
    """Reports bad records to the runtime, which logs and dead-letters them (KIP-610).

    A record refers to its consumed record, so it may be reported at any time after its put, from any thread. A record
    that the task created itself goes through the connector's converters, as in Java.
    """

    def __init__(self, notices: TaskNotices, *, tolerant: bool, converts: bool) -> None:
        """``converts`` is whether a converter of the connector is in this process, which cannot run during a put."""
        self._notices = notices
        self._tolerant = tolerant
        self._converts = converts

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Report one record; the future completes when the record is in the dead letter queue.

        Raises ``ConnectError`` if nothing is tolerated, and for a record that the task created if a converter of the
        connector is in the task's bundle.
        """
        answer = self._notices.report(self._report(record, ErrorInfo.of(error)), is_tolerant=self._tolerant)
        if not self._tolerant:
            raise ConnectError("Tolerance exceeded in error handler") from error
        done: Future[None] = Future()
        answer.add_done_callback(lambda reply: _finish(done, reply))
        return done

    def _report(self, record: SinkRecord, error: ErrorInfo) -> ReportRecord:
        if record.consumed is not None:
            rows, row = record.consumed
            return ReportRecord(error, rows[row])
        if self._converts:
            raise ConnectError(
                f"cannot report a record of {record.topic!r} that did not come from a put: a converter of the "
                "connector is in the same bundle as its task",
                hint="report the record that put received, or a copy from its new_record",
            )
        (batch,) = records_to_batches([record])
        return ReportRecord(error, batch, made=True)


def _finish(done: Future[None], reply: Future[None]) -> None:
    if (error := reply.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(None)


class StageSinkContext(SinkTaskContext):
    """The context of a sink task; its requests are sent as notices before the next answer."""

    def __init__(
        self,
        notices: TaskNotices,
        config: dict[str, str],
        metrics: PluginMetrics,
        reporter: ErrantRecordReporter | None,
    ) -> None:
        self._metrics = metrics
        self._notices = notices
        self._config = config
        self._reporter = reporter
        self.partitions: set[TopicPartition] = set()

    def config(self) -> dict[str, str]:
        """Return the task's configuration."""
        return dict(self._config)

    def offset(self, partition: TopicPartition | Mapping[TopicPartition, int], offset: int | None = None) -> None:
        """Continue to read from these offsets, before the next put."""
        wanted: Any = partition if isinstance(partition, Mapping) else {partition: offset}
        self._notices.ask(ContextRequest(rewind=wanted))

    def timeout(self, timeout_ms: int) -> None:
        """Wait at most this long (milliseconds) before the next put."""
        self._notices.ask(ContextRequest(timeout=timeout_ms))

    def assignment(self) -> set[TopicPartition]:
        """Return the open partitions of the task."""
        return set(self.partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop reading from these partitions until they are resumed."""
        self._notices.ask(ContextRequest(pause=list(partitions)))

    def resume(self, *partitions: TopicPartition) -> None:
        """Read from these partitions again."""
        self._notices.ask(ContextRequest(resume=list(partitions)))

    def request_commit(self) -> None:
        """Request a commit as soon as the current put is done."""
        self._notices.ask(ContextRequest(commit=True))

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter of bad records; ``None`` unless a dead letter topic or error log is set."""
        return self._reporter


class StageSink:
    """Answers the ``sink.*`` calls of the protocol."""

    def __init__(
        self, channel: MessageSender, transformations: Transformations, metrics: PluginMetrics | None = None
    ) -> None:
        self._metrics = metrics or PluginMetrics()
        self._transformations = transformations
        self._task: SinkTask | None = None
        self._context: StageSinkContext | None = None
        self._notices = TaskNotices(channel)
        self._steps: list[Step] = []
        self._tolerant = self._was_accepted = False

    def start(self, call: StartSink) -> SinkStarted:
        """Create the connector's task and start it."""
        task = load_class(call.reference)().task_class()()
        self._steps = call.steps
        self._tolerant = call.tolerant
        converts = self._transformations.plugins.has_converters
        reporter = ChannelErrantReporter(self._notices, tolerant=self._tolerant, converts=converts)
        self._context = StageSinkContext(
            self._notices, call.config, self._metrics, reporter if call.reporter else None
        )
        task.initialize(self._context)
        self._task = task
        task.start(call.config)
        columns = task.columns if isinstance(task, BatchSinkTask) and not self._steps else None
        is_batch = isinstance(task, BatchSinkTask)
        return SinkStarted(version_of(task), is_batch, None if columns is None else sorted(columns), takes_next=True)

    def open(self, call: OpenPartitions) -> None:
        """Open newly assigned partitions."""
        task, context = self._parts()
        context.partitions |= set(call.partitions)
        task.open(call.partitions)

    def put(self, call: Put) -> PutDone:
        """Pass records to the task, unless the put before them did not end as the sender expected.

        Then the runtime first has to handle the task's requests, or repeat the refused records, before newer ones.
        """
        applies = call.heard is None or (self._was_accepted and call.heard == self._notices.sent_count)
        self._was_accepted = False
        if not applies:
            return PutDone(taken=0)
        done = self._put_all(call)
        self._was_accepted = done.taken == max(1, len(call.ends))
        return done

    def _put_all(self, call: Put) -> PutDone:
        """Run the puts of a call one after the other until the task sends a request or the time is used up.

        A plugin's call timeout is meant for one put, and a stop should wait for no more than one slow put.
        """
        rows = ConsumedRecords(consumed) if (consumed := call.split[1]) else None
        began, seconds, longest, taken = time.perf_counter(), 0.0, 0.0, 0
        failures: list[Failure] = []
        for batches in call.puts():
            if taken and (self._notices.sent_count != call.heard or seconds > MOST_SECONDS):
                break
            try:
                failed = self._put(batches, rows)
            except Exception as error:
                if not taken:
                    raise
                return PutDone(taken, failures, error=ErrorInfo.of(error), seconds=seconds, longest=longest)
            before, seconds = seconds, time.perf_counter() - began
            longest = max(longest, seconds - before)
            failures += failed
            if failed and not self._tolerant:
                break
            taken += 1
        return PutDone(taken, failures, seconds=seconds, longest=longest)

    def skip_puts(self) -> None:
        """Skip the puts that were sent ahead and have not started; may be called from any thread."""
        self._notices.count()

    def _put(self, arrived: list[Batch], rows: ConsumedRecords | None) -> list[Failure]:
        """Run the stage's own steps and pass the records to the task; returns the failed rows.

        If a record fails in a step and nothing is tolerated, nothing is put.
        """
        task, _ = self._parts()
        failures: list[Failure] = []
        if isinstance(task, BatchSinkTask):
            put: Callable[[], None] = partial(_put_batches, task, self._stepped(arrived, rows, failures))
        else:
            records, failures = self._transformations.to_records(self._steps, arrived, rows)
            put = partial(task.put, records)
        if not failures or self._tolerant:
            put()
        return failures

    def pre_commit(self, call: PreCommit) -> PreCommitted:
        """Flush; return the offsets that may be committed."""
        task, _ = self._parts()
        asked = {partition: OffsetAndMetadata(offset) for partition, offset in call.offsets.items()}
        agreed = task.pre_commit(asked) or {}
        return PreCommitted({partition: each.offset for partition, each in agreed.items()})

    def close(self, call: ClosePartitions) -> None:
        """Close revoked partitions."""
        task, context = self._parts()
        try:
            task.close(call.partitions)
        finally:
            context.partitions -= set(call.partitions)

    def stop(self, call: StopSink) -> None:
        """Stop the task."""
        self.end()

    def end(self) -> None:
        """Stop the task, once, if its start was called."""
        task, self._task = self._task, None
        try:
            if task is not None:
                task.stop()
        finally:
            self._metrics.close()

    def _stepped(self, batches: list[Batch], consumed: ConsumedRecords | None, failures: list[Failure]) -> list[Batch]:
        """Run batches through the stage's own steps, if it has any."""
        if self._steps:
            outcome = self._transformations.apply(self._steps, batches)
            failures += outcome.failures
            batches = in_order(outcome.batches)
        return [each.replace(consumed=consumed) for each in batches]

    def _parts(self) -> tuple[SinkTask, StageSinkContext]:
        assert self._task is not None, "the protocol starts a task before it is used"
        assert self._context is not None
        return self._task, self._context


def _put_batches(task: BatchSinkTask, batches: list[Batch]) -> None:
    if are_interleaved(batches) and not task.takes_interleaved:
        pieces = cut(batches)
        takes_records = sum(batch.num_rows for batch in batches) < FEWEST_ROWS * len(pieces)
    else:
        pieces, takes_records = batches, False
    if takes_records or any(batch.needs_records for batch in batches) or task.put_batch(pieces) is NotImplemented:
        task.put(records_in_turn(batches))

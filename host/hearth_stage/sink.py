"""A sink task inside its stage process: open, put, pre_commit, close, in the order the runtime asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from hearth_api import (
    Batch,
    BatchSinkTask,
    ConnectError,
    ErrantRecordReporter,
    OffsetAndMetadata,
    SinkRecord,
    SinkTask,
    SinkTaskContext,
    TopicPartition,
    batch_to_sink_records,
)
from hearth_execution.failure import ErrorInfo
from hearth_execution.load import load_class, version_of
from hearth_execution.transformation import Step, Transformations, steps_of
from hearth_stage.channel import Channel, Reply, Request


class ConsumedRecords:
    """The records of one put as they were consumed; records made of them find theirs by their row."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches

    def __getitem__(self, row: int) -> Batch:
        """Return one record, as a batch: rows are numbered through all batches."""
        for batch in self._batches:
            if row < batch.num_rows:
                return batch.slice(row, 1)
            row -= batch.num_rows
        raise IndexError(row)


class ChannelErrantReporter(ErrantRecordReporter):
    """Hands bad records to the runtime, which logs and dead-letters them (KIP-610).

    A record brings what it was read from with it, so it may be reported at any time after its put, from any thread.
    """

    def __init__(self, channel: Channel, *, tolerant: bool) -> None:
        self._channel = channel
        self._tolerant = tolerant

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Report one record; the future completes when it is written where bad records go.

        Raises ``ConnectError`` where nothing is tolerated, and for a record that no put brought.
        """
        if record.consumed is None:
            raise ConnectError(
                f"a record of {record.topic!r} that did not come with a put cannot be reported",
                hint="report the record that put received, or a copy made with its new_record",
            ) from error
        rows, row = record.consumed
        answer = self._channel.begin("sink.errant", {"error": ErrorInfo.of(error).to_json()}, [rows[row]])
        if not self._tolerant:
            raise ConnectError("Tolerance exceeded in error handler") from error
        done: Future[None] = Future()
        answer.add_done_callback(lambda reply: _finish(done, reply))
        return done


def _finish(done: Future[None], reply: Future[Reply]) -> None:
    if (error := reply.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(None)


class StageSinkContext(SinkTaskContext):
    """What a sink task sees of its runtime; requests travel as notices ahead of the next answer."""

    def __init__(self, channel: Channel, config: dict[str, str], reporter: ErrantRecordReporter | None) -> None:
        self._channel = channel
        self._config = config
        self._reporter = reporter
        self.partitions: set[TopicPartition] = set()

    def config(self) -> dict[str, str]:
        """Return the task's configuration."""
        return dict(self._config)

    def offset(self, partition: TopicPartition | Mapping[TopicPartition, int], offset: int | None = None) -> None:
        """Read on from these offsets, before the next put."""
        wanted = partition if isinstance(partition, Mapping) else {partition: offset}
        self._request(rewind=[[*key, value] for key, value in wanted.items()])

    def timeout(self, timeout_ms: int) -> None:
        """Wait at most this long (milliseconds) before the next put."""
        self._request(timeout=timeout_ms)

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions the task has open."""
        return set(self.partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Read nothing from these partitions until they are resumed."""
        self._request(pause=[list(each) for each in partitions])

    def resume(self, *partitions: TopicPartition) -> None:
        """Read these partitions again."""
        self._request(resume=[list(each) for each in partitions])

    def request_commit(self) -> None:
        """Commit as soon as the current put is done."""
        self._request(commit=True)

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter of bad records; ``None`` unless a dead letter topic or error log is set."""
        return self._reporter

    def _request(self, **requests: Any) -> None:
        self._channel.notify("sink.context", requests)


class StageSink:
    """Answers the ``sink.*`` calls of the protocol."""

    def __init__(self, channel: Channel, transformations: Transformations) -> None:
        self._channel = channel
        self._transformations = transformations
        self._task: SinkTask | None = None
        self._context: StageSinkContext | None = None
        self._steps: list[Step] = []
        self._tolerant = False

    def start(self, request: Request) -> Reply:
        """Create the connector's task and start it."""
        config: dict[str, str] = request.args["config"]
        task = load_class(request.args["reference"])().task_class()()
        self._steps = steps_of(request.args.get("steps", ()))
        self._tolerant = bool(request.args.get("tolerant"))
        reporter = ChannelErrantReporter(self._channel, tolerant=self._tolerant)
        self._context = StageSinkContext(self._channel, config, reporter if request.args.get("reporter") else None)
        task.initialize(self._context)
        self._task = task
        task.start(config)
        columns = task.columns if isinstance(task, BatchSinkTask) and not self._steps else None
        return Reply(
            {
                "version": version_of(task),
                "is_batch": isinstance(task, BatchSinkTask),
                "columns": None if columns is None else sorted(columns),
            }
        )

    def open(self, request: Request) -> None:
        """Open newly assigned partitions."""
        partitions = [TopicPartition(*each) for each in request.args["partitions"]]
        task, context = self._parts()
        context.partitions |= set(partitions)
        task.open(partitions)

    def put(self, request: Request) -> Reply:
        """Run the stage's own steps and give the records to the task.

        Where a record fails in a step and nothing is tolerated, nothing is put. The last ``consumed`` of the bodies
        are the records as they were read.
        """
        arrived = request.batches
        first = len(arrived) - int(request.args.get("consumed", 0))
        rows = ConsumedRecords(arrived[first:]) if first < len(arrived) else None
        batches: list[Batch] = []
        failures = []
        for batch in arrived[:first]:
            outcome = self._transformations.apply(self._steps, batch)
            batches += [each.replace(consumed=rows) for each in outcome.batches]
            failures += [failure.to_json() for failure in outcome.failures]
        if not failures or self._tolerant:
            self._put(batches)
        return Reply({"failures": failures})

    def pre_commit(self, request: Request) -> Reply:
        """Flush; the answer says up to where the task is done."""
        asked = _offsets(request.args["offsets"])
        task, _ = self._parts()
        agreed = task.pre_commit(asked)
        return Reply({"offsets": [[*key, value.offset] for key, value in (agreed or {}).items()]})

    def close(self, request: Request) -> None:
        """Close partitions that are taken away."""
        partitions = [TopicPartition(*each) for each in request.args["partitions"]]
        task, context = self._parts()
        try:
            task.close(partitions)
        finally:
            context.partitions -= set(partitions)

    def stop(self, request: Request) -> None:
        """Stop the task."""
        self.end()

    def end(self) -> None:
        """Stop the task unless that is done; one whose start was entered is stopped once."""
        task, self._task = self._task, None
        if task is not None:
            task.stop()

    def _put(self, batches: list[Batch]) -> None:
        task, _ = self._parts()
        if not isinstance(task, BatchSinkTask) or task.put_batch(batches) is NotImplemented:
            task.put([record for batch in batches for record in batch_to_sink_records(batch)])

    def _parts(self) -> tuple[SinkTask, StageSinkContext]:
        assert self._task is not None, "the protocol starts a task before it is used"
        assert self._context is not None
        return self._task, self._context


def _offsets(rows: list[list[Any]]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {TopicPartition(topic, partition): OffsetAndMetadata(offset) for topic, partition, offset in rows}

"""A source task inside its stage process: polls while there is credit, hands records over, commits on a second thread.

Threads are Kafka Connect's: ``start``, ``poll`` and ``stop`` run on the main thread, ``commit`` and ``commit_record``
on a second one, because a ``poll`` may take long.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hearth_api import (
    DataError,
    OffsetStorageReader,
    PluginMetrics,
    RecordMetadata,
    RetriableError,
    SourceRecord,
    SourceTask,
    SourceTaskContext,
)
from hearth_api.batch import Batch, BatchSourceTask, batch_to_source_records, packed_by_kind, records_by_kind
from hearth_api.java import offset_to_json
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.load import load_class, version_of
from hearth_execution.order import numbered
from hearth_execution.transformation import Outcome, Step, Transformations
from hearth_stage.channel import MessageSender
from hearth_stage.kept_poll import FEW, KeptPoll
from hearth_stage.offset_call import ReadOffsets
from hearth_stage.poll_buffer import PollBuffer
from hearth_stage.task_call import (
    AddCredit,
    CommitRecords,
    CommitSource,
    EndTransaction,
    HoldPolling,
    Polled,
    PollFailed,
    PollsEmpty,
    ResumePolling,
    SourceStarted,
    StartSource,
    StopSource,
)
from hearth_stage.transaction_request import TransactionRequests

log = logging.getLogger(__name__)


class ChannelOffsetReader(OffsetStorageReader):
    """Reads committed source offsets from the store, through the runtime."""

    def __init__(self, channel: MessageSender) -> None:
        self._channel = channel

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the committed offset of one source partition, or ``None``."""
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets in the order of ``partitions``, ``None`` where there is none."""
        wanted = [json.loads(offset_to_json(each)) for each in partitions]  # in their stored form: bytes as base64
        return self._channel.call(ReadOffsets(wanted)).offsets


class StageSourceContext(SourceTaskContext):
    """The context of a source task."""

    def __init__(
        self,
        channel: MessageSender,
        config: dict[str, str],
        metrics: PluginMetrics,
        transactions: TransactionRequests | None = None,
    ) -> None:
        self._metrics = metrics
        self._reader = ChannelOffsetReader(channel)
        self._config, self._transactions = config, transactions

    def config(self) -> dict[str, str]:
        """Return the task's configuration."""
        return dict(self._config)

    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return the reader of committed offsets."""
        return self._reader

    def transaction_context(self) -> TransactionRequests | None:
        """Return the task's transaction context, ``None`` if it does not define transaction boundaries."""
        return self._transactions


class _IdleTime:
    """Measures for how long polls have returned nothing, and reports that once.

    ``trusts_task`` is whether the task's own report that it is exhausted counts at once.
    """

    def __init__(self, empty_ms: int | None = None, *, trusts_task: bool = False) -> None:
        self._seconds = math.inf if empty_ms is None else empty_ms / 1000
        self._trusts_task = trusts_task
        self._since: float | None = None
        self._is_reported = False

    def begin(self) -> None:
        """Note the start of a poll: the first empty one starts the idle time."""
        if self._since is None:
            self._since = time.monotonic()

    def reset(self) -> None:
        """Reset the idle time after records, or after an error."""
        self._since, self._is_reported = None, False

    def is_due(self, task: SourceTask) -> bool:
        """Return whether to report now, after a poll; true once."""
        if self._is_reported or self._since is None:
            return False
        if time.monotonic() - self._since < self._seconds and not (self._trusts_task and task.is_exhausted()):
            return False
        self._is_reported = True
        return True


class StageSource:
    """Answers the ``source.*`` calls of the protocol."""

    def __init__(
        self, channel: MessageSender, transformations: Transformations, metrics: PluginMetrics | None = None
    ) -> None:
        self._channel = channel
        self._metrics = metrics or PluginMetrics()
        self._transformations = transformations
        self._task: SourceTask | None = None
        self._steps: list[Step] = []
        self._transactions: TransactionRequests | None = None
        self._poll_buffer = PollBuffer(channel.notify, self._polled, self._report)
        self._failure: Exception | None = None
        """The error that was reported to the runtime: no poll follows it."""
        self._polling = False
        self._wants_records = False
        self._joins_polls = False
        self._packs = False
        self._takes_records = False
        self._names_only = False
        """Whether values of polled records are not needed: steps get the records themselves."""
        self._drops_positions = False
        self._idle_time = _IdleTime()
        self._poll_seconds = 0.0
        """How long the last poll took."""
        self._numbers = itertools.count()
        self._pending: dict[int, SourceRecord] = {}

    @property
    def may_poll(self) -> bool:
        """Return whether the runtime accepts records and the task can be polled."""
        return self._polling and self._failure is None and self._poll_buffer.has_room

    def start(self, call: StartSource) -> SourceStarted:
        """Create the connector's task and start it."""
        task = load_class(call.reference)().task_class()()
        self._steps = call.steps
        self._joins_polls = call.joins_polls and not call.ends_transactions
        self._packs = call.packs and not call.steps
        self._takes_records = self._transformations.take_records(call.steps)
        self._names_only = call.names_only and self._takes_records
        self._drops_positions = call.drops_positions
        self._wants_records = type(task).commit_record is not SourceTask.commit_record
        self._transactions = TransactionRequests() if call.ends_transactions else None
        task.initialize(StageSourceContext(self._channel, call.config, self._metrics, self._transactions))
        self._task = task
        task.start(call.config)
        self._idle_time = _IdleTime(call.empty_ms, trusts_task=call.ends_exhausted)
        self._polling = True
        wants_commits = type(task).commit is not SourceTask.commit
        return SourceStarted(version_of(task), self._wants_records, wants_commits)

    def credit(self, notice: AddCredit) -> None:
        """Add credit: first one per hand-over that the runtime has room for, then one per processed hand-over."""
        self._poll_buffer.add_credit(notice.count)

    def hold(self, call: HoldPolling) -> None:
        """Stop polling, because the task is paused or draining; ``source.resume`` reverses it."""
        self._polling = False
        try:
            self._poll_buffer.flush()
        except Exception as error:
            self.fail(error)

    def resume(self, notice: ResumePolling) -> None:
        """Resume polling."""
        self._polling = True
        self._idle_time.reset()

    def poll(self) -> None:
        """Poll once and hand over the records; a task that raises is reported and not polled again."""
        self._idle_time.begin()
        try:
            for polled, aborts in self._poll():
                self._hand_over(polled)
                if aborts is not None:
                    self._channel.notify(EndTransaction(aborts))
            if self._idle_time.is_due(self._started()):
                self._channel.notify(PollsEmpty())
        except RetriableError:
            self._idle_time.reset()
            log.warning("the poll raised a retriable error, polling again", exc_info=True)  # as Kafka Connect does
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Report an error of a poll after the records polled before; the task is not polled again."""
        try:
            self._poll_buffer.flush()
        except Exception as earlier:
            self._report(earlier)
        self._report(error)

    def _report(self, error: Exception) -> None:
        """Report the first failure to the runtime; log later ones."""
        if self._failure is None:
            self._failure = error
            self._channel.notify(PollFailed(ErrorInfo.of(error)))
        elif error is not self._failure:
            log.error("raised after the failure that ended the task", exc_info=error)

    def commit(self, notice: CommitSource) -> None:
        """Notify the task that its offsets are stored; logs what it raises, as Kafka Connect does."""
        try:
            self._started().commit()
        except Exception:
            log.exception("the task's commit raised")

    def commit_records(self, notice: CommitRecords) -> None:
        """Notify the task of written records (or dropped ones, without a topic); logs what it raises."""
        task = self._started()
        for number, topic, partition, offset, timestamp in notice.records:
            metadata = None if topic is None else RecordMetadata(topic, partition, offset, timestamp)
            try:
                task.commit_record(self._pending.pop(number), metadata)
            except Exception:
                log.exception("the task's commit_record raised")

    def stop(self, call: StopSource) -> None:
        """Stop the task; it is not polled afterwards."""
        self.end()

    def end(self) -> None:
        """Stop the task, once, if its start was called."""
        self._polling = False
        self._poll_buffer.close()
        task, self._task = self._task, None
        try:
            if task is not None:
                task.stop()
        finally:
            self._metrics.close()

    def _hand_over(self, polled: Sequence[Polled | KeptPoll]) -> None:
        if polled:
            self._idle_time.reset()
            self._poll_buffer.add(polled, at_once=not self._joins_polls, seconds=self._poll_seconds)
            self._poll_seconds = 0.0  # a transaction may cut a poll
        else:
            self._poll_buffer.flush()

    def _poll(self) -> Iterator[tuple[Sequence[Polled | KeptPoll], bool | None]]:
        """Yield polled records, and whether the transaction after them aborts; ``None`` if it continues."""
        task, asked, began = self._started(), self._transactions, time.perf_counter()
        polled = task.poll_batch() if isinstance(task, BatchSourceTask) else NotImplemented
        self._poll_seconds = time.perf_counter() - began
        if polled is not NotImplemented:
            batches = polled or []
            if self._wants_records:
                self._remember(record for batch in batches for record in batch_to_source_records(batch))
            stepped = [self._stepped([batch]) for batch in batches if batch.num_rows]
            yield stepped, None if asked is None else asked.of_batch()
            return
        records = _verified(task.poll() or [])
        self._poll_seconds = time.perf_counter() - began
        if self._wants_records:
            self._remember(records)
        if (kept := self._kept(records)) is not None:
            yield [kept], None
            return
        for part, aborts in [(records, None)] if asked is None else asked.cut(records):
            yield self._polled(part), aborts

    def _kept(self, records: Sequence[SourceRecord]) -> KeptPoll | None:
        """Return copies of few records that can wait for others; steps run when records are polled."""
        is_little = 0 < len(records) < FEW and self._joins_polls and not self._steps
        return KeptPoll.of(records) if is_little and self._poll_buffer.may_wait(len(records)) else None

    def _polled(self, records: Sequence[SourceRecord]) -> list[Polled]:
        """Return records as batches, separating those that do not match their schemas."""
        # a subclass of the plugin may not support copies with changes
        is_plain = bool(self._steps) and set(map(type, records)) == {SourceRecord}
        try:
            if self._packs:
                batches = packed_by_kind(records)
            else:
                batches = records_by_kind(records, names_only=is_plain and self._names_only)
        except (DataError, RecursionError):
            return list(self._separated(records, type(self._started())))
        return [self._stepped(batches, records if is_plain else None)] if records else []

    def _remember(self, records: Iterable[SourceRecord]) -> None:
        """Number records from 0 in the order they are handed over, as the runtime does."""
        for record in records:
            self._pending[next(self._numbers)] = record

    def _started(self) -> SourceTask:
        assert self._task is not None, "the protocol starts a task before it is used"
        return self._task

    def _stepped(self, batches: Sequence[Batch], records: Sequence[SourceRecord] | None = None) -> Polled:
        """Run polled batches, and the records they were made of, through the stage's own steps, if it has any."""
        if not self._steps:
            return Polled(batches)
        origins = batches if self._takes_records and records is not None else numbered(batches)
        apply = partial(self._transformations.apply, drops_positions=self._drops_positions)
        return Polled(batches, apply(self._steps, origins, records))

    def _separated(self, records: Sequence[SourceRecord], task: type[SourceTask]) -> Iterator[Polled]:
        """Yield the records in order: valid ones unchanged, the others without key, value and headers.

        In Kafka Connect it is the converter that finds a record not matching its schemas, so such a record is
        tolerated like any other that cannot be converted.
        """
        class_name = f"{task.__module__}.{task.__qualname__}"
        judged = ((each, _mismatch(each)) for each in records)
        for is_fit, group in itertools.groupby(judged, lambda pair: pair[1] is None):
            pairs = list(group)
            if is_fit:
                yield self._stepped(records_by_kind([record for record, _ in pairs]))
                continue
            errors = (error for _, error in pairs if error is not None)
            failures = [Failure.of(row, "TASK_POLL", class_name, error) for row, error in enumerate(errors)]
            yield Polled(records_by_kind([_emptied(record) for record, _ in pairs]), Outcome([], failures))


def _verified(records: Any) -> Sequence[SourceRecord]:
    """Return the result of a poll; raises ``TypeError`` if it is not a list of records."""
    if isinstance(records, Sequence) and (not records or isinstance(records[0], SourceRecord)):
        return records
    inside = f" of {type(records[0]).__name__}" if isinstance(records, (list, tuple)) else ""
    raise TypeError(f"poll returned {type(records).__name__}{inside}, not a list of SourceRecord")


def _mismatch(record: SourceRecord) -> Exception | None:
    try:
        records_by_kind([record])
    except (DataError, RecursionError) as error:
        return error
    return None


def _emptied(record: SourceRecord) -> SourceRecord:
    return SourceRecord(record.source_partition, record.source_offset, record.topic)

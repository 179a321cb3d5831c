"""A sink task in an executor's Python worker: writes partitions of DataFrames one by one."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from hearth.datasource.dead_letter_file import DeadLetterFile
from hearth.datasource.row_form import MOST_ROWS, RowForm, first_offset
from hearth.datasource.row_reading import read_sides
from hearth.datasource.written_row import WrittenRow
from hearth.staging.chain import Chain, split
from hearth.staging.failure_log import FailureLog
from hearth.staging.place import BRIEF_STAGES, PlaceOpener
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.sink_stage import start_sink
from hearth.staging.tolerance import Tolerance, answer_when_kept, reported_by_task
from hearth_api import ConnectError, PluginError, TopicPartition
from hearth_api.batch import Batch
from hearth_execution.failure import Failure, is_retriable
from hearth_execution.order import in_order, row_of, select
from hearth_execution.retry import Retry
from hearth_stage.channel import Request
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    OpenPartitions,
    PreCommit,
    Put,
    PutDone,
    ReportRecord,
    StopSink,
)

Offsets = dict[TopicPartition, int]

MOST_BATCH, MOST_RECORDS = 10_000, 500
"""Maximum rows of one put, for a task that accepts batches and for one that accepts records."""
MOST_BYTES = 8 << 20
FIRST_WAIT, MOST_WAIT = 0.05, 5.0
"""Seconds between two attempts: the first, and the longest."""


class NotFlushed(ConnectError):
    """A sink has not flushed all rows at the end of a batch, so they may not be written."""

    code = "datasource.not_flushed"


class NotTaken(PluginError):
    """A sink rejected rows permanently, or its process ended."""

    code = "datasource.not_taken"


class RowsRequestedAgain(ConnectError):
    """A sink requests rows again that have already been delivered."""

    code = "datasource.asked_again"
    hint = "Spark repeats the batch when its task fails; let the sink write idempotently by offset"


class TooManyRows(ConnectError):
    """A partition has more rows than one batch has offsets for."""

    code = "datasource.too_many_rows"
    hint = "use more partitions: df.repartition(n)"


@dataclass(frozen=True)
class RetryBudget:
    """How many seconds a sink may retry rows (``retry``) and delay their flush (``flush``).

    ``keys`` are the connector's keys that may control when it flushes.
    """

    retry: float
    flush: float
    keys: tuple[str, ...] = ()


@dataclass
class _RowGroup:
    """The rows of one put, before and after conversion."""

    sources: list[Batch]
    batches: list[Batch]
    failures: list[Failure]
    starts: Offsets
    ends: Offsets

    def record(self, row: int) -> WrittenRow:
        return WrittenRow(row_of(self.sources, row))


@dataclass
class _ContextRequests:
    """The task's requests to its context."""

    skip: Offsets = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    timeout: float | None = None
    wants_commit: bool = False


class WrittenTask:
    """A sink task with its stage, and the part of its pipeline before that stage.

    While the task processes one group of rows, the next is converted. A batch is complete only when the task has
    flushed all of its offsets; until then the task is not stopped, and afterwards it may be stopped at any time.
    """

    def __init__(
        self,
        plan: PluginPlan,
        retry_budget: RetryBudget,
        *,
        has_letters: bool,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start the task; raises its error after closing what was opened."""
        self._plan, self._retry_budget, self._clock, self._sleep = plan, retry_budget, clock, sleep
        self._ended = threading.Event()
        self._requests: queue.SimpleQueue[ContextRequest | ConnectError] = queue.SimpleQueue()
        self._asked = _ContextRequests()
        self._log = FailureLog(plan.name, plan.settings)
        self._tolerance = Tolerance(plan.settings, self._log)
        self._is_reporting = has_letters or plan.settings.logs_failures
        self._open: set[TopicPartition] = set()
        self._under_way: tuple[_RowGroup, Future[PutDone]] | None = None
        self._done: Offsets = {}
        settings = plan.settings
        retry = Retry(
            settings.retry_timeout_ms,
            settings.retry_delay_max_ms,
            self._ended,
            is_strict=not settings.is_tolerant,
        )
        inside, between = split(plan)
        self._opened = ExitStack()
        try:
            opener = PlaceOpener(plan, self._answer, lambda stage: None, retry, open_stage=BRIEF_STAGES)
            self._stage, self._places = opener.open(self._opened)
            self._chain = Chain(plan, self._places, between)
            started = start_sink(
                self._stage, plan, inside, has_reporter=self._is_reporting, is_tolerant=settings.is_tolerant
            )
        except BaseException:
            self._opened.close()
            raise
        self._columns = None if self._chain.hops or self._is_reporting else started.columns
        self._most = MOST_BATCH if started.is_batch else MOST_RECORDS

    @property
    def is_alive(self) -> bool:
        """Return whether the task's process is still running."""
        return self._stage.is_alive

    def write(
        self, rows: Iterable[Any], form: RowForm, partition: int, batch_id: int, letters: DeadLetterFile | None
    ) -> int:
        """Write the rows of a partition of a batch; returns their number.

        Returns when the task has flushed all of them and the dead letters of failed rows are published. After an error
        the task cannot be used again.
        """
        self._tolerance = Tolerance(self._plan.settings, self._log, letters)
        self._done = {}
        first = offset = first_offset(batch_id)
        for data in self._pieces(rows):
            if offset + data.num_rows - first > MOST_ROWS:
                raise TooManyRows(f"partition {partition} has more than {MOST_ROWS} rows in one batch")
            piece = self._piece(form, [*form.batches(data, partition, offset)])
            self._settle()
            self._begin(piece)
            offset += data.num_rows
        self._settle()
        self._flush()
        if letters is not None:
            letters.commit()
        return offset - first

    def close(self) -> None:
        """Stop the task if its process is alive, and end its processes."""
        self._ended.set()
        with self._opened:
            if self._stage.is_alive:
                seconds = self._plan.settings.graceful_timeout
                if self._open:
                    self._stage.call(ClosePartitions(sorted(self._open)), seconds)
                self._stage.call(StopSink(), seconds)

    # Rows to records ------------------------------------------------------------------------------------------

    def _pieces(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Split rows into groups for one put: fewer if they are large, as a group is in memory several times."""
        for data in rows:
            count = max(1, min(self._most, data.num_rows * MOST_BYTES // max(1, data.nbytes)))
            for start in range(0, data.num_rows, count):
                yield data.slice(start, count)

    def _piece(self, form: RowForm, sources: list[Batch]) -> _RowGroup:
        """Convert and transform rows, up to the part of the pipeline in the task's stage."""
        read = read_sides(sources, form.raw, self._places, self._plan) if form.raw else (sources, [])
        batches, failures = read
        outcome = self._chain.transform(batches)
        starts, ends = {}, {}
        for batch in sources:
            offsets = batch.column("offset")
            own = TopicPartition(batch.topic or "", batch.column("partition")[0].as_py())
            starts[own], ends[own] = offsets[0].as_py(), offsets[-1].as_py() + 1
        return _RowGroup(sources, in_order(outcome.batches), [*failures, *outcome.failures], starts, ends)

    # Puts -----------------------------------------------------------------------------------------------------

    def _begin(self, piece: _RowGroup) -> None:
        """Start to put rows; first open partitions that are new to the task, and close others."""
        self._assign(piece)
        self._tolerance.judge(piece.failures, piece.record)
        self._wait_while_paused(piece)
        self._under_way = piece, self._stage.begin(self._put(piece))

    def _put(self, piece: _RowGroup) -> Put:
        batches = [kept for batch in piece.batches if (kept := self._wanted(batch)).num_rows]
        if self._columns is not None:
            batches = select(batches, self._columns)
        consumed = piece.sources if self._is_reporting and batches else []
        return Put([*batches, *consumed], len(consumed))

    def _wanted(self, batch: Batch) -> Batch:
        """Return the rows of a batch from the offset on that the task has requested, if it has."""
        own = [skip for each, skip in self._asked.skip.items() if each.topic == batch.original_topic]
        return batch.filter(pc.greater_equal(batch.column("offset"), max(own))) if own else batch

    def _assign(self, piece: _RowGroup) -> None:
        new = sorted(piece.ends.keys() - self._open)
        if not new:
            return
        numbers = {each.partition for each in new}
        if gone := sorted(each for each in self._open if each.partition not in numbers):
            self._stage.call(ClosePartitions(gone))
            self._open -= {*gone}
        self._asked.skip = {each: offset for each, offset in self._asked.skip.items() if each in self._open}
        self._stage.call(OpenPartitions(new))
        self._open |= {*new}
        self._serve(piece.starts)

    def _settle(self) -> None:
        """Wait until the pending put succeeds; retry it within the retry budget."""
        if self._under_way is None:
            return
        piece, answer = self._under_way
        self._under_way = None
        give_up_at, wait = self._clock() + self._retry_budget.retry, FIRST_WAIT
        while True:
            try:
                done = self._stage.result(answer, Put.op)
                break
            except PluginError as error:
                self._serve()
                if not is_retriable(error) or self._clock() >= give_up_at:
                    raise self._refused(piece, error) from error
                timeout, self._asked.timeout = self._asked.timeout, None
                self._sleep(wait if timeout is None else timeout)
                wait = min(wait * 2, MOST_WAIT)
                answer = self._stage.begin(self._put(piece))
        self._tolerance.judge(done.failures, piece.record)
        self._done |= piece.ends
        self._serve()
        self._tolerance.settle(0)
        if self._asked.wants_commit:
            self._asked.wants_commit = False
            self._commit()

    def _refused(self, piece: _RowGroup, error: PluginError) -> NotTaken:
        """Return the error with the rows that the task rejected."""
        count = sum(batch.num_rows for batch in piece.batches)
        places = ", ".join(
            f"{each} from offset {start} to {piece.ends[each] - 1}" for each, start in piece.starts.items()
        )
        rejected = NotTaken(f"{self._plan.connector_class} did not accept {count} rows: {places}")
        rejected.trace = error.trace
        return rejected

    def _wait_while_paused(self, piece: _RowGroup) -> None:
        give_up_at, wait = self._clock() + self._retry_budget.retry, FIRST_WAIT
        while self._asked.paused & piece.ends.keys():
            if self._clock() >= give_up_at:
                raise NotFlushed(
                    f"{self._plan.connector_class} has paused {_shown(self._asked.paused)} for "
                    f"{self._retry_budget.retry:g} s",
                    hint="make the connector resume them, or increase hearth.retry.ms",
                )
            self._sleep(wait)
            wait = min(wait * 2, MOST_WAIT)
            self._stage.call(Put([]))
            self._serve()

    # Flush ----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Flush the task until it has written all rows: only then is the batch complete (invariant 1)."""
        give_up_at, wait = self._clock() + self._retry_budget.flush, FIRST_WAIT
        while late := self._commit():
            if self._clock() >= give_up_at:
                raise self._kept_back(late)
            self._sleep(wait)
            wait = min(wait * 2, MOST_WAIT)
            self._stage.call(Put([]))

    def _commit(self) -> Offsets:
        """Ask the task to flush; returns the partitions that are not fully written, with their committed offsets."""
        if not self._done:
            return {}
        committed = self._stage.call(PreCommit(dict(self._done))).offsets
        self._serve()
        self._tolerance.settle(0)
        return {each: committed.get(each, -1) for each, end in self._done.items() if committed.get(each, -1) < end}

    def _kept_back(self, late: Offsets) -> NotFlushed:
        places = "; ".join(f"{each} up to {max(offset, 0)} of {self._done[each]}" for each, offset in late.items())
        config = self._plan.task_config
        keys = ", ".join(f"{key} (now {config[key]})" if key in config else key for key in self._retry_budget.keys)
        return NotFlushed(
            f"{self._plan.connector_class} did not flush all rows at the end of a batch: "
            f"after {self._retry_budget.flush:g} s it has written {places}",
            hint=f"make the connector write all rows when it is flushed{f', with {keys}' if keys else ''}; "
            "or increase hearth.flush.ms",
        )

    # Requests of the task -------------------------------------------------------------------------------------

    def _answer(self, request: Request) -> None:
        """Handle a message of the task, on the stage's reader thread."""
        message = request.message
        if isinstance(message, ContextRequest):
            self._requests.put(message)
        elif isinstance(message, ReportRecord):
            try:
                letter = self._tolerance.report(reported_by_task(message.error), WrittenRow(message.record))
            except ConnectError as exceeded:
                self._requests.put(exceeded)
                request.fail(exceeded)
            else:
                answer_when_kept(letter, request)
        else:
            request.fail(LookupError(f"a sink task has no request {request.op!r}"))

    def _serve(self, starts: Offsets | None = None) -> None:
        """Apply the task's requests; ``starts`` are the first offsets of the next rows."""
        while not self._requests.empty():
            request = self._requests.get()
            if isinstance(request, ConnectError):
                raise request
            asked = self._asked
            asked.paused = (asked.paused | {*request.pause}) - {*request.resume}
            asked.timeout = asked.timeout if request.timeout is None else request.timeout / 1000
            asked.wants_commit = asked.wants_commit or request.commit
            for each, offset in request.rewind.items():
                if offset < self._done.get(each, 0):
                    raise RowsRequestedAgain(
                        f"{self._plan.connector_class} requests {each} from offset {offset} again, but has got it "
                        f"up to {self._done[each]}"
                    )
                asked.skip[each] = offset


def _shown(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))

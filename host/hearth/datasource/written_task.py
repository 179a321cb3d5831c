"""A task of a sink in an executor's Python worker: it is given partitions of DataFrames, one after the other."""

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
"""How many rows a task is given at once that takes batches, and one that takes records."""
MOST_BYTES = 8 << 20
FIRST_WAIT, MOST_WAIT = 0.05, 5.0
"""Seconds between two attempts: the first, and the longest."""


class NotFlushed(ConnectError):
    """A sink keeps rows back although its batch has ended, so nobody could say that they are written."""

    code = "datasource.not_flushed"


class NotTaken(PluginError):
    """A sink did not take rows, for good, or its process ended meanwhile."""

    code = "datasource.not_taken"


class RowsRequestedAgain(ConnectError):
    """A sink asks for rows again that Spark has passed."""

    code = "datasource.asked_again"
    hint = "Spark makes the batch anew when its task fails; let the sink write its rows by their offsets"


class TooManyRows(ConnectError):
    """A partition has more rows than there are offsets for in one batch."""

    code = "datasource.too_many_rows"
    hint = "have more partitions: df.repartition(n)"


@dataclass(frozen=True)
class RetryBudget:
    """For how many seconds a sink may put off rows (``retry``), and their flush (``flush``).

    ``keys`` are those of the connector that look as if they said when it flushes.
    """

    retry: float
    flush: float
    keys: tuple[str, ...] = ()


@dataclass
class _RowGroup:
    """Rows that are put together: as they came, and as they are put."""

    sources: list[Batch]
    batches: list[Batch]
    failures: list[Failure]
    starts: Offsets
    ends: Offsets

    def record(self, row: int) -> WrittenRow:
        return WrittenRow(row_of(self.sources, row))


@dataclass
class _ContextRequests:
    """What the task asked of its context."""

    skip: Offsets = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    timeout: float | None = None
    wants_commit: bool = False


class WrittenTask:
    """The task: its stage, and the part of its pipeline before that.

    While one piece of rows is with the task, the next is converted. What a batch has brought is done only when the
    task agreed to all of its offsets: it is never stopped before it said so, and may be stopped at any time after.
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
        """Start the task; raises what it raises, and closes what was opened."""
        self._plan, self._retry_budget, self._clock, self._sleep = plan, retry_budget, clock, sleep
        self._ended = threading.Event()
        self._said: queue.SimpleQueue[ContextRequest | ConnectError] = queue.SimpleQueue()
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
        """Return whether the task's process still runs."""
        return self._stage.is_alive

    def write(
        self, rows: Iterable[Any], form: RowForm, partition: int, batch_id: int, letters: DeadLetterFile | None
    ) -> int:
        """Write the rows of a partition of a batch; returns how many there were.

        It returns when the task has agreed to all of them, and the letters of those that failed are in their place.
        After an error the task is of no further use.
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
        """Stop the task, if it can still be told, and end its processes."""
        self._ended.set()
        with self._opened:
            if self._stage.is_alive:
                seconds = self._plan.settings.graceful_timeout
                if self._open:
                    self._stage.call(ClosePartitions(sorted(self._open)), seconds)
                self._stage.call(StopSink(), seconds)

    # Rows to records ------------------------------------------------------------------------------------------

    def _pieces(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Yield as many rows as are put together: fewer of large ones, for each piece is in memory several times."""
        for data in rows:
            count = max(1, min(self._most, data.num_rows * MOST_BYTES // max(1, data.nbytes)))
            for start in range(0, data.num_rows, count):
                yield data.slice(start, count)

    def _piece(self, form: RowForm, sources: list[Batch]) -> _RowGroup:
        """Convert and transform rows, up to where the task's own stage takes over."""
        read = read_sides(sources, form.raw, self._places, self._plan) if form.raw else (sources, [])
        batches, failures = read
        outcome = self._chain.transform(batches)
        starts, ends = {}, {}
        for batch in sources:
            offsets = batch.column("offset")
            own = TopicPartition(batch.topic or "", batch.column("partition")[0].as_py())
            starts[own], ends[own] = offsets[0].as_py(), offsets[-1].as_py() + 1
        return _RowGroup(sources, in_order(outcome.batches), [*failures, *outcome.failures], starts, ends)

    # Putting --------------------------------------------------------------------------------------------------

    def _begin(self, piece: _RowGroup) -> None:
        """Hand rows over; partitions that are new to the task are opened before, and others closed."""
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
        """Return the rows of a batch that the task has not said it has already, by where it wants to read on."""
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
        """Wait until what is being put was taken, and given again as often as the task wants that, within reason."""
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
            self._agreed()

    def _refused(self, piece: _RowGroup, error: PluginError) -> NotTaken:
        """Return the error that says which rows the task did not take."""
        count = sum(batch.num_rows for batch in piece.batches)
        places = ", ".join(
            f"{each} from offset {start} to {piece.ends[each] - 1}" for each, start in piece.starts.items()
        )
        told = NotTaken(f"{self._plan.connector_class} has not taken {count} rows: {places}")
        told.trace = error.trace
        return told

    def _wait_while_paused(self, piece: _RowGroup) -> None:
        give_up_at, wait = self._clock() + self._retry_budget.retry, FIRST_WAIT
        while self._asked.paused & piece.ends.keys():
            if self._clock() >= give_up_at:
                raise NotFlushed(
                    f"{self._plan.connector_class} has paused {_shown(self._asked.paused)} for "
                    f"{self._retry_budget.retry:g} s",
                    hint="have it resume them, or wait longer: hearth.retry.ms",
                )
            self._sleep(wait)
            wait = min(wait * 2, MOST_WAIT)
            self._stage.call(Put([]))
            self._serve()

    # Flushing -------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Have the task flush until it agrees to all rows: only then is the batch done (invariant 1)."""
        give_up_at, wait = self._clock() + self._retry_budget.flush, FIRST_WAIT
        while late := self._agreed():
            if self._clock() >= give_up_at:
                raise self._kept_back(late)
            self._sleep(wait)
            wait = min(wait * 2, MOST_WAIT)
            self._stage.call(Put([]))

    def _agreed(self) -> Offsets:
        """Have the task flush; returns the partitions of which it keeps rows back, and up to where it agreed."""
        if not self._done:
            return {}
        agreed = self._stage.call(PreCommit(dict(self._done))).offsets
        self._serve()
        self._tolerance.settle(0)
        return {each: agreed.get(each, -1) for each, end in self._done.items() if agreed.get(each, -1) < end}

    def _kept_back(self, late: Offsets) -> NotFlushed:
        places = "; ".join(f"{each} up to {max(offset, 0)} of {self._done[each]}" for each, offset in late.items())
        config = self._plan.task_config
        keys = ", ".join(f"{key} (now {config[key]})" if key in config else key for key in self._retry_budget.keys)
        return NotFlushed(
            f"{self._plan.connector_class} keeps rows back at the end of a batch: "
            f"after {self._retry_budget.flush:g} s it has agreed to {places}",
            hint=f"have it write what it has whenever it is asked{f', by {keys}' if keys else ''}; "
            "or wait longer: hearth.flush.ms",
        )

    # What the task says ---------------------------------------------------------------------------------------

    def _answer(self, request: Request) -> None:
        """Take what the task says, on the stage's reader thread."""
        message = request.message
        if isinstance(message, ContextRequest):
            self._said.put(message)
        elif isinstance(message, ReportRecord):
            try:
                letter = self._tolerance.report(reported_by_task(message.error), WrittenRow(message.record))
            except ConnectError as exceeded:
                self._said.put(exceeded)
                request.fail(exceeded)
            else:
                answer_when_kept(letter, request)
        else:
            request.fail(LookupError(f"a sink task has no request {request.op!r}"))

    def _serve(self, starts: Offsets | None = None) -> None:
        """Take to heart what the task said; ``starts`` are the offsets of rows that it is given next."""
        while not self._said.empty():
            said = self._said.get()
            if isinstance(said, ConnectError):
                raise said
            asked = self._asked
            asked.paused = (asked.paused | {*said.pause}) - {*said.resume}
            asked.timeout = asked.timeout if said.timeout is None else said.timeout / 1000
            asked.wants_commit = asked.wants_commit or said.commit
            for each, offset in said.rewind.items():
                if offset < self._done.get(each, 0):
                    raise RowsRequestedAgain(
                        f"{self._plan.connector_class} wants {each} again from offset {offset}, and was given it "
                        f"up to {self._done[each]}"
                    )
                asked.skip[each] = offset


def _shown(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))

"""A streaming read: each record is in exactly one micro-batch, whichever process is killed at whatever time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from hearth.datasource.data_source_error import instructive
from hearth.datasource.option import EXECUTORS, Options
from hearth.datasource.segment import Segment, batches_of
from hearth.datasource.spark_socket import SentFirst
from hearth.datasource.spool import Places, Spool, SpoolMismatch
from hearth.datasource.spool_location import spool_store
from hearth.datasource.task_launch import SpoolingLaunch, launch
from hearth.foundation.unwinding import unwind
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.datasource.driver_task import DriverTasks
    from hearth.datasource.executor_task import ExecutorTasks

LOOK_SECONDS = 0.1
"""How long ``latestOffset`` waits for the first rows; otherwise Spark would call it every 10 ms."""
GATHER_ROWS, GATHER_SECONDS = 1_000_000, 5.0
"""How many rows, or how long, a read that ends collects for a micro-batch: each costs Spark a tenth of a second."""
PARTITION_ROWS = 500_000
"""The number of rows of small segments that one Spark task reads."""

Offset = dict[str, Any]
"""An offset for Spark: ``spool``, the id; ``at``, the last segment of each task; ``rows``, their number of rows.

``launched`` counts the micro-batches that have launched tasks on executors, if any.
"""


@dataclass
class SegmentPartition(InputPartition):  # type: ignore[misc]
    """Some segments of a spool, read by one Spark task."""

    spool: str
    names: list[str]


class HearthStreamReader(SentFirst, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """The reader of a stream: lives on the driver as long as its query, and its copies read segments on executors.

    A copy has only the schema. The first call on the driver opens the spool.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given, self._schema = dict(given), schema
        self._read: _Read | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy on an executor."""
        return {"_given": {}, "_schema": self._schema, "_read": None}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  (Spark's name)
        """Return the maximum number of rows of a micro-batch."""
        with instructive():
            most = Options.parse(self._given).settings.max_records_per_trigger
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        """Read until the sources are empty: each task ends when its polls are empty."""
        with instructive():
            self._started.ends = True

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        """Return the start of a stream without a checkpoint."""
        with instructive():
            read = self._started
            return read.offset(read.spool.gone)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  (Spark's name)
        """Return the end of the next micro-batch; everything up to ``start`` is committed."""
        with instructive():
            read = self._started
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return read.latest(start, most)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  (Spark's name)
        """Return the position of the tasks, for the progress of the query."""
        return None if self._read is None else self._read.reached()

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the segments of a micro-batch, the same each time it is planned."""
        with instructive():
            return self._started.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of segments, on an executor; a partition that launches a task has none."""
        with instructive():
            if isinstance(partition, SpoolingLaunch):
                launch(partition)
                return
            assert isinstance(partition, SegmentPartition)
            store, schema = spool_store(partition.spool), to_arrow_schema(self._schema, timezone="UTC")
            for name in partition.names:
                yield from batches_of(store, name, schema)

    def commit(self, end: Offset) -> None:
        """Remove what Spark has committed, and notify the source."""
        with instructive():
            read = self._started
            read.committed(read.places(end))

    def stop(self) -> None:
        """Stop the tasks; correctness does not depend on this call."""
        read, self._read = self._read, None
        if read is not None:
            read.stop()

    @property
    def _started(self) -> _Read:
        if self._read is None:
            self._read = _Read(Options.parse(self._given), self._schema)
            _end_on_signal()
        return self._read


class _Read:
    """The spool of a query and the tasks that fill it."""

    def __init__(self, options: Options, schema: StructType) -> None:
        settings = options.settings
        if settings.spool is None:
            raise ConfigError(
                "hearth.spool", None, "a streaming read needs a spool directory",
                hint="set a directory that executors reach as well, a separate one for each query",
            )  # fmt: skip
        self.options, self._schema = options, schema
        self.spool = Spool.open(spool_store(settings.spool))
        self.ends = False
        self._tasks: DriverTasks | ExecutorTasks | None = None
        self._is_checked = False

    # Offsets --------------------------------------------------------------------------------------------------

    def offset(self, places: Places, launched: int = 0) -> Offset:
        """Return the offset for places; its JSON is always the same for the same places."""
        at = {str(task): places[task] for task in sorted(places) if places[task]}
        offset = {"spool": self.spool.id, "at": at, "rows": self.spool.rows(places)}
        return {**offset, "launched": launched} if launched else offset

    def places(self, offset: Offset) -> Places:
        """Return the places of an offset; raises SpoolMismatch if it is from another spool."""
        if offset.get("spool") != self.spool.id:
            raise SpoolMismatch(
                f"the checkpoint belongs to the spool {offset.get('spool')}, but {self.spool.store.address!r} is the "
                f"spool {self.spool.id}"
            )
        return {int(task): number for task, number in offset["at"].items()}

    # Spark's calls --------------------------------------------------------------------------------------------

    def latest(self, begin: Offset, most: int | None) -> Offset:
        """Return the end of a micro-batch, waiting briefly for rows; raises the error that ended a task."""
        start, launched = self.places(begin), begin.get("launched", 0)
        if not self._is_checked:
            self.spool.check(start)
            self._is_checked = True
        self.committed(start)
        if self._tasks is None:
            self._tasks = self._begun()
        self._await_rows(start, min(GATHER_ROWS, most or GATHER_ROWS))
        if self._tasks.is_launching:  # without rows, so that partitions of rows stay the same when planned again
            return self.offset(start, launched + 1)
        end, rows = dict(start), 0
        for each in self.spool.behind(start):
            if most is not None and rows and rows + each.rows > most:
                break
            end[each.task] = each.number
            rows += each.rows
        return self.offset(end, launched)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the segments of a micro-batch, or its launches, which are empty when the batch is repeated."""
        segments = self.spool.between(self.places(start), self.places(end))
        launched = end.get("launched", 0)
        if self._tasks is not None and launched != start.get("launched", 0):
            return list(self._tasks.launches(launched))
        return packed(segments, self.spool.store.address)

    def reached(self) -> Offset:
        """Return the position of the tasks."""
        return self.offset({each.task: each.number for each in self.spool.behind({})} or self.spool.gone)

    def committed(self, end: Places) -> None:
        """Remove committed segments, and notify the tasks that wrote them."""
        self.spool.forget(end)
        if self._tasks is not None:
            self._tasks.committed(end)

    def stop(self) -> None:
        """Stop the tasks and release the spool."""
        if self._tasks is not None:
            self._tasks.stop()
        self.spool.close()

    def _begun(self) -> DriverTasks | ExecutorTasks:
        if self.options.settings.tasks_on == EXECUTORS:
            from hearth.datasource.executor_task import ExecutorTasks  # imported late: executors do not need it

            return ExecutorTasks(self.options, self._schema, self.spool, ends=self.ends)
        from hearth.datasource.driver_task import DriverTasks

        return DriverTasks(self.options, self._schema, self.spool, ends=self.ends)

    def _await_rows(self, start: Places, most: int) -> None:
        """Wait for the first rows or, in a read that ends, for enough rows for a micro-batch."""
        assert self._tasks is not None
        until = time.monotonic() + (GATHER_SECONDS if self.ends else LOOK_SECONDS)
        with self.spool.changed:
            while True:
                self._tasks.check()
                rows = sum(each.rows for each in self.spool.behind(start))
                if rows >= (most if self.ends else 1) or self._tasks.are_done or self.spool.is_full:
                    return
                if self._tasks.is_launching:
                    return
                left = until - time.monotonic()
                if left <= 0 and (rows or not self.ends):
                    return
                self.spool.changed.wait(max(left, LOOK_SECONDS))


def packed(segments: Sequence[Segment], spool: str) -> list[InputPartition]:
    """Group segments with rows into partitions for one Spark task each, in order."""
    groups: list[SegmentPartition] = []
    rows = PARTITION_ROWS
    for each in segments:
        if not each.rows:
            continue
        if rows + each.rows > PARTITION_ROWS or not groups:
            groups.append(SegmentPartition(spool, []))
            rows = 0
        groups[-1].names.append(each.name)
        rows += each.rows
    return list(groups)


def _end_on_signal() -> None:
    """Stop the tasks in order on SIGTERM, with which Spark ends this process at the end of a query."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda _number, frame: unwind(frame, SystemExit, 0))

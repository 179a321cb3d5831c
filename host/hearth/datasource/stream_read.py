"""A streaming read: each record once, in one micro-batch, whoever is killed when."""

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
"""How long Spark's question what there is waits for the first rows: else it would be asked again each 10 ms."""
GATHER_ROWS, GATHER_SECONDS = 1_000_000, 5.0
"""How much, or how long, is gathered for a micro-batch of a read that ends: each costs Spark a tenth of a second."""
PARTITION_ROWS = 500_000
"""So many rows of small segments are read by one task of Spark."""

Offset = dict[str, Any]
"""What Spark keeps: ``spool``, the id; ``at``, the last segment of each task; ``rows``, how many there were then.

``launched``, where tasks run on executors, counts the micro-batches that have launched some.
"""


@dataclass
class SegmentPartition(InputPartition):  # type: ignore[misc]
    """Some segments of a spool, which one task of Spark reads."""

    spool: str
    names: list[str]


class HearthStreamReader(SentFirst, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Answers Spark beside the driver, where it lives as long as its query; copies of it read segments.

    A copy knows the schema and nothing else. The first question starts what lives here.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given, self._schema = dict(given), schema
        self._read: _Read | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has."""
        return {"_given": {}, "_schema": self._schema, "_read": None}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  (Spark's name)
        """Return how many rows a micro-batch has at most."""
        with instructive():
            most = Options.parse(self._given).settings.max_records_per_trigger
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        """Read what there is, and end: each task when its polls bring nothing more."""
        with instructive():
            self._started.ends = True

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        """Return where a stream begins that has no checkpoint yet."""
        with instructive():
            read = self._started
            return read.offset(read.spool.gone)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  (Spark's name)
        """Return up to where there is something to be read; all up to the start is committed by now."""
        with instructive():
            read = self._started
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return read.latest(start, most)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  (Spark's name)
        """Return up to where the tasks have come, for the progress of the query."""
        return None if self._read is None else self._read.reached()

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the segments of a micro-batch, the same whenever it is planned."""
        with instructive():
            return self._started.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of segments, on an executor; what launches a task has none."""
        with instructive():
            if isinstance(partition, SpoolingLaunch):
                launch(partition)
                return
            assert isinstance(partition, SegmentPartition)
            store, schema = spool_store(partition.spool), to_arrow_schema(self._schema, timezone="UTC")
            for name in partition.names:
                yield from batches_of(store, name, schema)

    def commit(self, end: Offset) -> None:
        """Let go of what Spark has committed, and tell the source."""
        with instructive():
            read = self._started
            read.committed(read.places(end))

    def stop(self) -> None:
        """End the tasks; nothing depends on this being called."""
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
                "hearth.spool", None, "a streaming read needs a directory of its own",
                hint="name one on a disk that executors see as well, one for each query",
            )  # fmt: skip
        self.options, self._schema = options, schema
        self.spool = Spool.open(spool_store(settings.spool))
        self.ends = False
        self._tasks: DriverTasks | ExecutorTasks | None = None
        self._is_checked = False

    # Offsets --------------------------------------------------------------------------------------------------

    def offset(self, places: Places, launched: int = 0) -> Offset:
        """Return places as Spark keeps them: always the same text for the same places."""
        at = {str(task): places[task] for task in sorted(places) if places[task]}
        offset = {"spool": self.spool.id, "at": at, "rows": self.spool.rows(places)}
        return {**offset, "launched": launched} if launched else offset

    def places(self, offset: Offset) -> Places:
        """Return the places of an offset; raises SpoolMismatch for that of another spool."""
        if offset.get("spool") != self.spool.id:
            raise SpoolMismatch(
                f"the checkpoint was made with the spool {offset.get('spool')}, and {self.spool.store.address!r} is "
                f"{self.spool.id}"
            )
        return {int(task): number for task, number in offset["at"].items()}

    # What Spark asks ------------------------------------------------------------------------------------------

    def latest(self, begin: Offset, most: int | None) -> Offset:
        """Return up to where a micro-batch goes, waiting a moment where there is nothing; raises what ended a task."""
        start, launched = self.places(begin), begin.get("launched", 0)
        if not self._is_checked:
            self.spool.check(start)
            self._is_checked = True
        self.committed(start)
        if self._tasks is None:
            self._tasks = self._begun()
        self._await_rows(start, min(GATHER_ROWS, most or GATHER_ROWS))
        if self._tasks.is_launching:  # alone: rows are in the same partitions when they are planned again
            return self.offset(start, launched + 1)
        end, rows = dict(start), 0
        for each in self.spool.behind(start):
            if most is not None and rows and rows + each.rows > most:
                break
            end[each.task] = each.number
            rows += each.rows
        return self.offset(end, launched)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the segments of a micro-batch; one that launches tasks has none, and nothing when it is repeated."""
        segments = self.spool.between(self.places(start), self.places(end))
        launched = end.get("launched", 0)
        if self._tasks is not None and launched != start.get("launched", 0):
            return list(self._tasks.launches(launched))
        return packed(segments, self.spool.store.address)

    def reached(self) -> Offset:
        """Return up to where the tasks have come."""
        return self.offset({each.task: each.number for each in self.spool.behind({})} or self.spool.gone)

    def committed(self, end: Places) -> None:
        """Let go of segments, and tell the tasks that wrote them."""
        self.spool.forget(end)
        if self._tasks is not None:
            self._tasks.committed(end)

    def stop(self) -> None:
        """End the tasks and let go of the spool."""
        if self._tasks is not None:
            self._tasks.stop()
        self.spool.close()

    def _begun(self) -> DriverTasks | ExecutorTasks:
        if self.options.settings.tasks_on == EXECUTORS:
            from hearth.datasource.executor_task import ExecutorTasks  # both load planning, which executors do without

            return ExecutorTasks(self.options, self._schema, self.spool, ends=self.ends)
        from hearth.datasource.driver_task import DriverTasks

        return DriverTasks(self.options, self._schema, self.spool, ends=self.ends)

    def _await_rows(self, start: Places, most: int) -> None:
        """Wait for rows: for the first of them, or where the read ends for as many as are worth a micro-batch."""
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
    """Return segments with rows in groups, each for one task of Spark, in their order."""
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
    """Let the end of a query, which is a signal here, end the tasks in order."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda _number, frame: unwind(frame, SystemExit, 0))

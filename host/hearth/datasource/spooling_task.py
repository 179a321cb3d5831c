"""A task of a streaming read: polls records and seals them as segments of a spool."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from hearth.datasource.polled_rows import TYPED, PolledRows
from hearth.datasource.segment import Segment, SegmentWriter
from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spool import partition_key
from hearth.datasource.spool_store import SpoolStore
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth.staging.source_stage import Idle, ReadStored
from hearth_api.batch import Batch
from hearth_stage.task_call import PollsEmpty

log = logging.getLogger(__name__)

MOST_ROWS = 500_000
"""Rows after which a segment is sealed in any case, as one Spark task reads it."""
MOST_BYTES = 1 << 26
"""Bytes after which a segment is sealed: from an fsspec address it is read into memory as a whole."""
LONGEST_SECONDS = 0.2
"""How long a segment stays open while records arrive; longer for stores that are slower to check."""
PAUSE_SECONDS = 0.03
"""Minimum time between segments while records arrive occasionally: each costs a flush to disk."""
WAIT_SECONDS = 5.0
ROOM_SECONDS = 0.5
"""How often a task checks whether it has to end while the spool is full."""


@dataclass(frozen=True)
class SpoolAccess:
    """A task's access to its spool: its run, the number of its next segment, and callbacks."""

    store: SpoolStore
    run: int
    next_number: int
    read_offsets: ReadStored
    on_segment: Callable[[Segment], None]
    await_room: Callable[[float], bool]
    """Waits for at most the given seconds until the spool is not full; returns whether it has room."""


class SpoolingTask:
    """Runs one task of a source and writes its records to segments.

    All records of a poll are in one segment, with their positions, including those of dropped records. With
    ``ends_when_empty`` the task ends as soon as the source is empty.
    """

    def __init__(
        self,
        plan: PluginPlan,
        columns: SparkBatches,
        access: SpoolAccess,
        *,
        form: str = TYPED,
        most_rows: int | None,
        idle: Idle,
        ends_when_empty: bool,
    ) -> None:
        self._plan, self._columns, self._access = plan, columns, access
        self._most_rows = min(MOST_ROWS, most_rows or MOST_ROWS)
        self._ends_when_empty = ends_when_empty
        self._task = PolledTask(plan, access.read_offsets, idle=idle)
        self._rows = PolledRows(plan, self._task, columns, form)
        self._writer: SegmentWriter | None = None
        self._number = access.next_number
        slower = access.store.look_seconds / 0.1  # relative to the fastest store
        self._longest, self._pause = LONGEST_SECONDS * slower, PAUSE_SECONDS * slower
        self._sealed_at = self._begun_at = 0.0
        self._polled = 0
        self._records: dict[int, range] = {}
        self._stopping = threading.Event()

    def execute(self) -> None:
        """Poll and seal until stopped, or until the source is empty if requested.

        Whatever ends it, sealed segments stay and an unsealed one is discarded: the task restarts after the last
        sealed segment.
        """
        try:
            with ExitStack() as opened:
                self._task.open(opened)
                while not self._stopping.is_set():
                    if self._access.await_room(ROOM_SECONDS) and not self._turn():
                        break
                self._seal()
        finally:
            if self._writer is not None:
                self._writer.drop()

    def stop(self) -> None:
        """Ask the task to end soon; may be called from any thread."""
        self._stopping.set()
        self._task.wake()

    def committed(self, number: int) -> None:
        """Record that Spark has committed segments up to a number; may be called from any one thread."""
        for each in [each for each in list(self._records) if each <= number]:
            self._task.committed(self._records.pop(each))

    def _turn(self) -> bool:
        """Take the next poll and seal the segment if it is due; returns whether there may be more."""
        taken = self._task.take(self._wait_seconds())
        if isinstance(taken, Transformed):
            self._write(taken)
        if self._is_due(is_calm=not isinstance(taken, Transformed)):
            self._seal()
        return not (self._ends_when_empty and isinstance(taken, PollsEmpty))

    def _wait_seconds(self) -> float:
        if self._writer is None:
            return WAIT_SECONDS
        return max(0.0, self._sealed_at + self._pause - time.monotonic())

    def _write(self, taken: Transformed) -> None:
        batches = [batch for _, batch in self._rows.of(taken)]
        if self._writer is None:
            access = self._access
            self._writer = SegmentWriter(access.store, self._plan.task, self._number, access.run, self._columns.schema)
            self._begun_at = time.monotonic()
        polled = sum(each.num_rows for each in taken.origins)
        self._writer.add(batches, polled, positions_of(taken.origins))

    def _is_due(self, *, is_calm: bool) -> bool:
        writer = self._writer
        if writer is None:
            return False
        if max(writer.rows, writer.polled) >= self._most_rows or writer.size >= MOST_BYTES:
            return True
        now = time.monotonic()
        waited = now - (self._sealed_at if is_calm else self._begun_at)
        return writer.rows > 0 and waited >= (self._pause if is_calm else self._longest)

    def _seal(self) -> None:
        if self._writer is None:
            return
        segment = self._writer.seal()
        self._writer = None
        self._records[segment.number] = range(self._polled, self._polled + segment.polled)
        self._polled += segment.polled
        self._number += 1
        self._sealed_at = time.monotonic()
        self._access.on_segment(segment)


def positions_of(origins: list[Batch]) -> dict[str, str | None]:
    """Return the source positions after records: the last offset of each partition that is not null."""
    positions: dict[str, str | None] = {}
    for batch in origins:
        offsets = batch.column("source_offset")
        if batch.source_partition is None or offsets is None:
            continue
        known = offsets.drop_null() if offsets.null_count else offsets
        if len(known):
            positions[partition_key(batch.source_partition)] = known[-1].as_py()
    return positions

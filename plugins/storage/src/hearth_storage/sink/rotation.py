"""When the open files of a Kafka partition end: by offsets and times of its records, or by the clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Rotation:
    """The limits of a group of files, which are all that a Kafka partition has open; 0 or less is none.

    `files` bounds their number, `interval` the ms between the times of their records, `schedule` the ms between ends
    by the clock of `zone`, from midnight on.
    """

    records: int
    size: int = 0
    interval: int = 0
    on_path_change: bool = True
    files: int = 0
    schedule: int = 0
    zone: tzinfo | None = None

    def next_by_clock(self, now: int) -> int:
        """Return when the clock ends files for the next time, in ms; no period goes beyond midnight."""
        today = datetime.fromtimestamp(now / 1000, self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        midnight = int(today.timestamp() * 1000)
        length = int((today + timedelta(days=1)).timestamp() * 1000) - midnight
        return midnight + min(((now - midnight) // self.schedule + 1) * self.schedule, length)


@dataclass
class Rows:
    """Consecutive records of one Kafka partition and one schema, in columns.

    `codes` are numbers of `paths`; `times` is None unless the partitioner has times, `sizes` unless sizes count.
    `dead` is the path of tombstones, which does not count as a change of the path.
    """

    codes: Any
    paths: list[str]
    times: Any = None
    sizes: Any = None
    dead: int | None = None
    changes: Any = field(init=False)

    def __post_init__(self) -> None:
        codes = self.codes
        changes = codes[1:] != codes[:-1]
        if self.dead is not None:
            changes &= (codes[1:] != self.dead) & (codes[:-1] != self.dead)
        self.changes = np.concatenate([[False], changes])


class Cut(NamedTuple):
    """Rows up to `stop` go into the open files, which end then if `ends`."""

    stop: int
    ends: bool


@dataclass
class Progress:
    """How full a group of files is."""

    count: int = 0
    size: int = 0
    base_time: int | None = None
    path: str | None = None
    paths: set[str] = field(default_factory=set)

    def cut(self, rows: Rows, start: int, stale: Any, rotation: Rotation) -> Cut:
        """Return how far rows from `start` on go into the group.

        A row ends the group before itself if its time, its path or its schema no longer fits (`stale` tells for each
        path whether its open file has another schema, None if none has), and after itself if the group is full. As
        Confluent's `TopicPartitionWriter`.
        """
        if self.base_time is None and rows.times is not None:
            self.base_time = int(rows.times[start])
        codes = rows.codes[start:]
        before = min(
            self._by_time(rows, start, rotation),
            self._by_schema(codes, stale),
            self._by_files(rows, codes, rotation),
        )
        after = self._when_full(rows, start, rotation)
        if before < after:
            return Cut(start + before, before < len(codes))
        return Cut(start + min(after, len(codes)), after <= len(codes))

    def add(self, rows: Rows, start: int, stop: int) -> None:
        """Count rows as part of the group."""
        if stop == start:
            return
        self.count += stop - start
        if rows.sizes is not None:
            self.size += int(rows.sizes[start:stop].sum())
        self.path = rows.paths[rows.codes[stop - 1]]
        self.paths.update([rows.paths[code] for code in np.flatnonzero(np.bincount(rows.codes[start:stop])).tolist()])

    def _by_time(self, rows: Rows, start: int, rotation: Rotation) -> int:
        left = len(rows.codes) - start
        if rotation.interval <= 0 or rows.times is None:
            return left
        assert self.base_time is not None
        late = rows.times[start:] - self.base_time >= rotation.interval
        if rotation.on_path_change:
            late = late | rows.changes[start:]
            late[0] = late[0] if self.count == 0 else self._is_late(rows, start, rotation)
        if self.count == 0:
            late = late.copy()
            late[0] = False
        return int(late.argmax()) if late.any() else left

    def _is_late(self, rows: Rows, start: int, rotation: Rotation) -> bool:
        assert self.base_time is not None
        code = rows.codes[start]
        is_change = rows.paths[code] != self.path
        if rows.dead is not None and rows.paths[rows.dead] in (rows.paths[code], self.path):
            is_change = False
        return is_change or bool(rows.times[start] - self.base_time >= rotation.interval)

    def _by_schema(self, codes: Any, stale: Any) -> int:
        if stale is None:
            return len(codes)
        found = stale[codes]
        return int(found.argmax()) if found.any() else len(codes)

    def _by_files(self, rows: Rows, codes: Any, rotation: Rotation) -> int:
        if rotation.files <= 0:
            return len(codes)
        numbers, first = np.unique(codes, return_index=True)
        new = sorted(int(at) for code, at in zip(numbers, first) if rows.paths[code] not in self.paths)
        room = rotation.files - len(self.paths)
        return new[room] if len(new) > room else len(codes)

    def _when_full(self, rows: Rows, start: int, rotation: Rotation) -> int:
        """Return after how many rows the group is full, more than there are if it is not."""
        found = max(1, rotation.records - self.count)
        if rotation.size > 0 and rows.sizes is not None:
            sums = np.cumsum(rows.sizes[start:]) + self.size
            found = min(found, int(np.searchsorted(sums, rotation.size)) + 1)
        return found

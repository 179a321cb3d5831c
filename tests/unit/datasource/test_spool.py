"""Spools: each row counts once, with its position, whenever a read ends and even if lost tasks still write."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.datasource.segment import Segment, SegmentWriter, SpoolDamaged, batches_of
from hearth.datasource.spool import FORMAT, Places, Spool, SpoolMismatch, offsets_at, partition_key
from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spool_store import SpoolInUse
from hearth_api import ConfigError

SCHEMA = pa.schema([pa.field("value", pa.int64())])
GOLDEN = Path(__file__).parent / "golden"
OTHER = pa.schema([pa.field("value", pa.string())])
PARTITIONS = 3
LARGE = 1_000_000
"""A row of the machine is its source partition, so many times, and its number there."""


def opened(root: Path, seconds: float = 0) -> Spool:
    """Return the spool in a directory, after a run of three tasks has started."""
    spool = Spool.open(DirectoryStore(root), seconds)
    spool.begin(range(3), is_read=True)
    return spool


def sealed(root: Path, task: int, number: int, run: int, rows: list[int], positions: dict[str, str | None]) -> Segment:
    """Write a segment of any run of a task, as another process does."""
    writer = SegmentWriter(DirectoryStore(root), task, number, run, SCHEMA)
    writer.add([pa.record_batch([pa.array(rows, pa.int64())], schema=SCHEMA)], len(rows), positions)
    return writer.seal()


def seal(spool: Spool, root: Path, task: int, rows: list[int], positions: dict[str, str | None]) -> Segment:
    """Write the next segment of a task."""
    number = spool.last(task) + 1
    segment = sealed(root, task, number, spool.run_of(task, number), rows, positions)
    spool.add(segment)
    return segment


def values(spool: Spool, segments: list[Segment]) -> list[int]:
    """Return the rows of segments."""
    batches = (batch for each in segments for batch in batches_of(spool.store, each.name, SCHEMA))
    return [value for batch in batches for value in batch.column("value").to_pylist()]


@dataclass
class Writer:
    """A run of a task, which continues from the spool's state at its start, whatever runs start later."""

    task: int
    run: int
    number: int
    at: dict[int, int]
    partitions: list[int] = field(default_factory=list)

    def write(self, root: Path, rows: int, partition: int) -> None:
        """Seal what comes next of a source partition; there may be none, where all were dropped."""
        first = self.at[partition] + 1
        self.at[partition] += rows
        numbers = [partition * LARGE + each for each in range(first, first + rows)]
        position: dict[str, str | None] = {partition_key({"p": partition}): json.dumps({"at": self.at[partition]})}
        sealed(root, self.task, self.number, self.run, numbers, position)
        self.number += 1


class SpoolMachine(RuleBasedStateMachine):
    """Tasks seal segments, are lost and restart, Spark plans and commits, and the read ends at any moment.

    No started run ever stops: a replaced one continues to write, in the folder of its successor.
    """

    @initialize(tasks=st.integers(1, PARTITIONS))
    def begin(self, tasks: int) -> None:
        """Begin with an empty spool."""
        self.root = Path(mkdtemp())
        self.writers: list[Writer] = []
        self.planned: Places = {}
        self.committed: Places = {}
        self.delivered: list[int] = []
        self.batch: list[int] = []
        self.spool = Spool.open(DirectoryStore(self.root), 0)
        self.begin_tasks(tasks)

    def begin_tasks(self, tasks: int) -> None:
        """Start a read, which splits the source among its tasks."""
        self.tasks = tasks
        run = self.spool.begin(range(tasks), is_read=True)
        self.writers += [self.writer(task, run) for task in range(tasks)]

    def writer(self, task: int, run: int) -> Writer:
        """Start a task after the last segment that counts."""
        partitions = [each for each in range(PARTITIONS) if each % self.tasks == task]
        offsets = offsets_at(self.spool.positions(), [{"p": each} for each in partitions])
        at = {each: 0 if offset is None else offset["at"] for each, offset in zip(partitions, offsets)}
        return Writer(task, run, self.spool.last(task) + 1, at, partitions)

    @rule(data=st.data(), rows=st.integers(0, 3))
    def write(self, data: Any, rows: int) -> None:
        """A started run seals a segment: usually a current one, sometimes a replaced one."""
        count = len(self.writers)
        writer = self.writers[
            data.draw(st.one_of(st.integers(max(0, count - self.tasks), count - 1), st.integers(0, count - 1)))
        ]
        writer.write(self.root, rows, data.draw(st.sampled_from(writer.partitions)))

    @rule()
    def look(self) -> None:
        """The read sees all segments that the last run of each task has sealed."""
        while not self.spool.look():
            pass
        for task in range(self.tasks):
            newest = max((each for each in self.writers if each.task == task), key=lambda each: each.run)
            assert self.spool.last(task) == newest.number - 1

    @rule(data=st.data())
    def lose(self, data: Any) -> None:
        """Restart a task that counts as lost, even if it is not."""
        task = data.draw(st.integers(0, self.tasks - 1))
        self.writers.append(self.writer(task, self.spool.begin([task])))

    @rule(task=st.integers(0, PARTITIONS - 1))
    def leave_half(self, task: int) -> None:
        """A process ends while it writes: the partial segment is never visible."""
        writer = SegmentWriter(DirectoryStore(self.root), task, self.spool.last(task) + 1, 1, SCHEMA)
        writer.add([pa.record_batch([pa.array([-1])], schema=SCHEMA)], 1, {"x": "{}"})
        writer._file.close()

    @precondition(lambda self: self.planned == self.committed)
    @rule(tasks=st.sets(st.integers(0, PARTITIONS - 1)))
    def plan(self, tasks: set[int]) -> None:
        """Spark plans up to what there is of some tasks."""
        self.planned = {**self.committed, **{task: self.spool.last(task) for task in tasks}}
        self.batch = values(self.spool, self.spool.between(self.committed, self.planned))

    @rule()
    def commit(self) -> None:
        """Spark commits what it has planned."""
        self.spool.forget(self.planned)
        self.committed = dict(self.planned)
        self.delivered += self.batch
        self.batch = []

    @rule(tasks=st.integers(1, PARTITIONS))
    def restart(self, tasks: int) -> None:
        """The read ends, and another one starts, possibly with another number of tasks."""
        self.spool.close()
        self.spool = Spool.open(DirectoryStore(self.root), 0)
        self.spool.check(self.planned)
        self.spool.check(self.committed)
        self.begin_tasks(tasks)

    @invariant()
    def each_row_counts_once(self) -> None:
        """Each row of a partition counts once, without a gap; a micro-batch is the same whenever it is planned."""
        there = values(self.spool, self.spool.behind(self.committed))
        found: dict[int, list[int]] = {each: [] for each in range(PARTITIONS)}
        for row in chain(self.delivered, there):
            found[row // LARGE].append(row % LARGE)
        offsets = offsets_at(self.spool.positions(), [{"p": each} for each in range(PARTITIONS)])
        for partition, offset in enumerate(offsets):
            assert sorted(found[partition]) == list(range(1, (offset["at"] if offset else 0) + 1))
        assert values(self.spool, self.spool.between(self.committed, self.planned)) == self.batch
        assert self.spool.rows({task: self.spool.last(task) for task in range(PARTITIONS)}) == len(
            self.delivered
        ) + len(there)

    def teardown(self) -> None:
        """Leave nothing."""
        if hasattr(self, "spool"):
            self.spool.close()
            shutil.rmtree(self.root)


TestSpool = SpoolMachine.TestCase
TestSpool.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_position_of_the_later_run_wins(tmp_path: Path) -> None:
    """Tasks may split the source differently each time: the number of another task's segment does not matter."""
    first = opened(tmp_path)
    for at in (1, 2, 3):
        seal(first, tmp_path, 0, [at], {partition_key({"p": 1}): f'{{"at":{at}}}'})
    first.close()
    second = opened(tmp_path)
    seal(second, tmp_path, 1, [4], {partition_key({"p": 1}): '{"at":4}'})
    assert second.positions() == {'{"p":1}': '{"at":4}'}
    second.forget({1: 1})
    assert second.positions() == {'{"p":1}': '{"at":4}'}
    second.forget({0: 3})
    assert offsets_at(second.positions(), [{"p": 1}, {"p": 2}]) == [{"at": 4}, None]
    second.close()


def test_partition_key_ignores_the_order_of_members() -> None:
    """And large numbers keep all their digits."""
    assert partition_key({"a": 1 << 70, "b": 2}) == partition_key({"b": 2, "a": 1 << 70})


def _hold(path: str, ready: Any) -> None:
    Spool.open(DirectoryStore(Path(path)), 0)
    ready.set()
    multiprocessing.Event().wait(60)


def test_second_query_on_a_spool_is_refused(tmp_path: Path) -> None:
    """The error names the owner; a spool whose owner has ended is free."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=_hold, args=[str(tmp_path), ready])
    other.start()
    assert ready.wait(60)
    with pytest.raises(SpoolInUse, match=str(other.pid)):
        Spool.open(DirectoryStore(tmp_path), 0.1)
    other.kill()
    Spool.open(DirectoryStore(tmp_path), 30).close()
    other.join()


class Unlocked(DirectoryStore):
    """A directory on a disk whose locks do not reach from one machine to the other."""

    def lock(self, seconds: float) -> Any:
        """Lock nothing."""
        self.root.mkdir(parents=True, exist_ok=True)
        return lambda: None


@pytest.mark.parametrize("saves", [1, 2, 3])
def test_read_whose_spool_was_taken_over_fails(tmp_path: Path, saves: int) -> None:
    """Where there is no lock: with its next state, however far the other has come."""
    first = Spool.open(Unlocked(tmp_path), 0)
    first.begin([0], is_read=True)
    second = Spool.open(Unlocked(tmp_path), 0)
    for _ in range(saves):
        second.begin([0], is_read=True)
    with pytest.raises(SpoolInUse, match="taken over"):
        first.begin([0])
    second.begin([0])
    assert Counter(each.partition("-")[0] for each in os.listdir(tmp_path))["state"] == 1


def test_checkpoint_of_another_state_is_an_error(tmp_path: Path) -> None:
    """Whichever of the two was set back, something would be lost, or come again."""
    spool = opened(tmp_path)
    for number in range(4):
        seal(spool, tmp_path, 0, [number], {})
    spool.forget({0: 2})
    for good in ({0: 2}, {0: 3}, {0: 4}):
        spool.check(good)
    for bad in ({0: 1}, {}, {0: 5}, {0: 2, 1: 1}):
        with pytest.raises(SpoolMismatch, match="segment"):
            spool.check(bad)
    (segment,) = spool.between({0: 3}, {0: 4})
    (tmp_path / segment.name).unlink()
    spool.close()
    again = Spool.open(DirectoryStore(tmp_path), 0)
    with pytest.raises(SpoolMismatch, match="only 0 of the checkpoint's 1 segments"):
        again.between({0: 3}, {0: 4})
    again.close()


def test_other_directory_is_refused_and_unchanged(tmp_path: Path) -> None:
    """A directory with other content does not become a spool, and neither does a file."""
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"mine\.txt"):
        Spool.open(DirectoryStore(tmp_path), 0)
    with pytest.raises(ConfigError, match="cannot be used"):
        Spool.open(DirectoryStore(tmp_path / "mine.txt"), 0)


@pytest.mark.parametrize("damage", ["cut", "garbage", "hole", "end"])
def test_damaged_spool_is_an_error(tmp_path: Path, damage: str) -> None:
    """Rather than rows that are missing."""
    spool = opened(tmp_path)
    paths = [tmp_path / seal(spool, tmp_path, 0, [number], {}).name for number in range(3)]
    spool.begin([0])
    spool.close()
    if damage == "cut":
        paths[1].write_bytes(paths[1].read_bytes()[:-9])
    elif damage == "garbage":
        paths[1].write_bytes(b"x" * 100)
    else:
        paths[1 if damage == "hole" else 2].unlink()
    with pytest.raises(SpoolDamaged):
        Spool.open(DirectoryStore(tmp_path), 0)


def test_stored_spool_of_this_format_can_be_read(tmp_path: Path) -> None:
    """Written once and kept: a spool waits for its query across versions of Hearth, and of Arrow."""
    shutil.copytree(GOLDEN / f"spool-{FORMAT}", tmp_path / "spool")
    spool = Spool.open(DirectoryStore(tmp_path / "spool"), 0)
    assert (spool.id, spool.gone) == ("fdf676de-fdb2-4cdc-a632-dc6f5e7eb1ce", {0: 1})
    waiting = spool.behind(spool.gone)
    assert [(each.task, each.number, each.run) for each in waiting] == [(0, 2, 2), (0, 3, 2), (1, 1, 1)]
    assert values(spool, waiting) == [4, 5, 6, 10]
    assert spool.rows({0: 3, 1: 1}) == 7
    assert spool.positions() == {'{"file":"a"}': '{"at":6}', '{"file":"b"}': '{"at":10}'}
    assert spool.begin([0]) == 3
    spool.close()


def test_spool_of_another_format_is_refused_and_unchanged(tmp_path: Path) -> None:
    """A version that knows the format can continue with it."""
    content = json.dumps({"id": "x", "format": FORMAT + 1})
    (tmp_path / "spool.json").write_text(content)
    with pytest.raises(SpoolDamaged, match=f"has format {FORMAT + 1}, this Hearth supports {FORMAT}") as raised:
        Spool.open(DirectoryStore(tmp_path), 0)
    assert "the Hearth that started it" in str(raised.value.hint)
    assert (tmp_path / "spool.json").read_text() == content


def test_segment_with_another_schema_is_an_error(tmp_path: Path) -> None:
    """A query whose columns changed cannot read what waits for it."""
    spool = opened(tmp_path)
    segment = seal(spool, tmp_path, 0, [1], {})
    with pytest.raises(SpoolDamaged, match="expected"):
        list(batches_of(spool.store, segment.name, OTHER))
    spool.close()


def test_long_positions_can_be_read(tmp_path: Path) -> None:
    """Longer than what is read of the end of a file at first."""
    spool = opened(tmp_path)
    positions: dict[str, str | None] = {partition_key({"p": number}): '{"at":1}' for number in range(1000)}
    seal(spool, tmp_path, 0, [1], positions)
    spool.close()
    again = opened(tmp_path)
    assert again.positions() == positions
    again.close()


def test_a_full_disk_leaves_no_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not flushed was never there."""
    spool = opened(tmp_path)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    writer = SegmentWriter(spool.store, 0, 1, 1, SCHEMA)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="space"):
        writer.seal()
    writer.drop()
    monkeypatch.undo()
    spool.close()
    again = opened(tmp_path)
    assert again.behind({}) == []
    again.close()

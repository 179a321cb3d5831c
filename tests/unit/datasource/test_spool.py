"""Spools: what is sealed is there once, with its positions, whenever a read ends and whoever writes beside it."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearth.datasource.segment import Overtaken, Segment, SegmentWriter, SpoolDamaged, batches_of
from hearth.datasource.spool import Places, Spool, SpoolInUse, SpoolMismatch, partition_key
from hearth_api import ConfigError

SCHEMA = pa.schema([pa.field("value", pa.int64())])
OTHER = pa.schema([pa.field("value", pa.string())])


def seal(spool: Spool, task: int, rows: list[int], positions: dict[str, str | None], number: int = 0) -> Segment:
    """Write the next segment of a task, or one of a number of its own."""
    writer = SegmentWriter(spool.root, task, number or spool.last(task) + 1, spool.run, SCHEMA)
    writer.add([pa.record_batch([pa.array(rows, pa.int64())], schema=SCHEMA)], len(rows), positions)
    segment = writer.seal()
    spool.add(segment)
    return segment


def values(spool: Spool, segments: list[Segment]) -> list[int]:
    """Return the rows of segments."""
    batches = (batch for each in segments for batch in batches_of(str(each.path(spool.root)), SCHEMA))
    return [value for batch in batches for value in batch.column("value").to_pylist()]


class SpoolMachine(RuleBasedStateMachine):
    """Tasks seal, Spark plans and commits, and everything ends at any moment; the model knows what must be there."""

    @initialize()
    def begin(self) -> None:
        """Begin with an empty spool."""
        self.root = Path(mkdtemp())
        self.spool = Spool.open(self.root, 0)
        self.count = 0
        self.sealed: dict[tuple[int, int], list[int]] = {}
        self.at: dict[str, int] = {}
        self.planned: Places = {}
        self.committed: Places = {}

    @rule(task=st.integers(0, 2), rows=st.integers(0, 3), partition=st.sampled_from("ab"))
    def write(self, task: int, rows: int, partition: str) -> None:
        """A task seals rows, which may be none where all were dropped."""
        numbers = list(range(self.count, self.count + rows))
        self.count += rows
        key = partition_key({"p": partition, "task": task})
        segment = seal(self.spool, task, numbers, {key: json.dumps({"at": self.count})})
        self.sealed[task, segment.number] = numbers
        self.at[key] = self.count

    @rule(task=st.integers(0, 2))
    def leave_half(self, task: int) -> None:
        """A process ends while it writes: nobody ever sees that."""
        writer = SegmentWriter(self.root, task, self.spool.last(task) + 1, self.spool.run, SCHEMA)
        writer.add([pa.record_batch([pa.array([-1])], schema=SCHEMA)], 1, {"x": "{}"})
        writer._file.close()

    @precondition(lambda self: self.sealed)
    @rule(data=st.data())
    def overtake(self, data: Any) -> None:
        """A run that should have ended writes what another has written meanwhile: it hears so, and changes nothing."""
        task, number = data.draw(st.sampled_from(sorted(self.sealed)))
        if number <= self.committed.get(task, 0):
            return
        with pytest.raises(Overtaken):
            seal(self.spool, task, [-2], {"y": "{}"}, number)

    @precondition(lambda self: self.planned == self.committed)
    @rule(tasks=st.sets(st.integers(0, 2)))
    def plan(self, tasks: set[int]) -> None:
        """Spark plans up to what there is of some tasks."""
        self.planned = {**self.committed, **{task: self.spool.last(task) for task in tasks}}

    @rule()
    def commit(self) -> None:
        """Spark commits what it has planned."""
        self.spool.forget(self.planned)
        self.committed = dict(self.planned)

    @rule()
    def restart(self) -> None:
        """Everything ends, and the spool is opened again."""
        run = self.spool.run
        self.spool.close()
        self.spool = Spool.open(self.root, 0)
        assert self.spool.run == run + 1
        self.spool.check(self.planned)
        self.spool.check(self.committed)

    @invariant()
    def has_all_that_was_sealed(self) -> None:
        """Each row is there once, a planned micro-batch is the same whenever it is planned, and positions stay."""
        wanted = [rows for (task, number), rows in sorted(self.sealed.items()) if number > self.committed.get(task, 0)]
        assert sorted(values(self.spool, self.spool.behind(self.committed))) == sorted(chain.from_iterable(wanted))
        batch = values(self.spool, self.spool.between(self.committed, self.planned))
        planned = [
            rows
            for (task, number), rows in self.sealed.items()
            if self.committed.get(task, 0) < number <= self.planned.get(task, 0)
        ]
        assert sorted(batch) == sorted(chain.from_iterable(planned))
        assert self.spool.offsets([json.loads(key) for key in self.at]) == [{"at": at} for at in self.at.values()]
        assert self.spool.rows({task: self.spool.last(task) for task in range(3)}) == self.count

    def teardown(self) -> None:
        """Leave nothing."""
        if hasattr(self, "spool"):
            self.spool.close()
            shutil.rmtree(self.root)


TestSpool = SpoolMachine.TestCase
TestSpool.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_a_later_run_knows_better_where_a_partition_stands(tmp_path: Path) -> None:
    """Tasks may share their source out anew: a number of another task's says nothing."""
    first = Spool.open(tmp_path / "s", 0)
    for at in (1, 2, 3):
        seal(first, 0, [at], {partition_key({"p": 1}): f'{{"at":{at}}}'})
    first.close()
    second = Spool.open(tmp_path / "s", 0)
    seal(second, 1, [4], {partition_key({"p": 1}): '{"at":4}'})
    assert second.offsets([{"p": 1}]) == [{"at": 4}]
    second.forget({1: 1})
    assert second.offsets([{"p": 1}]) == [{"at": 4}]
    second.forget({0: 3})
    assert second.offsets([{"p": 1}, {"p": 2}]) == [{"at": 4}, None]
    second.close()


def test_a_partition_is_known_whatever_the_order_of_its_members() -> None:
    """And large numbers keep all their digits."""
    assert partition_key({"a": 1 << 70, "b": 2}) == partition_key({"b": 2, "a": 1 << 70})


def _hold(path: str, ready: Any) -> None:
    Spool.open(Path(path), 0)
    ready.set()
    multiprocessing.Event().wait(60)


def test_two_queries_do_not_use_one_spool(tmp_path: Path) -> None:
    """The second is told who has it, and one whose process has ended has it no longer."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=_hold, args=[str(tmp_path), ready])
    other.start()
    assert ready.wait(60)
    with pytest.raises(SpoolInUse, match=str(other.pid)):
        Spool.open(tmp_path, 0.1)
    other.kill()
    Spool.open(tmp_path, 30).close()
    other.join()


def test_a_checkpoint_and_a_spool_must_have_been_together(tmp_path: Path) -> None:
    """Whichever of the two was set back, something would be lost, or come again."""
    spool = Spool.open(tmp_path / "s", 0)
    for number in range(4):
        seal(spool, 0, [number], {})
    spool.forget({0: 2})
    for good in ({0: 2}, {0: 3}, {0: 4}):
        spool.check(good)
    for bad in ({0: 1}, {}, {0: 5}, {0: 2, 1: 1}):
        with pytest.raises(SpoolMismatch, match="segment"):
            spool.check(bad)
    (segment,) = spool.between({0: 3}, {0: 4})
    segment.path(spool.root).unlink()
    spool.close()
    again = Spool.open(tmp_path / "s", 0)
    with pytest.raises(SpoolMismatch, match="0 of the 1 segments"):
        again.between({0: 3}, {0: 4})
    again.close()


def test_what_is_no_spool_stays_as_it_is(tmp_path: Path) -> None:
    """A directory with something else in it is not begun as one; nor is a file."""
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"mine\.txt"):
        Spool.open(tmp_path, 0)
    with pytest.raises(ConfigError, match="cannot be used"):
        Spool.open(tmp_path / "mine.txt", 0)


@pytest.mark.parametrize("damage", ["cut", "garbage", "hole"])
def test_damage_is_told(tmp_path: Path, damage: str) -> None:
    """Rather than rows that are missing."""
    spool = Spool.open(tmp_path / "s", 0)
    path = [seal(spool, 0, [number], {}).path(spool.root) for number in range(3)][1]
    spool.close()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif damage == "garbage":
        path.write_bytes(b"x" * 100)
    else:
        path.unlink()
    with pytest.raises(SpoolDamaged):
        Spool.open(tmp_path / "s", 0)


def test_rows_of_another_schema_are_not_read_as_if_they_were_not(tmp_path: Path) -> None:
    """A query whose columns changed cannot read what waits for it."""
    spool = Spool.open(tmp_path / "s", 0)
    segment = seal(spool, 0, [1], {})
    with pytest.raises(SpoolDamaged, match="schema"):
        list(batches_of(str(segment.path(spool.root)), OTHER))
    spool.close()


def test_a_full_disk_leaves_no_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not flushed was never there."""
    spool = Spool.open(tmp_path / "s", 0)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    writer = SegmentWriter(spool.root, 0, 1, spool.run, SCHEMA)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="space"):
        writer.seal()
    writer.drop()
    monkeypatch.undo()
    spool.close()
    assert Spool.open(tmp_path / "s", 0).behind({}) == []


def test_segments_of_tasks_elsewhere_are_found(tmp_path: Path) -> None:
    """They are looked for where nobody here is told of them."""
    spool = Spool.open(tmp_path / "s", 0)
    writer = SegmentWriter(spool.root, 7, 1, spool.run, SCHEMA)
    writer.add([pa.record_batch([pa.array([5])], schema=SCHEMA)], 1, {})
    writer.seal()
    assert spool.behind({}) == []
    spool.look()
    assert values(spool, spool.behind({})) == [5]
    spool.close()

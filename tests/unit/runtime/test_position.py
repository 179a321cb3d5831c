"""Positions, compared with a simple model of single records."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.runtime.position import SourceRows, SubmittedPositions

FIRST, SECOND = {"file": "a"}, {"file": "b"}


def offsets(*positions: int | None) -> Any:
    """Return a column of source offsets."""
    return pa.array([None if each is None else json.dumps({"at": each}) for each in positions], pa.string())


NONE = np.empty(0, np.int64)


def submit(positions: SubmittedPositions, partition: Any, offsets: Any, written: Any = None, held: Any = None) -> int:
    """Submit records of one source partition, all of which are written unless it is said otherwise."""
    count = len(offsets)
    written = np.ones(count, np.bool_) if written is None else written
    return positions.submit([SourceRows(partition, offsets, np.arange(count))], written, held)


def ack(positions: SubmittedPositions, *sequence: int) -> None:
    """Acknowledge records by number."""
    positions.acknowledge(np.array(sequence, np.int64))


def test_offset_stays_uncommitted_until_ack() -> None:
    """A submitted record moves nothing; its acknowledgement does."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1))
    assert positions.committable() == []
    ack(positions, 0)
    assert positions.committable() == [(FIRST, {"at": 1})]


def test_unacknowledged_record_is_found_by_number() -> None:
    """A report has its source position, and ``held`` has the rest."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2), held="first")
    submit(positions, SECOND, offsets(3, None), held="second")
    ack(positions, 0)
    assert positions.find(1) == ("first", 1, FIRST, {"at": 2})
    assert positions.find(2) == ("second", 0, SECOND, {"at": 3})
    assert positions.find(3) == ("second", 1, SECOND, None)


def test_only_the_acknowledged_prefix_of_a_partition_is_committable() -> None:
    """Kafka's own example: two partitions with two records each, acknowledged out of order."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2))
    submit(positions, SECOND, offsets(1, 2))
    ack(positions, 1)
    assert positions.committable() == []
    ack(positions, 2)
    assert positions.committable() == [(SECOND, {"at": 1})]
    ack(positions, 0, 3)
    assert positions.committable() == [(FIRST, {"at": 2}), (SECOND, {"at": 2})]


def test_an_offset_is_returned_once() -> None:
    """An offset from the last call is not returned again."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2, 3))
    ack(positions, 0)
    assert positions.committable() == [(FIRST, {"at": 1})]
    assert positions.committable() == []


def test_dropped_records_count_as_done() -> None:
    """A record that is not written neither closes nor opens a gap."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2, 3), np.array([False, True, False]))
    assert positions.committable() == [(FIRST, {"at": 1})]
    ack(positions, 1)
    assert positions.committable() == [(FIRST, {"at": 3})]
    assert positions.pending == 0


def test_a_record_without_offset_leaves_the_last_known_one() -> None:
    """Records without an offset are waited for but have no position to commit."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, None, None))
    ack(positions, 0, 1, 2)
    assert positions.committable() == [(FIRST, {"at": 1})]
    submit(positions, FIRST, pa.nulls(2, pa.string()))
    ack(positions, 3, 4)
    assert positions.committable() == []
    assert positions.pending == 0


def test_a_record_without_partition_is_never_committed() -> None:
    """No source partition, no position; the record is still waited for."""
    positions = SubmittedPositions()
    submit(positions, None, offsets(1))
    assert positions.pending == 1
    ack(positions, 0)
    assert (positions.committable(), positions.pending) == ([], 0)


def test_partitions_are_equal_in_any_field_order() -> None:
    """A position must not pass a gap submitted under another field order."""
    positions = SubmittedPositions()
    submit(positions, {"db": "d", "table": "t"}, offsets(1))
    submit(positions, {"table": "t", "db": "d"}, offsets(2))
    ack(positions, 1)
    assert positions.committable() == []
    ack(positions, 0)
    assert positions.committable() == [({"db": "d", "table": "t"}, {"at": 2})]


def test_repeated_acknowledgements_have_no_effect() -> None:
    """Even for records that were released already."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2))
    ack(positions, 0, 0)
    assert positions.pending == 1
    ack(positions, 1, 1)
    submit(positions, FIRST, offsets(3, 4))
    ack(positions, 0, 1)
    assert positions.pending == 2
    assert positions.committable() == [(FIRST, {"at": 2})]


def test_held_memory_is_released_with_the_last_acknowledgement() -> None:
    """The producer reads a record's bytes in place until it is written."""

    class Column:
        """Something that notices when it is no longer needed."""

    import weakref

    column = Column()
    alive = weakref.ref(column)
    positions = SubmittedPositions()
    submit(positions, SECOND, offsets(0))
    submit(positions, FIRST, offsets(1, 2), held=column)
    del column
    ack(positions, 1)
    assert alive() is not None
    ack(positions, 2)
    assert alive() is None


def test_recalled_records_count_as_unacknowledged() -> None:
    """From the first of them on, including acknowledged ones; other source partitions are not affected."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2, 3), np.array([True, True, False]), held="one")
    submit(positions, SECOND, offsets(1), held="other")
    submit(positions, FIRST, offsets(4, 5), held="two")
    ack(positions, 0, 3, 4, 5)
    again = positions.recall(np.array([1]), NONE)
    assert [(first, held, numbers.tolist()) for first, held, numbers in again] == [(0, "one", [1]), (4, "two", [4, 5])]
    assert positions.committable() == [(FIRST, {"at": 1}), (SECOND, {"at": 1})]
    ack(positions, 1, 4)
    assert positions.committable() == [(FIRST, {"at": 4})]


def test_given_up_records_are_not_sent_again() -> None:
    """A skipped record counts as done permanently."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1, 2, 3))
    positions.give_up(np.array([1]))
    (again,) = positions.recall(np.array([0]), NONE)
    assert again[2].tolist() == [0, 2]
    ack(positions, 0, 2)
    assert positions.committable() == [(FIRST, {"at": 3})]


def test_records_after_a_gap_stay_held() -> None:
    """A finished batch keeps its columns until the gap before it is closed."""
    positions = SubmittedPositions()
    submit(positions, FIRST, offsets(1), held="one")
    submit(positions, FIRST, offsets(2), held="two")
    ack(positions, 1)
    assert [held for _, held, _ in positions.recall(np.array([0]), NONE)] == ["one", "two"]


def test_records_of_one_poll_have_separate_positions() -> None:
    """An unacknowledged one blocks only its own source partition."""
    positions = SubmittedPositions()
    parts = [
        SourceRows(FIRST, offsets(1, 3), np.array([0, 3])),
        SourceRows(SECOND, offsets(1), np.array([1])),
        SourceRows(dict(FIRST), offsets(2, 4), np.array([2, 4])),
    ]
    assert positions.submit(parts, np.array([True, True, True, True, False]), "all") == 0
    ack(positions, 1, 3)
    assert positions.committable() == [(SECOND, {"at": 1})]
    assert positions.find(2) == ("all", 2, FIRST, {"at": 2})
    ack(positions, 0)
    assert positions.committable() == [(FIRST, {"at": 1})]
    ack(positions, 2)
    assert (positions.committable(), positions.pending) == ([(FIRST, {"at": 4})], 0)


def test_waiting_records_are_merged_with_recalled_ones() -> None:
    """In poll order; other source partitions lose no acknowledgements."""
    positions = SubmittedPositions()
    together = [
        SourceRows(FIRST, offsets(1, 2), np.array([0, 2])),
        SourceRows(SECOND, offsets(1, 2), np.array([1, 3])),
    ]
    positions.submit(together, np.ones(4, np.bool_), "all")
    submit(positions, SECOND, offsets(3), held="later")
    ack(positions, 1, 2)
    again = positions.recall(np.array([0]), np.array([3, 4]))
    assert [(first, held, numbers.tolist()) for first, held, numbers in again] == [
        (0, "all", [0, 2, 3]), (4, "later", [4]),
    ]  # fmt: skip
    assert (positions.pending, positions.committable()) == (4, [(SECOND, {"at": 1})])


def test_a_fully_dropped_poll_is_released() -> None:
    """A filter may drop everything for days."""
    positions = SubmittedPositions()
    for number in range(5):
        submit(positions, FIRST, offsets(number), np.array([False]))
    assert (len(positions._spans), positions.committable()) == (0, [(FIRST, {"at": 4})])


@dataclass
class Model:
    """The same promise, record by record."""

    records: list[tuple[int, int | None, bool]] = field(default_factory=list)

    def submit(self, partitions: list[int], positions: list[int | None], written: list[bool]) -> None:
        """Take in records, the dropped ones as done."""
        self.records += [(each, at, not write) for each, at, write in zip(partitions, positions, written, strict=True)]

    def ack(self, number: int) -> None:
        """Mark one record."""
        partition, at, _ = self.records[number]
        self.records[number] = (partition, at, True)

    def committed(self) -> dict[int, int]:
        """Return the last known position before the first gap of each partition."""
        result: dict[int, int] = {}
        gaps: set[int] = set()
        for partition, at, done in self.records:
            if not done:
                gaps.add(partition)
            elif partition not in gaps and at is not None:
                result[partition] = at
        return result


@settings(deadline=None)
@given(st.data())
def test_positions_never_pass_a_gap_and_end_complete(data: st.DataObject) -> None:
    """Whatever is submitted, dropped and acknowledged in whatever order, the model's positions come out."""
    positions, model = SubmittedPositions(), Model()
    stored: dict[int, int] = {}
    waiting: list[int] = []

    def commit() -> None:
        for partition, offset in positions.committable():
            assert stored.get(partition["p"]) != offset["at"], "told again without having moved"
            stored[partition["p"]] = offset["at"]
        assert stored == model.committed()

    for _ in range(data.draw(st.integers(1, 8), "rounds")):
        first = len(model.records)
        count = data.draw(st.integers(0, 4), "count")
        kinds = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count), "kinds")
        known = data.draw(st.lists(st.booleans(), min_size=count, max_size=count), "known")
        written = data.draw(st.lists(st.booleans(), min_size=count, max_size=count), "written")
        at = [first + row if is_known else None for row, is_known in enumerate(known)]
        places = [np.array([row for row in range(count) if kinds[row] == kind]) for kind in dict.fromkeys(kinds)]
        parts = [
            SourceRows({"p": kinds[rows[0]] // 2}, offsets(*(at[row] for row in rows.tolist())), rows)
            for rows in places
        ]  # two kinds of records to a source partition
        assert positions.submit(parts, np.array(written, np.bool_)) == first
        model.submit([kind // 2 for kind in kinds], at, written)
        waiting += [first + row for row in range(count) if written[row]]
        done = data.draw(st.lists(st.sampled_from(waiting), unique=True), "acknowledged") if waiting else []
        ack(positions, *done)
        for number in done:
            model.ack(number)
            waiting.remove(number)
        assert positions.pending == len(waiting)
        if data.draw(st.booleans(), "commit"):
            commit()
    ack(positions, *waiting)
    for number in waiting:
        model.ack(number)
    commit()
    assert positions.pending == 0

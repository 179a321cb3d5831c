"""Order: parts of a batch put back together, compared with plain sorting."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, TimestampType
from hearth_api.batch import Batch
from hearth_execution.order import (
    are_alike,
    are_interleaved,
    are_numbered_together,
    cut,
    in_order,
    join,
    join_all,
    join_sources,
    number_rows,
    numbered,
    row_of,
    rows_before,
    rows_of,
    select,
)


def part(name: str, *rows: int) -> Batch:
    """Return a batch of a topic with these rows; each value contains its row."""
    columns = [pa.array([f"{name}{row}" for row in rows], pa.string()), pa.array(rows, pa.int32())]
    return Batch(name, None, STRING_SCHEMA, pa.RecordBatch.from_arrays(columns, names=["value", "row"]))


def content(batches: list[Batch]) -> list[tuple[str | None, list[int]]]:
    """Return topic and rows of each batch."""
    return [(batch.topic, rows_of(batch).tolist()) for batch in batches]


def test_rows_are_numbered_from_zero() -> None:
    """Every step finds rows by their number in the polled batch."""
    batch = part("a", 7, 8).with_columns(row=None)
    assert rows_of(number_rows(batch)).tolist() == [0, 1]


def test_similar_batches_are_joined() -> None:
    """The rows of the first precede those of the second; others are not similar."""
    first, second = part("a", 0, 1), part("a", 2)
    assert are_alike(first, second)
    assert content([join([first, second])]) == [("a", [0, 1, 2])]
    others = [
        part("b", 2), second.with_columns(row=None), second.replace(key_schema=STRING_SCHEMA),
        second.replace(value_schema=None), second.replace(source_partition={"p": 1}),
        second.replace(timestamp_type=TimestampType.CREATE_TIME),
    ]  # fmt: skip
    assert not any(are_alike(first, other) for other in others)


def test_consecutive_groups_are_joined_with_numbers_across_all() -> None:
    """Similar batches are joined whatever is between them; groups of one similar batch each need no numbers."""
    groups = [[part("a", 0, 2), part("b", 1)], [part("b", 0, 1)], [part("c", 1), part("a", 0)]]
    assert content(join_all(groups)) == [("a", [0, 2, 5]), ("b", [1, 3, 4]), ("c", [6])]
    plain = part("a", 7, 8).with_columns(row=None)
    (joined,) = join_all([[plain], [plain]])
    assert (joined.column("row"), joined.column("value").to_pylist()) == (None, ["a7", "a8"] * 2)
    assert content(join_all([[plain], [part("a", 0, 1)]])) == [("a", [0, 1, 2, 3])]
    assert content(numbered([plain, part("b", 5)])) == [("a", [0, 1]), ("b", [5])]


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=12), min_size=1, max_size=5
    )
)
def test_many_kinds_are_joined_like_one_poll(polls: list[list[tuple[int, int]]]) -> None:
    """Each kind is one batch, with the rows of all polls in order; kinds are in the order of their first rows."""
    groups = []
    for poll in polls:
        rows = {kind: [row for row, each in enumerate(poll) if each == kind] for kind in dict.fromkeys(poll)}
        groups.append([part(f"{topic}", *own).replace(source_partition={"p": source})
                       for (topic, source), own in rows.items()])  # fmt: skip
    joined = join_all(groups)
    all_rows = [kind for poll in polls for kind in poll]
    wanted = {kind: [row for row, each in enumerate(all_rows) if each == kind] for kind in dict.fromkeys(all_rows)}
    assert [(f"{topic}", rows) for (topic, _), rows in wanted.items()] == content(joined)
    assert [batch.source_partition for batch in joined] == [{"p": source} for _, source in wanted]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_rows_of_many_sources_are_joined_in_their_order(kinds: list[tuple[int, int]]) -> None:
    """There is one batch per topic, whatever the source partitions."""
    rows = {kind: [row for row, each in enumerate(kinds) if each == kind] for kind in dict.fromkeys(kinds)}
    batches = [part(f"{topic}", *own).replace(source_partition={"p": source}) for (topic, source), own in rows.items()]
    wanted = {topic: [row for row, (each, _) in enumerate(kinds) if each == topic] for topic, _ in kinds}
    joined = join_sources(batches)
    assert content(joined) == [(f"{topic}", own) for topic, own in wanted.items()]
    values = [batch.column("value").to_pylist() for batch in joined]
    assert values == [[f"{topic}{row}" for row in own] for topic, own in wanted.items()]


def test_a_batch_alone_needs_no_numbers() -> None:
    """Columns of batches of another kind do not matter either."""
    plain = part("a", 7, 8).with_columns(row=None)
    assert join_sources([plain]) == [plain]
    lacking, other = part("a", 1).with_columns(other=pa.array([1])), part("b", 2)
    batches = [part("a", 0), lacking, other]
    assert content(join_sources(batches)) == [("a", [0]), ("a", [1]), ("b", [2])]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=4))
def test_numbers_across_batches_are_recognized(numbers: list[list[int]]) -> None:
    """Each number occurs once, and numbers ascend within each batch, of which some may be empty."""
    together = sorted(row for own in numbers for row in own)
    wanted = together == list(range(len(together))) and all(own == sorted(set(own)) for own in numbers)
    assert are_numbered_together([part("a", *own) for own in numbers]) is wanted


def test_rows_are_found_by_their_numbers() -> None:
    """In any of the batches."""
    parts = [part("a", 0, 2, 3), part("b", 1, 4)]
    assert [row_of(parts, row).column("value").to_pylist() for row in range(5)] == [
        ["a0"], ["b1"], ["a2"], ["a3"], ["b4"],
    ]  # fmt: skip
    assert content(rows_before(parts, 3)) == [("a", [0, 2]), ("b", [1])]
    assert content(rows_before(parts, 1)) == [("a", [0])]
    assert content(rows_before([part("a", 5, 6).with_columns(row=None)], 1)) == [("a", [0])]


def test_parts_are_sorted_by_their_first_rows() -> None:
    """Nothing is split, whether they interleave or not."""
    assert content(in_order([part("b", 3, 4), part("a", 0, 2)])) == [("a", [0, 2]), ("b", [3, 4])]
    assert content(in_order([part("b", 1, 4), part("a", 0, 2)])) == [("a", [0, 2]), ("b", [1, 4])]


def test_interleaved_parts_are_recognized() -> None:
    """Parts without numbers are in order."""
    assert not are_interleaved([part("a", 0, 2), part("b", 3, 4)])
    assert are_interleaved([part("a", 0, 2), part("b", 1, 4)])
    assert are_interleaved([part("b", 3, 4), part("a", 0, 2)])
    plain = part("a", 0, 1).with_columns(row=None)
    assert not are_interleaved([plain, plain])
    assert not are_interleaved([])


def test_selecting_columns_keeps_the_row_numbers_of_interleaved_parts() -> None:
    """Other batches need no numbers."""
    names = [batch.data.schema.names for batch in select([part("a", 0, 2), part("b", 1)], {"value"})]
    assert names == [["value", "row"]] * 2
    names = [batch.data.schema.names for batch in select([part("a", 0), part("b", 1)], {"value"})]
    assert names == [["value"]] * 2


def test_interleaved_parts_are_split_into_contiguous_ones() -> None:
    """A batch has one topic and schema, so alternating rows need several."""
    parts = [part("a", 0, 1, 4), part("b", 2, 3, 5)]
    assert content(cut(parts)) == [("a", [0, 1]), ("b", [2, 3]), ("a", [4]), ("b", [5])]


def test_empty_parts_vanish() -> None:
    """A part without rows has no position."""
    assert content(in_order([part("a"), part("b", 1), part("c")])) == [("b", [1])]
    assert in_order([part("a")]) == []


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=40), st.permutations(range(5)))
def test_order_is_that_of_the_rows_and_nothing_is_lost(owners: list[int], shuffled: list[int]) -> None:
    """However rows are spread over parts, they come out in order with their topic and value."""
    parts = [part(str(name), *(row for row, owner in enumerate(owners) if owner == name)) for name in shuffled]
    ordered = cut(parts)
    rows = [(batch.topic, row) for batch in ordered for row in rows_of(batch).tolist()]
    assert rows == [(str(owner), row) for row, owner in enumerate(owners)]
    values = [value for batch in ordered for value in batch.column("value").to_pylist()]
    assert values == [f"{owner}{row}" for row, owner in enumerate(owners)]
    assert len(ordered) <= 1 + sum(before != after for before, after in zip(owners, owners[1:], strict=False))

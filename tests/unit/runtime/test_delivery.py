"""Deliveries: converted records of a sink, in fetch order, without revoked partitions."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.kafka.fetched import Incoming
from hearth.runtime.delivery import (
    CALL_BYTES,
    MOST_PUTS,
    QUICK_SECONDS,
    Delivery,
    PutFailed,
    SentPut,
    SentPuts,
    bounds,
    delivered,
)
from hearth_api import STRING_SCHEMA, TopicPartition
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, Failure, RemoteError
from hearth_execution.order import number_rows
from hearth_execution.transformation import Outcome

HERE = TopicPartition("t", 0)


def incoming(*places: tuple[int, int], topic: str = "t", kind: int = 1) -> Incoming:
    """Return consumed rows at these partitions and offsets."""
    partitions, offsets = [place[0] for place in places], [place[1] for place in places]
    return Incoming(
        topic=topic,
        partition=np.array(partitions, np.int32),
        offset=np.array(offsets, np.int64),
        key=pa.nulls(len(places), pa.binary()),
        value=pa.array([b"%d/%d" % place for place in places], pa.binary()),
        timestamp=np.array(offsets, np.int64) * 10 if kind else None,
        timestamp_type=kind,
        headers=None,
    )


def batch(*partitions: int, topic: str = "t", **columns: Any) -> Batch:
    """Return a batch of rows from these partitions."""
    columns = {"partition": pa.array(partitions, pa.int32()), **columns}
    columns["value"] = pa.array([str(number) for number in partitions])
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(topic, None, STRING_SCHEMA, data, original_topic="t")


def partitions(delivery: Delivery) -> list[list[int]]:
    """Return where the rows of each batch came from, by their values."""
    return [[int(value) for value in each.column("value").to_pylist()] for each in delivery.batches]


def test_rows_of_revoked_partitions_are_removed() -> None:
    """A retry after a rebalance has only records of assigned partitions; empty batches vanish."""
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    delivery = Delivery([batch(0, 1, 0), batch(1)], (), {first: 5, second: 7}, {first: 6, second: 9})
    left = delivery.without({second})
    assert partitions(left) == [[0, 0]]
    assert (left.starts, left.offsets) == ({first: 5}, {first: 6})


def test_transformed_records_keep_their_row_numbers() -> None:
    """Transformations may interleave batches; the row column of a put restores the order."""
    whole = number_rows(batch(0, 1, 2, 3))
    odd = pa.array([False, True] * 2)
    pipeline: Any = SimpleNamespace(
        transform=lambda batches: Outcome([each.filter(mask) for each in batches for mask in (odd, pc.invert(odd))]),
    )
    delivery = delivered([incoming((0, 0), (1, 0), (2, 0), (3, 0))], [lambda: Outcome([whole])], pipeline)
    assert partitions(delivery) == [[0, 2], [1, 3]]
    batches = delivery.to_put(["value"], 10, are_consumed_wanted=False).batches
    assert [batch.column("row").to_pylist() for batch in batches] == [[0, 2], [1, 3]]


def test_unreported_failures_are_only_counted() -> None:
    """Splitting a delivery with thousands of bad records would copy their failures for each put."""
    whole, failed = number_rows(batch(0, 1)), [failure(1)]
    pipeline: Any = SimpleNamespace(transform=lambda batches: Outcome(batches, [failure(0)]))
    read = [incoming((0, 0), (1, 0))]
    delivery = delivered(read, [lambda: Outcome([whole], failed)], pipeline)
    assert [each.row for each in delivery.failures] == [1, 0]
    skipped: list[int] = []
    delivery = delivered(read, [lambda: Outcome([whole], failed)], pipeline, skip=skipped.append)
    assert (delivery.failures, skipped) == ([], [2])


def test_split_deliveries_share_the_converted_bytes() -> None:
    """Together they have all bytes, whatever was removed from one."""
    whole = number_rows(batch(0, 1, 2, 3))
    pipeline: Any = SimpleNamespace(transform=Outcome)
    delivery = delivered([incoming((0, 0), (1, 0), (2, 0), (3, 0))], [lambda: Outcome([whole])], pipeline)
    first, rest = delivery.split(2)
    assert rest is not None
    assert [piece.size for piece in (first, rest)] == [whole.data.nbytes / 2] * 2
    assert first.without({TopicPartition("t", 0)}).size == whole.data.nbytes / 4


def test_rows_are_identified_by_their_original_partition() -> None:
    """A transformation may change a record's topic or partition; a revocation still removes it."""
    moved = batch(9, 9, topic="u", original_partition=pa.array([0, 1], pa.int32()))
    left = Delivery([moved]).without({TopicPartition("t", 0), TopicPartition("u", 9)})
    assert left.batches[0].column("original_partition").to_pylist() == [1]


def numbered(values: list[int], rows: list[int]) -> Batch:
    """Return a batch of these rows of what was read."""
    columns = {"partition": pa.array([0] * len(values), pa.int32()), "row": pa.array(rows, pa.int32())}
    columns["value"] = pa.array([str(value) for value in values])
    return Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))


def failure(row: int) -> Failure:
    """Return a failure of a row."""
    return Failure(row, "VALUE_CONVERTER", "C", ErrorInfo("data", "E", "broken", "trace"))


@given(
    count=st.integers(1, 9),
    others=st.integers(0, 9),
    most=st.integers(1, 10),
    fates=st.lists(st.sampled_from(["put", "put", "dropped", "failed"]), min_size=18, max_size=18),
    cut=st.integers(0, 9),
)
def test_one_read_is_split_into_puts(count: int, others: int, most: int, fates: list[str], cut: int) -> None:
    """Each has the records, failures and offsets of its own rows, renumbered."""
    sources = (incoming(*((0, at) for at in range(count))), incoming(*((0, at) for at in range(others)), topic="u"))
    kept = [row for row in range(count + others) if fates[row] == "put"]
    batches = [numbered(rows, rows) for rows in (kept[:cut], kept[cut:]) if rows]
    failed = [failure(row) for row in range(count + others) if fates[row] == "failed"]
    whole = Delivery(batches, sources, *bounds(sources), topics={"t"}, failures=failed)
    starts = range(0, count + others, most)
    pieces: list[Delivery] = []
    rest: Delivery | None = whole
    while rest is not None:
        piece, rest = rest.split(most)
        pieces.append(piece)
    assert [value for piece in pieces for values in partitions(piece) for value in values] == kept
    for start, piece in zip(starts, pieces):
        rows = range(start, min(start + most, count + others))
        assert [row for each in piece.batches for row in each.column("row").to_pylist()] == [
            row - start for row in kept if row in rows
        ]
        assert [each.row for each in piece.failures] == [each.row - start for each in failed if each.row in rows]
        records = [(piece.record(row - start), whole.record(row)) for row in rows]
        assert [mine and mine.text() for mine, _ in records] == [its and its.text() for _, its in records]
        assert piece.record(len(rows)) is None
        read = [("t", row) if row < count else ("u", row - count) for row in rows]
        assert piece.offsets == {TopicPartition(topic, 0): offset + 1 for topic, offset in read}
        assert piece.starts == {TopicPartition(topic, 0): offset for topic, offset in reversed(read)}
        assert piece.topics == {topic for topic, _ in read} & {"t"}


def test_a_split_delivery_omits_revoked_partitions() -> None:
    """Their records are in the sources, and are neither put nor counted."""
    sources = (incoming((0, 5), (1, 6), (0, 6), (1, 7)),)
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    left = Delivery([number_rows(batch(0, 1, 0, 1))], sources, *bounds(sources)).without({second})
    part, rest = left.split(2)
    assert rest is not None
    assert (part.starts, part.offsets, rest.starts, rest.offsets) == ({first: 5}, {first: 6}, {first: 6}, {first: 7})
    assert [partitions(each) for each in (part, rest)] == [[[0]], [[0]]]


def test_a_call_marks_the_end_of_each_put() -> None:
    """By the number of the first row after it, because transformations may have dropped rows."""
    sources = (incoming(*((0, at) for at in range(5))),)
    kept = numbered([0, 1, 4], [0, 1, 4])
    put = Delivery([kept], sources, *bounds(sources)).to_put(["value"], 2, are_consumed_wanted=False)
    assert put.ends == [2, 4, 5]
    assert [[row for each in batches for row in each.column("value").to_pylist()] for batches in put.puts()] == [
        ["0", "1"], [], ["4"],
    ]  # fmt: skip
    whole = Delivery([kept], sources, *bounds(sources)).to_put(["value"], 5, are_consumed_wanted=False)
    assert (whole.ends, [*whole.puts()], whole.batches[0].column("row")) == ([], [whole.batches], None)


def test_a_revoked_partition_takes_its_failures_with_it() -> None:
    """The next owner of the partition finds them again."""
    delivery = Delivery(sources=(incoming((0, 5), (1, 6)),), failures=[failure(0), failure(1)])
    assert [each.row for each in delivery.without({TopicPartition("t", 0)}).failures] == [1]


def test_record_is_found_by_number_through_all_sources() -> None:
    """Rows are numbered on from one source to the next."""
    delivery = Delivery(sources=(incoming((0, 5), (0, 6)), incoming((3, 1), topic="u")))
    found = [delivery.record(row) for row in range(4)]
    assert [None if each is None else (each.incoming.topic, each.row) for each in found] == [
        ("t", 0),
        ("t", 1),
        ("u", 0),
        None,
    ]


def test_failed_put_names_its_records() -> None:
    """The trace has the offsets per partition and the plugin's error; of many partitions some are left out."""
    places = [TopicPartition("t", number) for number in range(12)]
    delivery = Delivery([batch(0, 0, 1)], (), dict.fromkeys(places, 5), dict.fromkeys(places, 9))
    error = ErrorInfo("plugin", "lib.Broken", "no disk", "lib.Broken: no disk\nTraceback")
    head, records, stage, cause, _ = PutFailed(RemoteError(error), "the.Sink", delivery).trace.splitlines()
    assert head == (
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception."
    )
    assert records.startswith("records: 3, t-0 from offset 5 to 8, t-1 from offset 5 to 8, ")
    assert records.endswith("t-9 from offset 5 to 8, and those of 2 more partitions")
    assert (stage, cause) == ("stage: TASK_PUT with class the.Sink", "Caused by: lib.Broken: no disk")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=20))
def test_bounds_are_those_of_each_partition(places: list[tuple[int, int]]) -> None:
    """A partition's next offset is one after its last record, wherever that is among the rows."""
    model: dict[TopicPartition, list[int]] = {}
    places = sorted(places, key=lambda place: place[1])
    for partition, offset in places:
        model.setdefault(TopicPartition("t", partition), []).append(offset)
    cut = len(places) // 2  # what one topic brings is in two parts where its kind of timestamps was changed
    starts, ends = bounds([incoming(*places[:cut]), incoming(*places[cut:], kind=2)])
    assert starts == {place: min(offsets) for place, offsets in model.items()}
    assert ends == {place: max(offsets) + 1 for place, offsets in model.items()}


def texts(count: int, size: int = 10, failed: int | None = None) -> Delivery:
    """Return a delivery of texts of a given number and size, one of which may be unreadable."""
    failures = [] if failed is None else [failure(failed)]
    source = incoming(*((0, at) for at in range(count)))
    return Delivery([numbered([*range(count)], [*range(count)])], (source,), failures=failures, record_size=size)


def filled(puts: SentPuts, size: int = 10) -> list[int]:
    """Send as much as may be sent behind each other, two records with each put; returns how many puts go each time."""
    counts = []
    if len(puts) == 0:
        puts.add(SentPut(texts(2, size), Future(), follows=False))
        counts.append(1)
    while puts.may_be_followed:
        delivery = texts(50, size)
        count = puts.most_to_follow(delivery, 2, is_tolerant=False)
        puts.add(SentPut(delivery.split(count)[0], Future(), follows=True))
        counts.append(count // 2)
    return counts


def grown(seconds: float = 0.0) -> SentPuts:
    """Return the puts of a task that has taken many in a row, and took so long for one."""
    puts = SentPuts(takes_next=True)
    for _ in range(3 * MOST_PUTS):
        filled(puts)
        puts.settle(seconds)
    while len(puts):
        puts.settle(seconds)
    return puts


def test_a_stage_without_takes_next_gets_one_put_at_a_time() -> None:
    """The stage does not support puts that follow others."""
    assert filled(SentPuts(takes_next=False)) == [1]


def test_the_first_put_follows_no_other() -> None:
    """It is sent after all requests were handled."""
    assert not SentPuts(takes_next=True).may_be_followed


def test_more_puts_follow_while_the_task_accepts_without_requests() -> None:
    """Up to as many puts per call as are read and converted at once."""
    puts = SentPuts(takes_next=True)
    assert filled(puts) == [1, 1, 1]
    for count in (1, 2, 4, 8, MOST_PUTS, MOST_PUTS):
        puts.settle(0.0)
        assert filled(puts) == [count]


def test_a_skipped_put_resets_the_pipeline_to_one() -> None:
    """A task that uses its context in every put is sent few puts without effect."""
    puts = grown()
    puts.forget()
    assert filled(puts) == [1, 1, 1]


@pytest.mark.parametrize(("seconds", "count"), [(QUICK_SECONDS / 4, 4), (QUICK_SECONDS, 1), (60.0, 1)])
def test_slow_puts_limit_the_puts_per_call(seconds: float, count: int) -> None:
    """A call's timeout is for one put, so several go only to tasks that are far below it."""
    assert filled(grown(seconds)) == [1, count, count]


@pytest.mark.parametrize(
    ("size", "counts"),
    [(CALL_BYTES, [1, 1]), (CALL_BYTES // 4, [1, 2]), (CALL_BYTES // 16, [1, 8]), (10, [1, 10, 10])],
)
def test_large_puts_limit_the_puts_per_call(size: int, counts: list[int]) -> None:
    """Calls are limited in bytes, and a second one waits only if both are small."""
    assert filled(grown(), size) == counts


@pytest.mark.parametrize(("failed", "count"), [(0, 0), (1, 0), (2, 2), (5, 4), (49, 20)])
def test_an_intolerable_failure_does_not_follow_other_puts(failed: int, count: int) -> None:
    """It is judged with its own put: earlier puts may be sent."""
    delivery = texts(50, failed=failed)
    assert grown().most_to_follow(delivery, 2, is_tolerant=False) == count
    assert grown().most_to_follow(delivery, 2, is_tolerant=True) == 20

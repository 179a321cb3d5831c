"""The pipeline between a task and Kafka, with real plugins in two places."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.kafka.fetched import Incoming
from hearth.runtime.pipeline import Pipeline, Prepared
from hearth.runtime.plan import TaskPlan
from hearth.staging.chain import split
from hearth.staging.place import LocalPlace, Place, StagePlace, loading
from hearth.staging.plugin_plan import PluginSpec
from hearth_api import (
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    Header,
    Headers,
    Schema,
    SinkRecord,
    SourceRecord,
    TimestampType,
)
from hearth_api.batch import (
    Batch,
    batch_to_sink_records,
    headers_to_column,
    records_by_kind,
    records_to_batches,
)
from hearth_execution.failure import Failure
from hearth_execution.raw_header import raw_column, raw_rows
from hearth_execution.retry import NO_RETRY
from hearth_execution.transformation import records_in_turn
from hearth_stage.plugin_call import Load, WantedPlugin
from tests.timeouts import TIMEOUT
from tests.unit.runtime.sample import failure, plugin, task_plan

SAMPLES = Path(__file__).parents[2] / "samples"
UPPER = plugin("transforms.upper", "UpperBatch")
ROUTE = plugin("transforms.route", "Route")
FAR_UPPER = plugin("transforms.far", "Upper", "other")


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))


def pipeline(type_: str, *transformations: PluginSpec, key: str = "Text") -> Pipeline:
    """Return a pipeline whose plugins run in the runtime or in a second place, as their environment says."""
    spec = task_plan(type_, *transformations, key=key)
    places: dict[str | None, Place] = {each: LocalPlace(type_, NO_RETRY) for each in (None, "other")}
    for environment, place in places.items():
        place.do(loading(spec, environment))
    return Pipeline(spec, places, spec.transformations)


def polled(*values: str | None, **columns: Any) -> Batch:
    """Return a polled batch."""
    columns = {"value": pa.array(values, pa.string()), **columns}
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    key_schema = OPTIONAL_STRING_SCHEMA if "key" in columns else None
    return Batch("t", key_schema, STRING_SCHEMA, data, {"file": "f"})


def consumed(*values: bytes | None, keys: list[bytes | None] | None = None, kind: int = 1, **rest: Any) -> Incoming:
    """Return consumed rows with offsets from 100."""
    count = len(values)
    return Incoming(
        topic="t",
        partition=np.zeros(count, np.int32),
        offset=np.arange(100, 100 + count),
        key=pa.array(keys or [None] * count, pa.binary()),
        value=pa.array(values, pa.binary()),
        timestamp=np.arange(1000, 1000 + count),
        timestamp_type=kind,
        headers=rest.get("headers"),
    )


def sent(prepared: Prepared) -> list[tuple[int, str, bytes | None, bytes | None]]:
    """Return row, topic, key and value of what is sent."""
    return [
        (row, outgoing.topic, key, value)
        for outgoing, rows in prepared.outgoing
        for row, key, value in zip(
            rows.tolist(),
            [None] * len(rows) if outgoing.key is None else outgoing.key.to_pylist(),
            outgoing.value.to_pylist(),
            strict=True,
        )
    ]


def failed(failures: list[Failure]) -> list[tuple[int, str]]:
    """Return row and phase of failures."""
    return [(each.row, each.phase) for each in failures]


def alternating(*kinds: tuple[str, str, str | None, int | None]) -> list[SourceRecord]:
    """Return records of these topics, with these texts, keys and Kafka partitions; some have a header or a time."""
    return [
        SourceRecord(
            {"p": topic}, {"at": row}, topic, partition, None if key is None else STRING_SCHEMA, key, STRING_SCHEMA,
            text, row if text == "b" else None, Headers().add_string("h", str(row)) if text == "c" else None,
        )
        for row, (topic, text, key, partition) in enumerate(kinds)
    ]  # fmt: skip


NEAR, FAR = plugin("predicates.near", "IsLong"), plugin("predicates.far", "IsLong", "other")


@pytest.mark.parametrize(
    ("staged", "transformations", "is_apart"),
    [
        ([], [], False),
        ([], [UPPER, FAR_UPPER], False),
        ([None], [], True),
        ([None], [UPPER], False),
        ([None], [FAR_UPPER], True),
        (["other"], [FAR_UPPER], True),
        ([None, "other"], [FAR_UPPER], True),
        ([None, "other"], [FAR_UPPER, UPPER], False),
        ([None, "other"], [plugin("transforms.far", "Upper", "other", predicate="predicates.near"), NEAR], False),
        ([None, "other"], [plugin("transforms.far", "Upper", "other", predicate="predicates.far"), FAR], True),
    ],
)
def test_conversion_steps_are_apart_if_no_place_has_both(
    staged: list[str | None], transformations: list[PluginSpec], is_apart: bool
) -> None:
    """Otherwise a call of one waits for those of the other, and their times add up."""
    spec = task_plan("source", *transformations)
    stage: Any = SimpleNamespace(close=lambda: None)
    places: dict[str | None, Place] = {None: LocalPlace("source", NO_RETRY), "other": LocalPlace("source", NO_RETRY)}
    places |= {each: StagePlace(stage) for each in staged}
    made = Pipeline(spec, places, spec.transformations)
    assert (made.is_apart, made.has_stages) == (is_apart, bool(staged))


# Towards Kafka


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from("tuv"), st.sampled_from(["a", "b", "c", "bad"]), st.sampled_from([None, "k"]),
            st.sampled_from([None, 2]),
        ),
        max_size=9,
    ),
    st.booleans(),
)  # fmt: skip
def test_interleaved_kinds_are_sent_in_poll_order(
    kinds: list[tuple[str, str, str | None, int | None]], is_routed: bool
) -> None:
    """Records of one topic keep their order, even if a transformation sends them there."""
    made = pipeline("source", *([ROUTE] if is_routed else []))
    records = alternating(*kinds)
    prepared = made.preparing(records_by_kind(records))()
    alone = [made.preparing(records_by_kind([each]))() for each in records]
    topics = [outgoing.topic for outgoing, _ in prepared.outgoing]
    for topic in topics:
        rows = [row for outgoing, own in prepared.outgoing if outgoing.topic == topic for row in own.tolist()]
        assert rows == sorted(rows)
    assert sorted(whole(prepared)) == [(row, *each) for row, own in enumerate(alone) for _, *each in whole(own)]
    assert sorted(failed(prepared.failures)) == [
        (row, phase) for row, own in enumerate(alone) for _, phase in failed(own.failures)
    ]


def whole(prepared: Prepared) -> list[tuple[Any, ...]]:
    """Return row, topic, key, value, partition, time and headers of what is sent, as texts but for the row."""
    found = []
    for outgoing, rows in prepared.outgoing:
        nothing = [None] * len(rows)
        key, value = (nothing if each is None else each.to_pylist() for each in (outgoing.key, outgoing.value))
        partition = [-1] * len(rows) if outgoing.partition is None else outgoing.partition.tolist()
        time = [-1] * len(rows) if outgoing.timestamp is None else outgoing.timestamp.tolist()
        headers = [[]] * len(rows) if outgoing.headers is None else raw_rows(outgoing.headers)
        columns = ([outgoing.topic] * len(rows), key, value, partition, time, headers)
        found += [(row, *map(str, cells)) for row, *cells in zip(rows.tolist(), *columns, strict=True)]
    return found


def test_polled_batch_becomes_bytes() -> None:
    """Keys, values, partitions and timestamps are sent with their rows."""
    batch = polled(
        "a",
        "b",
        key=pa.array(["k", None]),
        partition=pa.array([3, None], pa.int32()),
        timestamp=pa.array([7, 8], pa.int64()),
    )
    prepared = pipeline("source").preparing([batch])()
    assert sent(prepared) == [(0, "t", b"k", b"a"), (1, "t", None, b"b")]
    (outgoing, _), failures = prepared.outgoing[0], prepared.failures
    assert outgoing.partition.tolist() == [3, -1]
    assert outgoing.timestamp.tolist() == [7, 8]
    assert (outgoing.headers, failures) == (None, [])


def test_timestamps_have_javas_meaning() -> None:
    """0 is the start of 1970; null and -1 leave the time to the producer's clock."""
    batch = polled("a", "b", "c", timestamp=pa.array([0, None, -1], pa.int64()))
    ((outgoing, _),) = pipeline("source").preparing([batch])().outgoing
    assert outgoing.timestamp.tolist() == [0, -1, -1]


def test_an_invalid_timestamp_fails_the_task() -> None:
    """Kafka Connect does not tolerate it; a row that failed before it is skipped."""
    stamps = pa.array([5, -2, 6, -7, 8], pa.int64())
    prepared = pipeline("source", UPPER).preparing([polled("a", "bad", "c", "d", "bad", timestamp=stamps)])()
    assert prepared.end is not None
    row, error = prepared.end.row, prepared.end.error.message
    assert (row, str(error)) == (3, "Invalid record timestamp -7")
    before = prepared.before(row)
    assert sent(before) == [(0, "t", None, b"A"), (2, "t", None, b"C")]
    assert failed(before.failures) == [(1, "TRANSFORMATION")]


def test_the_first_fatal_row_of_several_parts_counts() -> None:
    """A polled batch may become several, in any order."""
    whole = Prepared()
    for row in (7, 3, None, 5):
        whole += Prepared(end=None if row is None else failure(row))
    assert whole.end is not None
    assert whole.end.row == 3


def test_batch_without_keys_has_no_key_column() -> None:
    """Rows without key or key schema cost no conversion."""
    (outgoing, _) = pipeline("source").preparing([polled("a")])().outgoing[0]
    assert outgoing.key is None


@pytest.mark.parametrize("schema", [None, OPTIONAL_STRING_SCHEMA])
def test_keys_that_are_all_null_are_converted_as_well(schema: Schema | None) -> None:
    """A converter may write something for a null; where it does not, the records go without a key column."""
    batch = polled("a", "b").replace(key_schema=schema)
    (outgoing, _) = pipeline("source").preparing([batch])().outgoing[0]
    assert outgoing.key is None
    (outgoing, _) = pipeline("source", key="WordForNull").preparing([batch])().outgoing[0]
    assert outgoing.key.to_pylist() == [b"nothing", b"nothing"]


def test_headers_go_out_as_bytes() -> None:
    """Every row has its own headers, or none."""
    text = OPTIONAL_STRING_SCHEMA
    headers = headers_to_column([Headers([Header("h", text, "x"), Header("h", text, None)]), Headers()])
    (outgoing, _) = pipeline("source").preparing([polled("a", "b", headers=headers)])().outgoing[0]
    assert raw_rows(outgoing.headers) == [[("h", b"x"), ("h", None)], []]


def test_failed_record_is_reported_and_not_sent() -> None:
    """The others keep their own key, headers, partition and timestamp (invariant 3)."""
    batch = polled(
        "a",
        "bad",
        "c",
        key=pa.array(["0", "1", "2"]),
        partition=pa.array([0, 1, 2], pa.int32()),
        timestamp=pa.array([10, 11, 12], pa.int64()),
        headers=headers_to_column([Headers([Header("n", STRING_SCHEMA, str(row))]) for row in range(3)]),
    )
    prepared = pipeline("source").preparing([batch])()
    assert sent(prepared) == [(0, "t", b"0", b"a"), (2, "t", b"2", b"c")]
    (outgoing, _) = prepared.outgoing[0]
    assert (outgoing.partition.tolist(), outgoing.timestamp.tolist()) == ([0, 2], [10, 12])
    assert raw_rows(outgoing.headers) == [[("n", b"0")], [("n", b"2")]]
    assert failed(prepared.failures) == [(1, "VALUE_CONVERTER")]


def test_record_that_fails_twice_is_reported_once() -> None:
    """Kafka Connect takes a failed record through no further stage; headers come first, then key, then value."""
    bad = headers_to_column([Headers(), Headers([Header("h", STRING_SCHEMA, "bad")])])
    prepared = pipeline("source").preparing([polled("bad", "bad", key=pa.array(["bad", "bad"]), headers=bad)])()
    assert sent(prepared) == []
    assert sorted(failed(prepared.failures)) == [(0, "KEY_CONVERTER"), (1, "HEADER_CONVERTER")]


def test_transformations_come_before_converters() -> None:
    """What is written is what the chain left; dropped rows are neither sent nor failures."""
    prepared = pipeline("source", UPPER, FAR_UPPER).preparing([polled("a", "drop", "b")])()
    assert sent(prepared) == [(0, "t", None, b"A"), (2, "t", None, b"B")]
    assert prepared.failures == []


def test_chain_keeps_its_order_across_places() -> None:
    """Transformations of two environments run in the order of ``transforms``, back and forth."""
    prepared = pipeline("source", UPPER, FAR_UPPER, ROUTE).preparing([polled("a", "b")])()
    assert sent(prepared) == [(0, "to-A", None, b"A"), (1, "to-B", None, b"B")]


def test_adjacent_transformations_of_one_environment_share_a_hop() -> None:
    """A batch goes to another process once for all steps that follow each other there."""
    near = [plugin(f"transforms.{name}", "UpperBatch") for name in "ab"]
    far = [plugin(f"transforms.{name}", "Upper", "other") for name in "cd"]
    hops = pipeline("source", *near, *far, ROUTE).hops
    assert [[step.role for step in hop.steps] for hop in hops] == [
        ["transforms.a", "transforms.b"],
        ["transforms.c", "transforms.d"],
        ["transforms.route"],
    ]


@pytest.mark.parametrize("home", [None, "other"], ids=["near", "far"])
@pytest.mark.parametrize("negate", [False, True])
def test_predicate_guards_wherever_it_lives(home: str | None, negate: bool) -> None:
    """A predicate in its transformation's process and one in another process select the same rows."""
    guarded = plugin("transforms.upper", "UpperBatch", None, None, "predicates.long", negate)
    prepared = pipeline("source", guarded, plugin("predicates.long", "IsLong", home)).preparing(
        [polled("a", "longer", "b", "bad", "longest")]
    )()
    values = [b"A", b"longer", b"B", b"longest"] if negate else [b"a", b"LONGER", b"b", b"LONGEST"]
    assert [(row, value) for row, _, _, value in sent(prepared)] == list(zip([0, 1, 2, 4], values, strict=True))
    assert [(each.row, each.phase, each.class_name) for each in prepared.failures] == [
        (3, "TRANSFORMATION", "sample.UpperBatch")
    ]


def test_record_without_topic_fails_the_task() -> None:
    """Its destination is unknown, so it is not skipped."""
    with pytest.raises(ConnectError, match="a source record has no topic"):
        pipeline("source").preparing([polled("a").replace(topic=None)])()


# From Kafka


def test_consumed_rows_become_batches() -> None:
    """Records know where they came from, when, and with which headers."""
    incoming = consumed(b"a", b"b", keys=[b"k", None], headers=raw_column([[], [("h", b"x")]]))
    batches = pipeline("sink").deserializing(incoming)().batches
    first, second = (record for batch in batches for record in batch_to_sink_records(batch))
    assert (first.topic, first.kafka_partition, first.kafka_offset, first.key, first.value) == ("t", 0, 100, "k", "a")
    assert (first.timestamp, first.timestamp_type) == (1000, TimestampType.CREATE_TIME)
    assert (first.original_topic, second.original_kafka_offset, second.key) == ("t", 101, None)
    assert [(each.key, each.value) for each in second.headers] == [("h", "x")]
    assert not first.has_headers


def test_unread_headers_are_not_converted_if_their_converter_cannot_fail() -> None:
    """A converter that may fail reads them anyway: a record with a bad header is not put."""
    incoming = consumed(b"a", b"b", headers=raw_column([[], [("h", b"bad")]]))
    made = pipeline("sink")
    made.wants_headers = False
    assert failed(made.deserializing(incoming)().failures) == [(1, "HEADER_CONVERTER")]
    simple = "hearth_converters.simple_header:SimpleHeaderConverter"
    made._places["header.converter"].do(Load([WantedPlugin("header.converter", "simple", simple)]))
    for is_wanted in (False, True):
        made.wants_headers = is_wanted
        outcome = made.deserializing(incoming)()
        records = [record for batch in outcome.batches for record in batch_to_sink_records(batch)]
        assert ([each.has_headers for each in records], outcome.failures) == ([False, is_wanted], [])


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (0, TimestampType.NO_TIMESTAMP_TYPE),
        (1, TimestampType.CREATE_TIME),
        (2, TimestampType.LOG_APPEND_TIME),
    ],
)
def test_timestamp_has_the_topics_type(kind: int, type_: TimestampType) -> None:
    """A topic without timestamps gives records without one."""
    (batch,) = pipeline("sink").deserializing(consumed(b"a", kind=kind))().batches
    assert batch.timestamp_type is type_
    assert (batch.column("timestamp") is None) == (kind == 0)


def test_batches_are_split_where_a_schema_changes() -> None:
    """A batch has one schema of keys and one of values, and rows keep their order."""
    incoming = consumed(b"a", b"b", b"1", b"2", keys=[b"1", b"x", b"x", b"2"])
    batches = pipeline("sink").deserializing(incoming)().batches
    assert [(str(each.key_schema)[7:-1], str(each.value_schema)[7:-1], each.num_rows) for each in batches] == [
        ("INT64", "STRING", 1),
        ("STRING", "STRING", 1),
        ("STRING", "INT64", 1),
        ("INT64", "INT64", 1),
    ]
    assert [row for each in batches for row in each.column("row").to_pylist()] == [0, 1, 2, 3]


def test_failed_consumed_record_is_reported_and_removed() -> None:
    """Key, value and headers of a record fail together, once; its neighbours stay."""
    incoming = consumed(
        b"a",
        b"bad",
        b"c",
        b"bad",
        keys=[None, b"bad", None, None],
        headers=raw_column([[], [], [("h", b"bad")], [("h", b"bad")]]),
    )
    outcome = pipeline("sink").deserializing(incoming)()
    assert [row for each in outcome.batches for row in each.column("row").to_pylist()] == [0]
    assert sorted(failed(outcome.failures)) == [
        (1, "KEY_CONVERTER"),
        (2, "HEADER_CONVERTER"),
        (3, "VALUE_CONVERTER"),
    ]


def test_task_created_record_is_serialized_for_its_dead_letter() -> None:
    """The dead letter goes through the connector's converters, as in Java."""
    headers = Headers([Header("h", STRING_SCHEMA, "x")])
    made = SinkRecord("u", 3, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 7, 5, TimestampType.CREATE_TIME, headers)
    (batch,) = records_to_batches([made])
    unread = pipeline("sink").unread(batch)
    assert (unread.topic, unread.partition.tolist(), unread.offset.tolist()) == ("u", [3], [7])
    assert (unread.key.to_pylist(), unread.value.to_pylist()) == ([b"k"], [b"v"])
    assert (unread.timestamp.tolist(), unread.timestamp_type) == ([5], 1)
    assert raw_rows(unread.headers) == [[("h", b"x")]]


class Watched:
    """Plugins that are in no hurry, and note whether a second call comes while they are at one."""

    def __init__(self, place: Place) -> None:
        self._place, self.close = place, place.close
        self._inside = threading.Lock()
        self.is_at_work, self.is_met = threading.Event(), threading.Event()

    def do(self, call: Any) -> Any:
        """Do a call, and wait a moment whether another one comes."""
        if self._inside.locked():
            self.is_met.set()
        with self._inside:
            self.is_at_work.set()
            self.is_met.wait(0.02)
            return self._place.do(call)

    def begin(self, call: Any) -> Any:
        """Do a call at once, as plugins in this process do."""
        answer = self.do(call)
        return lambda: answer

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Write nothing row by row."""
        return None


def test_converters_serve_one_thread_at_a_time() -> None:
    """A record that the task made is converted by the loop, while another thread may be reading others."""
    reads = pipeline("sink")
    ((place, roles),) = reads._converters
    watched = Watched(place)
    reads._converters = [(watched, roles)]
    (made,) = records_to_batches([SinkRecord("u", 3, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 7)])
    reader = threading.Thread(target=reads.deserializing, args=(consumed(b"a"),))
    reader.start()
    assert watched.is_at_work.wait(TIMEOUT)
    assert reads.unread(made).value.to_pylist() == [b"v"]
    reader.join(TIMEOUT)
    assert not watched.is_met.is_set()


def test_empty_task_created_record_has_nulls() -> None:
    """No key, no value, no time, no headers and no partition."""
    (batch,) = records_to_batches([SinkRecord("u", None, None, None, STRING_SCHEMA, None, 0)])
    unread = pipeline("sink").unread(batch)
    assert (unread.key.to_pylist(), unread.value.to_pylist()) == ([None], [None])
    assert (unread.partition.tolist(), unread.timestamp, unread.headers) == ([-1], None, None)


def test_unconvertible_task_created_record_fails_its_report() -> None:
    """The task receives the converter's error."""
    (batch,) = records_to_batches([SinkRecord("u", 0, None, None, STRING_SCHEMA, "bad", 0)])
    with pytest.raises(ConnectError, match="bad"):
        pipeline("sink").unread(batch)


def test_tombstone_and_empty_value_stay_apart() -> None:
    """A null value is not an empty one, in either direction."""
    batches = pipeline("sink").deserializing(consumed(None, b""))().batches
    assert [value for batch in batches for value in batch.column("value").to_pylist()] == [None, ""]
    (outgoing, _) = pipeline("source").preparing([polled(None, "")])().outgoing[0]
    assert outgoing.value.to_pylist() == [None, b""]


CELLS = st.sampled_from([b"a", b"b", b"1", b"22", b"bad", None])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(CELLS, CELLS), max_size=12))
def test_every_consumed_record_is_delivered_or_reported(rows: list[tuple[bytes | None, bytes | None]]) -> None:
    """Each record appears with its own key and value, in order, or as a failure: none vanishes."""
    incoming = consumed(*(value for _, value in rows), keys=[key for key, _ in rows])
    outcome = pipeline("sink").deserializing(incoming)()
    records = records_in_turn(outcome.batches)
    good = {row: cells for row, cells in enumerate(rows) if b"bad" not in cells}
    assert [record.kafka_offset - 100 for record in records] == list(good)
    assert [(record.key, record.value) for record in records] == [tuple(map(_value, cells)) for cells in good.values()]
    assert sorted(failure.row for failure in outcome.failures) == [row for row in range(len(rows)) if row not in good]


def _value(cell: bytes | None) -> Any:
    return None if cell is None else int(cell) if cell.isdigit() else cell.decode()


# Where the pipeline begins


def chain(type_: str, *homes: str | None, predicate: str | None = None) -> TaskPlan:
    """Return a task of the environment ``bundle`` with transformations of these environments."""
    steps = [plugin(f"transforms.{index}", "Upper", home) for index, home in enumerate(homes)]
    if predicate is not None:
        steps[0] = plugin("transforms.0", "Upper", homes[0], None, "predicates.p")
        steps.append(plugin("predicates.p", "IsLong", None if predicate == "host" else predicate))
    return task_plan(type_, *steps)


def names(parts: tuple[list[PluginSpec], list[PluginSpec]]) -> tuple[str, str]:
    """Return the numbers of the transformations inside the task's stage and of the others."""
    inside, between = ("".join(each.role[-1] for each in part) for part in parts)
    return inside, between


@pytest.mark.parametrize(
    ("homes", "source", "sink"),
    [
        ([], ("", ""), ("", "")),
        (["bundle", "bundle"], ("01", ""), ("01", "")),
        ([None, None], ("", "01"), ("", "01")),
        (["bundle", None, "bundle"], ("0", "12"), ("2", "01")),
        ([None, "bundle"], ("", "01"), ("1", "0")),
        (["bundle", "other"], ("0", "1"), ("", "01")),
    ],
)
def test_task_takes_its_own_end_of_the_chain(
    homes: list[str | None], source: tuple[str, str], sink: tuple[str, str]
) -> None:
    """A source's stage runs the first transformations of its environment, a sink's the last; the order stays."""
    assert names(split(chain("source", *homes))) == source
    assert names(split(chain("sink", *homes))) == sink


@pytest.mark.parametrize(("predicate", "inside"), [("bundle", "01"), ("host", ""), ("other", "")])
def test_transformation_with_a_remote_predicate_leaves_the_stage(predicate: str, inside: str) -> None:
    """The runtime runs a step whose predicate is elsewhere, and all that follow it."""
    assert names(split(chain("source", "bundle", "bundle", predicate=predicate)))[0] == inside


def test_rows_of_several_topics_are_numbered_through() -> None:
    """So that a failure identifies one record of a poll."""
    incoming = consumed(b"a", b"bad", b"c", headers=raw_column([[], [], [("h", b"bad")]]))
    outcome = pipeline("sink").deserializing(incoming, first=10)()
    assert [row for each in outcome.batches for row in each.column("row").to_pylist()] == [10]
    assert sorted(failed(outcome.failures)) == [(11, "VALUE_CONVERTER"), (12, "HEADER_CONVERTER")]

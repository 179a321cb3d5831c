"""A source task in its stage: what it hands over, and what it is notified of."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigDef,
    DataError,
    Headers,
    RecordMetadata,
    RetriableError,
    SchemaBuilder,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Struct,
    Transformation,
)
from hearth_api.batch import Batch, BatchSourceTask, batch_to_source_records, records_by_kind
from hearth_api.layout import RowTexts
from hearth_execution.order import rows_of
from hearth_execution.plugins import Plugins
from hearth_execution.transformation import Step, Transformations
from hearth_stage import poll_buffer
from hearth_stage.kept_poll import FEW
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.source import ChannelOffsetReader, StageSource
from hearth_stage.task_call import (
    AddCredit,
    CommitRecords,
    CommitSource,
    Group,
    HandOver,
    HoldPolling,
    PollFailed,
    PollsEmpty,
    ResumePolling,
    StartSource,
    StopSource,
)
from tests.timeouts import TIMEOUT, eventually

SAMPLES = Path(__file__).parents[2] / "samples"
CREDIT = 10
polls: list[Callable[[], Any]] = []
heard: list[Any] = []


class Task(SourceTask):
    """Returns prepared polls."""

    def version(self) -> str:
        """Return a version."""
        return "1.0"

    def start(self, props: Any) -> None:
        """Record the configuration and the stored offset."""
        heard.append(("start", dict(props), self.context.offset_storage_reader().offset({"file": "f"})))
        if "fail" in props:
            raise RuntimeError("cannot start")

    def poll(self) -> list[SourceRecord] | None:
        """Return the next prepared poll."""
        answer: list[SourceRecord] | None = polls.pop(0)()
        return answer

    def stop(self) -> None:
        """Record the call."""
        heard.append("stop")


class Curious(Task):
    """Wants to be notified of each record."""

    def commit(self) -> None:
        """Record the call, then fail."""
        heard.append("commit")
        raise RuntimeError("commit failed")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Record a record; fail for a certain one."""
        heard.append((record.value, metadata))
        if record.value == "fail":
            raise RuntimeError("commit_record failed")


class CuriousBatches(BatchSourceTask, Curious):
    """Returns batches and wants to be notified of each record."""

    def poll_batch(self) -> Any:
        """Return the next of the prepared polls."""
        return polls.pop(0)()


class _Connector(SourceConnector):
    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return ConfigDef()

    def start(self, props: Any) -> None:
        return

    def stop(self) -> None:
        return

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{}]


class PlainConnector(_Connector):
    """The connector of ``Task``."""

    def task_class(self) -> type[Task]:
        """Return the task's class."""
        return Task


class CuriousConnector(_Connector):
    """The connector of ``Curious``."""

    def task_class(self) -> type[Task]:
        """Return the task's class."""
        return Curious


class BatchConnector(_Connector):
    """The connector of ``CuriousBatches``."""

    def task_class(self) -> type[Task]:
        """Return the task's class."""
        return CuriousBatches


class UpperKey(Transformation):
    """Converts keys to capitals; fails for a bad one."""

    def config(self) -> ConfigDef:
        """Return no settings."""
        return ConfigDef()

    def configure(self, configs: Any) -> None:
        """Take no settings."""

    def apply(self, record: Any) -> Any:
        """Return the record with another key."""
        if record.key == "bad":
            raise DataError("bad")
        return record.new_record(key=None if record.key is None else record.key.upper())


class Wire:
    """The runtime's side: records notices and answers calls."""

    def __init__(self) -> None:
        self.sent: list[HandOver | PollFailed | PollsEmpty] = []

    def notify(self, notice: HandOver | PollFailed | PollsEmpty) -> None:
        """Record a notice."""
        self.sent.append(notice)

    def count(self, kind: type) -> int:
        """Return how many notices of a kind were sent."""
        return sum(isinstance(each, kind) for each in self.sent)

    @property
    def handed_over(self) -> list[HandOver]:
        """Return the hand-overs, if there was nothing else."""
        assert all(isinstance(each, HandOver) for each in self.sent)
        return [each for each in self.sent if isinstance(each, HandOver)]

    def call(self, call: ReadOffsets) -> StoredOffsets:
        """Answer with stored offsets."""
        return StoredOffsets([{"position": 5} for _ in call.partitions])


@pytest.fixture(autouse=True)
def _forget() -> None:
    polls.clear()
    heard.clear()


def started(connector: str = "Plain", plugins: Plugins | None = None, **args: Any) -> tuple[StageSource, Wire]:
    """Return a stage with a started task and some credit."""
    wire: Any = Wire()
    source = StageSource(wire, Transformations(plugins or Plugins("source")))
    source.start(StartSource(f"{__name__}:{connector}Connector", {"a": "1"}, **args))
    source.credit(AddCredit(CREDIT))
    return source, wire


def records(*values: str) -> list[SourceRecord]:
    """Return records of one source partition."""
    return [
        SourceRecord({"file": "f"}, {"position": index}, "t", value_schema=STRING_SCHEMA, value=value)
        for index, value in enumerate(values)
    ]


def test_records_that_do_not_match_their_schema_fail_in_order() -> None:
    """They keep their position, so that offsets can pass them; the others are handed over unchanged, in order."""
    source, wire = started()
    polled: list[Any] = records("a", "b", "c", "d")
    polled[1] = polled[1].new_record(value=5)
    polled[2] = polled[2].new_record(key_schema=STRING_SCHEMA, key=b"bytes", topic="other")
    poll(source, polled)
    (handed,) = wire.handed_over
    batches = handed.batches
    assert [(group.polled, group.results) for group in handed.groups] == [(1, None), (2, 0), (1, None)]
    assert [(batch.topic, batch.column("source_offset").to_pylist()) for batch in batches] == [
        (topic, [f'{{"position":{index}}}']) for index, topic in enumerate(("t", "t", "other", "t"))
    ]
    failures = [failure for group in handed.groups for failure in group.failures]
    assert [(each.row, each.phase, each.class_name) for each in failures] == [
        (row, "TASK_POLL", f"{__name__}.Task") for row in (0, 1)
    ]
    assert "STRING" in failures[0].error.message


def test_record_deeper_than_the_stack_fails_in_order() -> None:
    """It cannot become a batch; the other records are handed over."""
    source, wire = started()
    deep: Any = 1
    for _ in range(30_000):
        deep = [deep]
    first, second, third = records("a", "b", "c")
    poll(source, [first, second.new_record(value_schema=None, value=deep), third])
    (handed,) = wire.handed_over
    assert [(group.polled, group.results) for group in handed.groups] == [(1, None), (1, 0), (1, None)]
    (failure,) = [failure for group in handed.groups for failure in group.failures]
    assert failure.error.kind == "data"
    assert "nested deeper than Python's stack" in failure.error.message


def poll(source: StageSource, *answers: Any) -> None:
    """Poll once per result; the task raises results that are exceptions."""
    for answer in answers:
        polls.append(partial(_give, answer))
        source.poll()


def _give(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


def values(batch: Batch) -> list[str]:
    """Return the values of a batch."""
    found: list[str] = batch.column("value").to_pylist()
    return found


def test_task_starts_with_its_configuration_and_offsets() -> None:
    """A task may read its last offset while it starts."""
    source, _ = started()
    assert heard == [("start", {"a": "1"}, {"position": 5})]
    assert source.may_poll


def test_source_partitions_with_bytes_are_looked_up_in_stored_form() -> None:
    """JSON has no bytes, so both use base64, as in Kafka Connect."""
    asked = []

    def answer(call: ReadOffsets) -> StoredOffsets:
        asked.append(call)
        return StoredOffsets([{"position": 5}])

    reader = ChannelOffsetReader(SimpleNamespace(call=answer))
    assert reader.offset({"slot": b"\x00\xff", "at": 1}) == {"position": 5}
    assert asked == [ReadOffsets([{"slot": "AP8=", "at": 1}])]


def test_polling_needs_credit_and_permission() -> None:
    """Credit and hold are independent; a hand-over costs one credit, an empty poll none."""
    source, wire = started()
    source.credit(AddCredit(1 - CREDIT))
    poll(source, None, [])
    states = [source.may_poll]
    source.hold(HoldPolling())
    states.append(source.may_poll)
    source.resume(ResumePolling())
    states.append(source.may_poll)
    poll(source, records("a"))
    assert [*states, source.may_poll] == [True, False, True, False]
    assert len(wire.handed_over) == 1


def test_empty_polls_are_reported_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the requested time, and again after the next records; a retried poll does not count as empty.

    The notice follows everything that was handed over.
    """
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    source, wire = started(empty_ms=1000)
    poll(source, None)
    now[0] += 0.9
    poll(source, None, RetriableError("again"))
    now[0] += 0.9
    poll(source, [], None)
    assert wire.count(PollsEmpty) == 0
    now[0] += 1.0
    poll(source, None, None)
    assert wire.count(PollsEmpty) == 1
    poll(source, records("a"), None)
    now[0] += 1.0
    poll(source, None)
    assert wire.count(PollsEmpty) == 2
    source.hold(HoldPolling())
    source.resume(ResumePolling())
    poll(source, None)
    now[0] += 1.0
    poll(source, None)
    assert wire.count(PollsEmpty) == 3
    nobody, silent = started()
    poll(nobody, None)
    now[0] += 1e9
    poll(nobody, None)
    assert silent.count(PollsEmpty) == 0


def test_exhausted_task_is_reported_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an empty poll; errors of the check are errors of the poll."""
    answers: list[bool] = []
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    monkeypatch.setattr(Task, "is_exhausted", lambda _: answers.pop(0))
    source, wire = started(empty_ms=1000, ends_exhausted=True)
    answers += [False, True]
    poll(source, records("a"), None)
    assert (wire.count(PollsEmpty), answers) == (0, [True])
    poll(source, None, None)
    assert (wire.count(PollsEmpty), answers) == (1, [])
    doubting, silent = started(empty_ms=1000)
    poll(doubting, None)
    assert silent.count(PollsEmpty) == silent.count(PollFailed) == 0
    poll(source, records("b"), None)
    assert (wire.count(PollsEmpty), wire.count(PollFailed)) == (1, 1)


def test_large_hand_overs_limit_how_far_a_task_is_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are at most two large hand-overs, one in transit and one waiting, whatever the credit."""
    source, wire = started()

    def polled_after(dealt_with: int) -> int:
        source.credit(AddCredit(dealt_with))
        before = len(wire.handed_over)
        while source.may_poll:
            poll(source, records("a", "b"))
        return len(wire.handed_over) - before

    assert polled_after(0) == CREDIT
    monkeypatch.setattr(poll_buffer, "AHEAD_BYTES", 1)
    assert [polled_after(count) for count in (CREDIT, 0, 1, 1, 2)] == [2, 0, 1, 1, 2]


def test_quick_polls_are_joined_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a first one: until a poll is empty, polling is held, or a poll fails."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    source, wire = started(joins_polls=True)
    poll(source, records("a"), records("b"), records("c", "d"), None, records("e"), records("f"))
    assert [values(batch) for each in wire.handed_over for batch in each.batches] == [["a"], ["b", "c", "d"]]
    source.hold(HoldPolling())
    assert [values(batch) for each in wire.handed_over[2:] for batch in each.batches] == [["e", "f"]]
    source.resume(ResumePolling())
    poll(source, records("g"), RuntimeError("broken"))
    assert [type(each) for each in wire.sent[-2:]] == [HandOver, PollFailed]
    source.end()
    assert not [each for each in threading.enumerate() if each.name == "stage-hand-overs"]


@pytest.mark.skipif(RowTexts is None, reason="nothing was compiled")
def test_records_of_many_kinds_are_packed_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several polls together as well; records of one kind, and those for steps, are batches."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    many = [
        SourceRecord({"p": n}, {"at": n}, f"t{n % 9}", value_schema=schema, value=value)
        for n, (schema, value) in enumerate([(STRING_SCHEMA, "x"), (INT64_SCHEMA, 5)] * FEW)
    ]
    for packs in (False, True):
        source, wire = started(joins_polls=True, packs=packs)
        poll(source, many, many[:FEW], many[7:], records("a"), None)
        source.end()
        groups = [group for each in wire.handed_over for group in each.groups]
        assert [group.packed for group in groups] == ([True, True, False] if packs else [False, False])
        found = [polled for each in wire.handed_over for polled in each.polled()]
        told = [batch for each in found for batch in map(batch_of, each.origins)]
        alone = [records_by_kind(each) for each in (many, [*many[:FEW], *many[7:]], records("a"))]
        if packs:
            assert told == [batch_of(batch) for batches in alone for batch in batches]
    upper = Plugins("source")
    upper.load("transforms.upper", "UpperKey", f"{__name__}:UpperKey", {})
    source, wire = started(plugins=upper, packs=True, steps=[Step("transforms.upper")])
    poll(source, many)
    assert not wire.handed_over[0].groups[0].packed


def batch_of(batch: Batch) -> Any:
    """Return the content of a batch."""
    return batch.topic, batch.source_partition, rows_of(batch).tolist(), values(batch)


def test_task_may_reuse_returned_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """One offset that is updated, one list, one value: buffered records stay as they were when polled."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    source, wire = started(joins_polls=True)
    offset, value, returned = {"position": 0}, {"rows": [0]}, list[SourceRecord]()

    def again() -> list[SourceRecord]:
        offset["position"] += 1
        value["rows"][0] += 1
        returned[:] = [SourceRecord({"file": "f"}, offset, "t", value=value)]
        return returned

    polls.extend([again] * 5)
    for _ in range(5):
        source.poll()
    source.hold(HoldPolling())
    source.end()
    batches = [batch for each in wire.handed_over for batch in each.batches]
    assert [text for batch in batches for text in values(batch)] == [f'{{"rows":[{n}]}}' for n in range(1, 6)]
    assert [text for batch in batches for text in batch.column("source_offset").to_pylist()] == [
        f'{{"position":{n}}}' for n in range(1, 6)
    ]


ROW = (
    SchemaBuilder.struct().field("id", INT64_SCHEMA).field("tags", SchemaBuilder.array(STRING_SCHEMA).build()).build()
)


class Reuser:
    """Creates records of any kind from the same few objects, changing them each time; remembers their content."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._offset: dict[str, Any] = {"position": 0}
        self._map: dict[str, Any] = {"n": 0, "rows": [0]}
        self._struct = Struct(ROW).put("tags", [])
        self._headers = Headers()
        self._returned: list[SourceRecord] = []
        self.made: list[str] = []

    def poll(self) -> list[SourceRecord]:
        """Return some records."""
        self._returned.clear()
        number = self._offset["position"] = self._offset["position"] + 1
        self._map["n"] = self._map["rows"][0] = number
        self._struct.put("id", number).get("tags").append(f"{number}")
        del self._struct.get("tags")[:-2]
        self._headers.clear().add_string("h", f"{number}")
        for _ in range(self._chance.choice([1, 1, 1, 2, 10, 40])):
            schema, value = self._chance.choice(
                [(STRING_SCHEMA, f"text {number}"), (None, self._map), (ROW, self._struct), (STRING_SCHEMA, None)]
            )
            record = SourceRecord(
                {"file": self._chance.choice("ab")}, self._offset, self._chance.choice("tu"), None, None,
                self._chance.choice([None, self._map]), schema, value, number,
                self._chance.choice([None, self._headers]),
            )  # fmt: skip
            self._returned.append(record)
        self.made += map(repr, self._returned)
        return self._returned


def test_reused_objects_do_not_change_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls of any size and pace, records of any kind, in order."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 0.001)
    chance = random.Random(136)
    reuser = Reuser(chance)
    source, wire = started(joins_polls=True)
    for _ in range(600):
        polls.append(reuser.poll)
        source.poll()
        if chance.random() < 0.1:
            time.sleep(0.0015)
        source.credit(AddCredit(len(wire.sent) + CREDIT - source._poll_buffer._credit))
    source.hold(HoldPolling())
    source.end()
    back: list[str] = []
    for handed in wire.handed_over:
        for polled in handed.polled():
            rows = {
                row: record
                for batch in polled.origins
                for row, record in zip(rows_of(batch).tolist(), batch_to_source_records(batch))
            }
            back += [repr(rows[row]) for row in range(len(rows))]
    assert back == reuser.made
    assert len(wire.handed_over) < 600, "nothing ever waited"


def test_mismatched_records_are_found_among_buffered_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its position, as if its poll had been handed over separately."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    source, wire = started(joins_polls=True)
    bad = SourceRecord({"file": "f"}, {"position": 1}, "t", value_schema=STRING_SCHEMA, value=5)
    poll(source, records("a"), records("b"), [bad], records("c"))
    source.hold(HoldPolling())
    source.end()
    groups = [group for each in wire.handed_over for group in each.groups]
    assert [values(batch) for each in wire.handed_over for batch in each.batches] == [["a"], ["b"], [None], ["c"]]
    assert [len(group.failures) for group in groups] == [0, 0, 1, 0]


SHAPELESS = SourceRecord({"file": "f"}, {"position": 1}, "t", value_schema="text", value="x")  # type: ignore[arg-type]
"""A value that no column can hold."""


@pytest.mark.parametrize("then", ["empty", "raises", "hold"])
def test_record_that_no_column_can_hold_fails_its_task(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    """Once, also if it is found while the task fails anyway, or when polling is held."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    source, wire = started(joins_polls=True)
    poll(source, records("a"), [SHAPELESS])
    if then == "hold":
        source.hold(HoldPolling())
    else:
        poll(source, None if then == "empty" else RuntimeError("gone"))
    assert [type(each) for each in wire.sent] == [HandOver, PollFailed]
    assert not source.may_poll
    source.end()


def test_error_found_during_a_poll_fails_the_task_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """However long that poll takes; what it returns or raises afterwards is logged only."""
    for then in (records("b"), RuntimeError("gone")):
        source, wire = started(joins_polls=True)

        def block(wire: Wire = wire, then: Any = then) -> Any:
            assert eventually(lambda: wire.count(PollFailed) == 1, TIMEOUT)
            if isinstance(then, Exception):
                raise then
            return then

        poll(source, records("a"), [SHAPELESS])
        polls.append(block)
        source.poll()
        source.resume(ResumePolling())
        assert not source.may_poll
        source.hold(HoldPolling())
        assert [type(each) for each in wire.sent] == [HandOver, PollFailed]
        source.end()
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info and record.exc_info[1]] == [
        ("gone",)
    ]


def test_polls_with_transaction_boundaries_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task defines what is in a transaction."""
    monkeypatch.setattr(poll_buffer, "APART_SECONDS", 3600.0)
    source, wire = started(joins_polls=True, ends_transactions=True)
    poll(source, records("a"), records("b"))
    assert len(wire.handed_over) == 2


def test_polled_records_are_handed_over_as_batches() -> None:
    """One group per poll; alternating topics give a batch each, with the order in their row numbers."""
    source, wire = started()
    first, second, third = records("a", "b", "c")
    poll(source, [first, second.new_record(topic="u"), third], [first])
    mixed, single = wire.handed_over
    assert (mixed.groups, single.groups) == ([Group(2)], [Group(1)])
    assert [(batch.topic, values(batch), rows_of(batch).tolist()) for batch in mixed.batches] == [
        ("t", ["a", "c"], [0, 2]), ("u", ["b"], [1]),
    ]  # fmt: skip
    assert single.batches[0].column("row") is None


def test_declined_batch_poll_is_one_poll() -> None:
    """The records replace it, and are notified like others; the next poll tries batches again."""
    source, wire = started("Batch")
    polls.append(lambda: NotImplemented)
    poll(source, records("a", "b"))
    assert [[values(batch) for batch in handed.batches] for handed in wire.handed_over] == [[["a", "b"]]]
    source.commit_records(CommitRecords([[0, "t", 0, 7, None]]))
    assert heard[-1] == ("a", RecordMetadata("t", 0, 7, None))
    data = pa.RecordBatch.from_arrays([pa.array(["c"])], names=["value"])
    poll(source, [Batch("t", None, STRING_SCHEMA, data, {"file": "f"})])
    assert [values(batch) for batch in wire.handed_over[-1].batches] == [["c"]]


def test_steps_run_before_the_hand_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The polled batch is sent with the result of the steps, because positions are counted in it."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    plugins = Plugins("source")
    plugins.load("transforms.u", "sample.Upper", "sample_plugins:Upper", {})
    source, wire = started(plugins=plugins, steps=[Step("transforms.u")])
    poll(source, records("a", "drop", "bad", "b"))
    (handed,) = wire.handed_over
    (group,), (origin, result) = handed.groups, handed.batches
    assert (group.polled, group.results, [each.row for each in group.failures]) == (1, 1, [2])
    assert values(origin) == ["a", "drop", "bad", "b"]
    assert result.column("row").to_pylist() == [0, 3]


def test_unused_values_are_not_converted() -> None:
    """Steps get the records themselves; the polled batch still identifies them and their failures.

    If records are logged all their values are needed, and so are those of a batch without steps.
    """
    schema = SchemaBuilder.struct().field("text", STRING_SCHEMA).build()
    structs = [(text, Struct(schema).put("text", text)) for text in ("a", "bad", "b")]
    polled = [
        SourceRecord({"file": "f"}, {"position": row}, "t", None, STRING_SCHEMA, text, schema, struct)
        for row, (text, struct) in enumerate(structs)
    ]

    def handed(names_only: bool, steps: list[Step]) -> tuple[Any, list[Batch]]:
        plugins = Plugins("source")
        plugins.load("transforms.k", "sample.UpperKey", f"{__name__}:UpperKey", {})
        source, wire = started(plugins=plugins, steps=steps, names_only=names_only)
        poll(source, polled)
        (hand_over,) = wire.handed_over
        return hand_over.groups[0], hand_over.batches

    steps = [Step("transforms.k")]
    group, (origin, result) = handed(True, steps)
    assert (origin.value_schema, origin.column("value").null_count) == (None, 3)
    same, (whole, known) = handed(False, steps)
    assert [origin.column(name) for name in ("key", "source_offset")] == [
        whole.column(name) for name in ("key", "source_offset")
    ]
    assert whole.column("value").field("text").to_pylist() == ["a", "bad", "b"]
    assert [each.row for each in group.failures] == [each.row for each in same.failures] == [1]
    assert result.data.equals(known.data)
    assert [each["text"] for each in result.column("value").to_pylist()] == ["a", "b"]
    _, (alone,) = handed(True, [])
    assert alone.data.equals(whole.data)


def test_transformed_records_may_drop_their_positions() -> None:
    """The polled batch does, and is not split by it. A later step may still read it."""
    polled = [
        SourceRecord({"file": row % 2}, {"position": row}, "t", None, STRING_SCHEMA, "k", STRING_SCHEMA, f"{row}")
        for row in range(4)
    ]

    def handed(*, drops_positions: bool) -> list[Batch]:
        plugins = Plugins("source")
        plugins.load("transforms.k", "sample.UpperKey", f"{__name__}:UpperKey", {})
        source, wire = started(plugins=plugins, steps=[Step("transforms.k")], drops_positions=drops_positions)
        poll(source, polled)
        (hand_over,) = wire.handed_over
        return hand_over.batches

    *origins, one, two = handed(drops_positions=False)
    *same, both = handed(drops_positions=True)
    assert [each.source_partition for each in same] == [each.source_partition for each in origins]
    assert [each.column("source_offset") for each in same] == [each.column("source_offset") for each in origins]
    assert (one.source_partition, two.source_partition, both.source_partition) == ({"file": 0}, {"file": 1}, None)
    assert both.column("source_offset") is None
    assert both.column("value").to_pylist() == ["0", "1", "2", "3"]
    assert both.column("key").to_pylist() == ["K"] * 4


def test_mismatched_records_fail_before_the_steps() -> None:
    """A text that is a number, a changed list in a struct: they fail as polled, whether steps use them or not."""
    schema = SchemaBuilder.struct().field("list", SchemaBuilder.array(STRING_SCHEMA).build()).build()
    changed = Struct(schema).put("list", ["a"])
    changed.get("list").append(1)
    plugins = Plugins("source")
    plugins.load("transforms.k", "sample.UpperKey", f"{__name__}:UpperKey", {})
    source, wire = started(plugins=plugins, steps=[Step("transforms.k")], names_only=True)
    poll(source, [SourceRecord({}, {}, "t", value_schema=schema, value=changed)])
    poll(source, [SourceRecord({}, {}, "t", value_schema=STRING_SCHEMA, value=1)])
    failures = [failure for handed in wire.handed_over for group in handed.groups for failure in group.failures]
    assert [failure.phase for failure in failures] == ["TASK_POLL", "TASK_POLL"]


@pytest.mark.parametrize("connector", ["Curious", "Batch"])
def test_task_is_notified_of_each_record(connector: str) -> None:
    """Numbers count the records of all polls, so each notification has the record that was returned."""
    source, _ = started(connector)
    heard.clear()
    for answer in (records("a", "b"), None, records("c"), records("d")):
        columns = [] if answer is None else [record.value for record in answer]
        data = pa.RecordBatch.from_arrays([pa.array(columns, pa.string())], names=["value"])
        batches = [Batch("t", None, STRING_SCHEMA, data, {"file": "f"})]
        poll(source, batches if connector == "Batch" else answer)
    source.commit_records(CommitRecords([[3, "t", 0, 7, None], [0, None, None, None, None]]))
    source.commit_records(CommitRecords([[2, "t", 1, 8, 99], [1, "t", 0, 9, None]]))
    assert heard == [
        ("d", RecordMetadata("t", 0, 7, None)),
        ("a", None),
        ("c", RecordMetadata("t", 1, 8, 99)),
        ("b", RecordMetadata("t", 0, 9, None)),
    ]


def test_failing_commit_record_does_not_stop_notifications(caplog: pytest.LogCaptureFixture) -> None:
    """As in Kafka Connect, what ``commit`` and ``commit_record`` raise is only logged."""
    source, _ = started("Curious")
    heard.clear()
    poll(source, records("fail", "b"))
    source.commit_records(CommitRecords([[0, "t", 0, 0, None], [1, "t", 0, 1, None]]))
    source.commit(CommitSource())
    assert [each if each == "commit" else each[0] for each in heard] == ["fail", "b", "commit"]
    errors = caplog.text
    assert "commit_record failed" in errors
    assert "RuntimeError: commit failed" in errors


def test_task_declares_its_notifications() -> None:
    """The inherited ``commit`` and ``commit_record`` do nothing."""
    source = StageSource(Wire(), Transformations(Plugins("source")))  # type: ignore[arg-type]
    answers = [source.start(StartSource(f"{__name__}:{each}Connector", {})) for each in ("Plain", "Curious")]
    assert [(each.wants_records, each.wants_commits) for each in answers] == [(False, False), (True, True)]


def test_records_without_commit_record_are_not_kept() -> None:
    """Records are not kept for a task that does not override ``commit_record``."""
    source, _ = started()
    poll(source, records("a"))
    assert source._pending == {}


def test_failing_poll_is_reported_once() -> None:
    """A task that raised is not polled again."""
    source, wire = started()
    poll(source, RuntimeError("no more"))
    (failed,) = wire.sent
    assert isinstance(failed, PollFailed)
    assert (failed.op, failed.error.kind, failed.error.message) == ("source.failed", "plugin", "no more")
    assert "in poll" in failed.error.trace
    assert not source.may_poll


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        ("text", "str"),
        ({"a": 1}, "dict"),
        (7, "int"),
        ([{"a": 1}], "list of dict"),
        (iter([]), "list_iterator"),
    ],
)
def test_invalid_result_of_a_poll_is_named(returned: Any, what: str) -> None:
    """Its author gets that message instead of a consequence in the host."""
    source, wire = started()
    polls.append(lambda: returned)
    source.poll()
    (failed,) = wire.sent
    assert isinstance(failed, PollFailed)
    assert failed.error.message == f"poll returned {what}, not a list of SourceRecord"


def test_retriable_poll_is_logged_and_repeated(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka Connect logs it and polls again."""
    source, wire = started()
    poll(source, RetriableError("not now"), records("a"))
    assert len(wire.handed_over) == 1
    assert "not now" in caplog.text


def test_task_is_stopped_once() -> None:
    """Stopping twice, or stopping and ending, calls the task's ``stop`` once."""
    source, _ = started()
    source.stop(StopSource())
    source.end()
    assert heard[1:] == ["stop"]
    assert not source.may_poll


def test_task_whose_start_failed_is_stopped() -> None:
    """What it has opened must be closed."""
    wire: Any = Wire()
    source = StageSource(wire, Transformations(Plugins("source")))
    with pytest.raises(RuntimeError, match="cannot start"):
        source.start(StartSource(f"{__name__}:PlainConnector", {"fail": "1"}))
    source.end()
    assert heard[1:] == ["stop"]


def test_end_without_start_does_nothing() -> None:
    """A stage with transformations only has no task to stop."""
    wire: Any = Wire()
    StageSource(wire, Transformations(Plugins("source"))).end()
    assert heard == []

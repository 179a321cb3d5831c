"""Chains, steps and guards; ``tests/contract/staging/test_place.py`` covers the plugins in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    STRING_SCHEMA,
    ConnectRecord,
    DataError,
    Header,
    Headers,
    Predicate,
    RetriableError,
    SinkRecord,
    SourceRecord,
    Transformation,
)
from hearth_api.batch import (
    Batch,
    BatchPredicate,
    BatchTransformation,
    PartlyFailed,
    batch_to_sink_records,
    batch_to_source_records,
    headers_to_column,
    records_by_kind,
)
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import cut, number_rows, numbered, rows_of
from hearth_execution.plugins import Plugins
from hearth_execution.retry import NO_RETRY, Retry
from hearth_execution.transformation import Guard, Outcome, Step, Transformations, chain, without

asked: list[Any] = []
"""The inputs of the plugins below: a list for the batch form, a value for the record form."""


class Shout(Transformation):
    """Converts values to capitals; drops ``drop``, rejects ``bad``, and needs a retry for ``later``."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def apply(self, record: Any) -> Any:
        """Return the record in capitals, with changes in everything that a batch has a column for."""
        asked.append(record.value)
        if record.value == "bad":
            raise DataError("bad")
        if record.value == "later" and asked.count("later") < 2:
            raise RetriableError("later")
        if record.value == "drop":
            return None
        label = Header("seen", STRING_SCHEMA, record.value)
        value = record.value.upper()
        return record.new_record(kafka_partition=3, timestamp=4, headers=[*record.headers, label], value=value)


class Unsure(BatchTransformation, Shout):
    """Has a batch form for batches without ``odd``, ``later`` and ``bad``."""

    def apply_batch(self, batch: Batch) -> Any:
        """Return the batch in capitals, decline one with odd values, raise for one with bad values."""
        texts = batch.column("value").to_pylist()
        asked.append(texts)
        if "bad" in texts:
            raise DataError("bad")
        if {"odd", "later"} & set(texts):
            return NotImplemented
        kept = batch.filter(pc.not_equal(batch.column("value"), "drop"))
        labels = [Headers([Header("seen", STRING_SCHEMA, text)]) for text in kept.column("value").to_pylist()]
        return [
            kept.with_columns(
                value=pc.utf8_upper(kept.column("value")),
                partition=pa.repeat(pa.scalar(3, pa.int32()), kept.num_rows),
                timestamp=pa.repeat(pa.scalar(4, pa.int64()), kept.num_rows),
                headers=headers_to_column(labels),
            )
        ]


class IsLong(Predicate):
    """Selects values of more than three letters."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def test(self, record: ConnectRecord) -> bool:
        """Return whether the value is long; reject bad ones."""
        if record.value == "bad":
            raise DataError("bad")
        return len(record.value) > 3


class UnsureIsLong(BatchPredicate, IsLong):
    """Declines batches with ``odd``."""

    def test_batch(self, batch: Batch) -> Any:
        """Return which values are long."""
        texts = batch.column("value").to_pylist()
        if "bad" in texts:
            raise DataError("bad")
        return NotImplemented if "odd" in texts else pa.array([len(text) > 3 for text in texts], pa.bool_())


@pytest.fixture(autouse=True)
def _forget() -> None:
    asked.clear()


def plugins(kind: type[Any], retry: Retry = NO_RETRY) -> Transformations:
    """Return a plugin of this file, loaded as ``it``."""
    loaded = Plugins("source", retry)
    loaded.load("it", kind.__name__, f"{__name__}:{kind.__name__}", {})
    return Transformations(loaded)


def batch(*values: str) -> Batch:
    """Return a numbered batch."""
    data = pa.RecordBatch.from_arrays([pa.array(values, pa.string())], names=["value"])
    return number_rows(Batch("t", None, STRING_SCHEMA, data))


def failure(row: int) -> Failure:
    """Return the failure of a row."""
    return Failure(row, "TRANSFORMATION", "some.Predicate", ErrorInfo("data", "E", "m", "t"))


def content(batches: list[Batch]) -> list[tuple[int, str]]:
    """Return number and value of every row, ordered by number; numbers ascend within each batch."""
    parts = [list(zip(rows_of(each).tolist(), each.column("value").to_pylist(), strict=True)) for each in batches]
    assert all(part == sorted(part) for part in parts)
    return sorted(pair for part in parts for pair in part)


def marked(parts: Sequence[Batch]) -> Outcome:
    """Transform batches visibly."""
    values = [pa.array([f"{value}!" for value in part.column("value").to_pylist()], pa.string()) for part in parts]
    return Outcome([part.with_columns(value=own) for part, own in zip(parts, values)])


def test_chain_passes_each_result_to_the_next_step() -> None:
    """The whole result of a step is passed on; failures accumulate; empty batches are dropped."""
    seen: list[list[list[tuple[int, str]]]] = []

    def split(parts: Sequence[Batch]) -> Outcome:
        seen.append([content([part]) for part in parts])
        pieces = [piece for part in parts for piece in (part.slice(0, 1), part.slice(1, 0), part.slice(1))]
        return Outcome(pieces, [failure(9)])

    outcome = chain([batch("a", "b", "c")], [split, marked, split])
    assert content(outcome.batches) == [(0, "a!"), (1, "b!"), (2, "c!")]
    assert seen[1:] == [[[(0, "a!")], [(1, "b!"), (2, "c!")]]]
    assert len(outcome.failures) == 2
    assert all(each.num_rows for each in outcome.batches)


def test_chain_ends_without_remaining_batches() -> None:
    """A step is not called without batches."""

    def never(parts: Sequence[Batch]) -> Outcome:
        raise AssertionError("called")

    assert chain([batch("a")], [lambda _: Outcome([], [failure(0)]), never]).failures == [failure(0)]


def test_chain_of_no_steps_changes_nothing() -> None:
    """A pipeline without transformations returns its batch."""
    only = batch("a")
    assert chain([only], []).batches == [only]


def test_transformation_is_not_called_without_selected_rows() -> None:
    """A transformation does not get rows that its predicate excludes."""
    guard = Guard(lambda part: (pa.array([False, False]), []), False, "some.Transformation")
    only = batch("a", "b")

    def transform(parts: Sequence[Batch]) -> Outcome:
        raise AssertionError("called")

    assert guard.apply([only], transform).batches == [only]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["chosen", "other", "failed"]), max_size=12), st.booleans())
def test_guard_transforms_selected_rows_only(kinds: list[str], negate: bool) -> None:
    """Every row keeps its position, changed or not; a row on which the predicate failed is a failure."""

    def test(part: Batch) -> tuple[Any, list[Failure]]:
        values = part.column("value").to_pylist()
        mask = pa.array([value == "chosen" for value in values], pa.bool_())
        return mask, [failure(row) for row, value in enumerate(values) if value == "failed"]

    outcome = Guard(test, negate, "some.Transformation").apply([batch(*kinds)], marked)
    expected = [
        (row, f"{kind}!" if (kind == "chosen") != negate else kind)
        for row, kind in enumerate(kinds)
        if kind != "failed"
    ]
    assert content([each for each in outcome.batches if each.num_rows]) == expected
    assert [each.row for each in outcome.failures] == [row for row, kind in enumerate(kinds) if kind == "failed"]
    assert {each.class_name for each in outcome.failures} <= {"some.Transformation"}


@pytest.mark.parametrize(("rows", "kept"), [([], [True, True, True]), ([1], [True, False, True])])
def test_mask_excludes_failed_rows(rows: list[int], kept: list[bool]) -> None:
    """Rows are identified by number, not position."""
    assert without(batch("a", "b", "c"), [failure(row) for row in rows]).to_pylist() == kept


TEXTS = st.lists(st.sampled_from(["a", "longer", "odd", "bad", "drop"]), min_size=1, max_size=9)


@settings(deadline=None)
@given(TEXTS)
def test_batch_form_may_decline_any_batch(texts: list[str]) -> None:
    """In one half and not the other, after a failure or before: records, row numbers and failures are equal."""
    by_records = plugins(Shout).apply([Step("it")], [batch(*texts)])
    outcome = plugins(Unsure).apply([Step("it")], [batch(*texts)])
    assert content(outcome.batches) == content(by_records.batches)
    records, plain = (
        [record for part in each.batches for record in batch_to_source_records(part)] for each in (outcome, by_records)
    )
    assert records == plain
    failed, refused = ([(each.row, each.error.message) for each in one.failures] for one in (outcome, by_records))
    assert failed == refused


def test_all_changes_of_the_record_form_are_kept() -> None:
    """Headers, timestamp and Kafka partition as well as the value."""
    (after,) = plugins(Unsure).apply([Step("it")], [batch("odd")]).batches
    (record,) = batch_to_source_records(after)
    assert (record.value, record.kafka_partition, record.timestamp) == ("ODD", 3, 4)
    assert [header.key for header in record.headers] == ["seen"]


def test_batch_that_raises_is_processed_by_records_once() -> None:
    """Its failures cost what records cost, and no part of it is tried again as a batch."""
    outcome = plugins(Unsure).apply([Step("it")], [batch("a", "bad", "odd", "b")])
    assert content(outcome.batches) == [(0, "A"), (2, "ODD"), (3, "B")]
    assert asked == [["a", "bad", "odd", "b"], "a", "bad", "odd", "b"]


def test_retry_repeats_a_single_record() -> None:
    """A retry in the record form repeats one record, however many rows the batch has."""
    patient = Retry(60_000, 1)
    outcome = plugins(Unsure, patient).apply([Step("it")], [batch("a", "later", "b")])
    assert content(outcome.batches) == [(0, "A"), (1, "LATER"), (2, "B")]
    assert asked == [["a", "later", "b"], "a", "later", "later", "b"]


@settings(deadline=None)
@given(TEXTS)
def test_predicate_may_decline_any_batch(texts: list[str]) -> None:
    """One answer per row, and the same rows rejected."""
    answers, failures = plugins(UnsureIsLong).test("it", batch(*texts))
    assert answers.to_pylist() == [len(text) > 3 for text in texts]
    assert [each.row for each in failures] == [row for row, text in enumerate(texts) if text == "bad"]


class Anew(Transformation):
    """Creates a new record from each, as some Java transformations do; drops short values, rejects ``odd``."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def apply(self, record: Any) -> Any:
        """Return a record with only its position and value."""
        asked.append(("anew", record))
        if record.value in ("odd", "ODD"):
            raise DataError("odd")
        if len(record.value) < 3:
            return None
        if isinstance(record, SinkRecord):
            return SinkRecord("u", 1, None, None, STRING_SCHEMA, record.value + "!", record.kafka_offset)
        return SourceRecord({"p": 1}, None, "u", value_schema=STRING_SCHEMA, value=record.value + "!")


def several(type_: str) -> Transformations:
    """Return plugins of this file, each loaded under its name."""
    loaded = Plugins(type_)
    for kind in (Shout, Anew, Unsure, IsLong, UnsureIsLong):
        loaded.load(kind.__name__, f"sample.{kind.__name__}", f"{__name__}:{kind.__name__}", {})
    return Transformations(loaded)


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["Shout", "Anew"] * 2 + ["Unsure"]),
              st.sampled_from([None, None, "IsLong", "IsLong", "UnsureIsLong"]), st.booleans()),
    max_size=4,
)  # fmt: skip


def sink_batch(texts: list[str]) -> Batch:
    """Return a numbered batch that was consumed."""
    count = len(texts)
    columns = [pa.array(texts, pa.string()), pa.array([0] * count, pa.int32()), pa.array(range(count), pa.int64())]
    data = pa.RecordBatch.from_arrays(columns, names=["value", "partition", "offset"])
    return number_rows(Batch("t", None, STRING_SCHEMA, data, original_topic="t"))


@settings(deadline=None)
@given(TEXTS, STEPS, st.booleans())
def test_consecutive_steps_give_the_same_result_as_separate_ones(
    texts: list[str], steps: list[Step], are_known: bool
) -> None:
    """Records passed between steps directly become the same records and failures as those in columns."""
    ours, whole = several("source"), batch(*texts)
    apart = chain([whole], [partial(ours.apply, [step]) for step in steps])
    together = ours.apply(steps, [whole], batch_to_source_records(whole) if are_known else None)
    assert content(together.batches) == content(apart.batches)
    found, wanted = (
        [record for part in each.batches for record in batch_to_source_records(part)] for each in (together, apart)
    )
    assert found == wanted
    assert failed(together.failures) == failed(apart.failures)


KINDS = st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from(["a", "longer", "odd", "bad", "drop"])), max_size=9)


@settings(deadline=None)
@given(KINDS, STEPS, st.booleans())
def test_alternating_records_give_the_same_result_as_separate_ones(
    kinds: list[tuple[str, str]], steps: list[Step], are_known: bool
) -> None:
    """Kafka Connect runs one record after the other through the chain, whatever their topics.

    The two forms of ``Unsure`` differ in headers, partition and time, and the batch decides which one is used.
    """
    polled = [SourceRecord({"p": topic}, None, topic, value_schema=STRING_SCHEMA, value=text) for topic, text in kinds]
    outcome = several("source").apply(steps, numbered(records_by_kind(polled)), polled if are_known else None)
    alone = [several("source").apply(steps, numbered(records_by_kind([each]))) for each in polled]
    assert numbered_records(outcome) == [
        (row, *record) for row, each in enumerate(alone) for _, *record in numbered_records(each)
    ]
    assert failed(outcome.failures) == [
        (row, *rest) for row, each in enumerate(alone) for _, *rest in failed(each.failures)
    ]


def test_alternating_records_are_processed_in_poll_order() -> None:
    """Steps in record form do, also after steps in batch form."""
    polled = [
        SourceRecord(None, None, topic, value_schema=STRING_SCHEMA, value=f"{topic}-{row}")
        for row, topic in enumerate("tutuv")
    ]
    for steps in ([Step("Shout")], [Step("Unsure"), Step("Shout", "UnsureIsLong"), Step("Shout")]):
        asked.clear()
        several("source").apply(steps, numbered(records_by_kind(polled)))
        assert [each for each in asked if isinstance(each, str)][-5:] == [
            text.upper() if len(steps) > 1 else text for text in ("t-0", "u-1", "t-2", "u-3", "v-4")
        ]


def numbered_records(outcome: Outcome) -> list[tuple[int, Any, Any, Any]]:
    """Return number, topic, value and source partition of the results, by number; numbers ascend within a batch."""
    parts = [(rows_of(batch).tolist(), batch_to_source_records(batch)) for batch in outcome.batches]
    assert all(rows == sorted(rows) for rows, _ in parts)
    pairs = [pair for rows, records in parts for pair in zip(rows, records, strict=True)]
    found = [(row, record.topic, record.value, record.source_partition) for row, record in pairs]
    return sorted(found, key=lambda each: each[0])


@settings(deadline=None)
@given(TEXTS, STEPS)
def test_sink_gets_the_records_of_its_last_steps(texts: list[str], steps: list[Step]) -> None:
    """Each refers to its consumed record, even if a step created it."""
    ours, whole = several("sink"), sink_batch(texts)
    outcome = ours.apply(steps, [whole])
    records, failures = ours.to_records(steps, [whole], "read")
    parts = [part.replace(consumed="read") for part in cut(outcome.batches)]
    assert records == [record for part in parts for record in batch_to_sink_records(part)]
    assert [record.consumed for record in records] == [("read", row) for row, _ in content(outcome.batches)]
    assert failed(failures) == failed(outcome.failures)


def failed(failures: list[Failure]) -> list[tuple[int, str, str]]:
    """Return the failures, ordered by row."""
    return sorted((each.row, each.class_name, each.error.message) for each in failures)


def test_step_gets_the_same_record_object_as_returned() -> None:
    """No column is created between them, nor between the first step and the source of the records."""
    loaded, whole = several("source"), batch("long")
    polled = batch_to_source_records(whole)
    loaded.apply([Step("Anew"), Step("Anew")], [whole], polled)
    (_, first), (_, second) = asked
    assert first is polled[0]
    assert (second.value, second.topic) == ("long!", "u")
    asked.clear()
    loaded.apply([Step("Anew"), Step("Unsure"), Step("Anew")], [whole], polled)
    assert [each if isinstance(each, list) else each[1].value for each in asked] == ["long", ["long!"], "LONG!"]


class Late(Transformation):
    """Raises a retriable error at every second call."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Count calls."""
        self.calls = 0

    def apply(self, record: Any) -> Any:
        """Return the record in capitals."""
        self.calls += 1
        asked.append(("late", record.value))
        if self.calls % 2:
            raise RetriableError("later")
        return record.new_record(value=record.value.upper())


class Asked(IsLong):
    """Records its calls."""

    def test(self, record: ConnectRecord) -> bool:
        """Return whether the value is long."""
        asked.append(("test", record.value))
        return super().test(record)


def test_record_passes_all_steps_before_the_next_record() -> None:
    """As in Java; a retry continues where it failed, and evaluates its step's predicate again."""
    loaded = Plugins("source", Retry(60_000, 1))
    for kind in (Anew, Late, Asked):
        loaded.load(kind.__name__, f"sample.{kind.__name__}", f"{__name__}:{kind.__name__}", {})
    whole = batch("first", "odd", "x", "last")
    steps = [Step("Anew"), Step("Late", "Asked")]
    outcome = Transformations(loaded).apply(steps, [whole], batch_to_source_records(whole))
    assert content(outcome.batches) == [(0, "FIRST!"), (3, "LAST!")]
    assert failed(outcome.failures) == [(1, "sample.Anew", "odd")]
    twice = [("test", "{0}!"), ("late", "{0}!")] * 2
    assert [(name, getattr(value, "value", value)) for name, value in asked] == [
        ("anew", "first"), *((name, text.format("first")) for name, text in twice), ("anew", "odd"), ("anew", "x"),
        ("anew", "last"), *((name, text.format("last")) for name, text in twice),
    ]  # fmt: skip


def test_record_that_does_not_match_its_schema_fails_at_conversion() -> None:
    """It is a failure of the last step that had it as a record, and of its row only."""
    loaded = several("source")
    bad, good = batch_to_source_records(batch("long", "longer"))
    outcome = loaded.apply(
        [Step("Shout", "IsLong", True)], [batch("long", "longer")], [bad.new_record(value=5j), good]
    )
    assert failed(outcome.failures)[0][:2] == (0, "sample.Shout")
    assert content(outcome.batches) == [(1, "longer")]


def test_reported_failed_row_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be both delivered and dead-lettered; a plugin that returns it is not trusted."""
    monkeypatch.setattr(Unsure, "apply_batch", lambda _, part: PartlyFailed([part], {0: ValueError("x")}))
    outcome = plugins(Unsure).apply([Step("it")], [batch("a", "b")])
    assert (content(outcome.batches), outcome.failures) == ([(0, "A"), (1, "B")], [])

"""The contract of a place for plugins: the same plugins have the same results in this process and in a stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import Stage
from hearth.staging.place import LocalPlace, Place, StagePlace
from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Header,
    Headers,
    TimestampType,
)
from hearth_api.batch import Batch, ColumnRun, batch_to_sink_records, headers_to_column
from hearth_execution.failure import Failure
from hearth_execution.order import number_rows, rows_of
from hearth_execution.raw_header import RawHeaders, raw_column, raw_rows
from hearth_execution.retry import Retry
from hearth_execution.transformation import Step
from hearth_stage.conversion_call import (
    Cells,
    Deserialize,
    DeserializeHeaders,
    Serialize,
    SerializeHeaders,
    side_of,
)
from hearth_stage.plugin_call import Configure, Load, WantedPlugin
from hearth_stage.transformation_call import Apply, AskPredicate
from tests.unit.run_order import values_in_order

SAMPLES = Path(__file__).parents[2] / "samples"
RETRY_TIMEOUT, RETRY_DELAY_MAX = 60_000, 1


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Provide one stage process for all tests here: each configures it again."""
    started = Stage.start(python_environment("samples", host(), (str(SAMPLES),)), "samples")
    yield started
    started.close()


@pytest.fixture(params=["local", "stage"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Provide an empty place of each kind."""
    if request.param == "local":
        monkeypatch.syspath_prepend(str(SAMPLES))
        return LocalPlace("sink", Retry(RETRY_TIMEOUT, RETRY_DELAY_MAX))
    stage: Stage = request.getfixturevalue("stage")
    stage.call(Configure("sink", RETRY_TIMEOUT, RETRY_DELAY_MAX))
    return StagePlace(stage)


def load(place: Place, **roles: str) -> None:
    """Load sample plugins by role; ``_`` in a role stands for a dot."""
    place.do(Load([wanted(role.replace("_", "."), name) for role, name in roles.items()]))


def wanted(role: str, name: str) -> WantedPlugin:
    """Return a sample plugin to load, under the alias ``sample.NAME``."""
    return WantedPlugin(role, f"sample.{name}", f"sample_plugins:{name}")


def batch(*values: str | None, headers: list[Headers] | None = None) -> Batch:
    """Return a consumed batch with these values and offsets from 100."""
    columns = {
        "value": pa.array(values, pa.string()),
        "partition": pa.array([0] * len(values), pa.int32()),
        "offset": pa.array(range(100, 100 + len(values)), pa.int64()),
    }
    if headers is not None:
        columns["headers"] = headers_to_column(headers)
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return number_rows(
        Batch("t", None, STRING_SCHEMA, data, None, TimestampType.NO_TIMESTAMP_TYPE, original_topic="t")
    )


def content(batches: list[Batch]) -> list[tuple[int, str]]:
    """Return row and value of every row, in order; row numbers increase within each batch."""
    parts = [list(zip(rows_of(each).tolist(), each.column("value").to_pylist(), strict=True)) for each in batches]
    assert all(part == sorted(part) for part in parts)
    return sorted(pair for part in parts for pair in part)


def facts(failures: list[Failure]) -> list[tuple[int, str, str, str]]:
    """Return the parts of a failure that do not depend on the process."""
    return [(each.row, each.phase, each.class_name, each.error.message) for each in failures]


def serialized(
    place: Place, column: Any, rows: Any, headers: Any = None
) -> tuple[Any, list[Failure], dict[int, RawHeaders]]:
    """Serialize a column of texts; return the changes to the headers as well."""
    cells = Cells({"value": ColumnRun(STRING_SCHEMA, column)}, rows, headers)
    done = place.do(Serialize(["value.converter"], "t", cells))
    return done.columns["value"], done.failures, dict(done.headers)


def deserialized(
    place: Place, role: str, data: Any, rows: Any, headers: Any = None
) -> tuple[list[ColumnRun], list[Failure]]:
    """Deserialize bytes."""
    cells = Cells({side_of(role): ColumnRun(OPTIONAL_BYTES_SCHEMA, data)}, rows, headers)
    done = place.do(Deserialize([role], "t", cells))
    return done.runs, done.failures


BAD = "the value is 'bad'"


@pytest.mark.parametrize("name", ["Upper", "UpperBatch", "UpperUnsure"])
def test_a_transformation_keeps_order_and_row_numbers(place: Place, name: str) -> None:
    """Rows keep their numbers through a transformation; a missing row is dropped."""
    load(place, transforms_u=name)
    outcome = place.do(Apply([Step("transforms.u")], [batch("a", "drop", "b", "c")]))
    assert content(outcome.batches) == [(0, "A"), (2, "B"), (3, "C")]
    assert outcome.failures == []


@pytest.mark.parametrize("name", ["Upper", "UpperBatch", "UpperUnsure"])
def test_failing_rows_are_narrowed_down_to_themselves(place: Place, name: str) -> None:
    """Only the rows that fail are failures, identified by row, stage and class; the others continue in order."""
    load(place, transforms_u=name)
    outcome = place.do(Apply([Step("transforms.u")], [batch("a", "bad", "b", "c", "bad")]))
    assert content(outcome.batches) == [(0, "A"), (2, "B"), (3, "C")]
    assert facts(outcome.failures) == [
        (1, "TRANSFORMATION", "sample.Upper" + name[5:], BAD),
        (4, "TRANSFORMATION", "sample.Upper" + name[5:], BAD),
    ]
    assert {each.error.kind for each in outcome.failures} == {"data"}
    assert "in check" in outcome.failures[0].error.trace


@pytest.mark.parametrize("name", ["Upper", "UpperBatch", "UpperUnsure"])
def test_retriable_failure_is_tried_again(place: Place, name: str) -> None:
    """A retriable failure is repeated within ``errors.retry.timeout`` and is not reported after a success."""
    load(place, transforms_u=name)
    outcome = place.do(Apply([Step("transforms.u")], [batch("later")]))
    assert content(outcome.batches) == [(0, "LATER")]
    assert outcome.failures == []


@pytest.mark.parametrize("name", ["Upper", "UpperBatch", "UpperUnsure"])
def test_an_empty_outcome_has_no_batches(place: Place, name: str) -> None:
    """If every row is dropped or fails, not even an empty batch results."""
    load(place, transforms_u=name)
    outcome = place.do(Apply([Step("transforms.u")], [batch("drop", "bad")]))
    assert outcome.batches == []
    assert [each.row for each in outcome.failures] == [1]


def test_steps_run_one_after_the_other(place: Place) -> None:
    """A later step gets the results of the earlier ones, batch by batch."""
    load(place, transforms_route="Route", transforms_u="UpperBatch")
    outcome = place.do(Apply([Step("transforms.route"), Step("transforms.u")], [batch("a", "a", "b")]))
    assert [each.topic for each in outcome.batches] == ["to-a", "to-b"]
    assert content(outcome.batches) == [(0, "A"), (1, "A"), (2, "B")]


def test_started_calls_complete_in_order(place: Place) -> None:
    """Each result belongs to its call, in whatever order they are awaited."""
    load(place, transforms_u="UpperBatch")
    waits = [place.begin(Apply([Step("transforms.u")], [batch(each)])) for each in ("a", "b", "bad")]
    failures, second, first = [wait() for wait in reversed(waits)]
    assert [each.row for each in failures.failures] == [0]
    assert [content(each.batches) for each in (first, second)] == [[(0, "A")], [(0, "B")]]


def test_a_changed_topic_keeps_where_the_record_came_from(place: Place) -> None:
    """A record that a transformation reroutes keeps its original topic, partition and offset."""
    load(place, transforms_route="Route")
    (moved,) = place.do(Apply([Step("transforms.route")], [batch("a")])).batches
    (record,) = batch_to_sink_records(moved)
    assert (record.topic, record.original_topic, record.original_kafka_offset) == ("to-a", "t", 100)


def test_a_record_that_does_not_match_its_schema_fails_alone(place: Place) -> None:
    """A record form that returns an invalid record fails that record, not its batch."""
    load(place, transforms_m="Misfit")
    outcome = place.do(Apply([Step("transforms.m")], [batch("a", "mismatch", "b")]))
    assert content(outcome.batches) == [(0, "a"), (2, "b")]
    assert [(each.row, each.class_name) for each in outcome.failures] == [(1, "sample.Misfit")]


def test_batch_without_row_numbers_is_transformed_as_records(place: Place) -> None:
    """A batch transformation that loses ``row`` would make records vanish, so it gets records (invariant 3)."""
    load(place, transforms_f="Forgetful")
    outcome = place.do(Apply([Step("transforms.f")], [batch("a", "b")]))
    assert content(outcome.batches) == [(0, "a"), (1, "b")]
    assert outcome.failures == []


@pytest.mark.parametrize("name", ["IsLong", "IsLongBatch", "IsLongUnsure"])
def test_predicate_answers_for_every_row(place: Place, name: str) -> None:
    """A predicate returns one result per row; a row it fails on is ``False`` and reported."""
    load(place, predicates_p=name)
    answer = place.do(AskPredicate("predicates.p", batch("long one", "bad", "no")))
    mask, failures = answer.mask, answer.failures
    assert mask.to_pylist() == [True, False, False]
    assert facts(failures) == [(1, "TRANSFORMATION", f"sample.{name}", BAD)]


def test_a_predicate_with_too_few_results_is_called_for_each_row(place: Place) -> None:
    """A mask of the wrong length is not used; the record form is called instead."""
    load(place, predicates_p="Shortsighted")
    answer = place.do(AskPredicate("predicates.p", batch("a", "long", "c")))
    mask, failures = answer.mask, answer.failures
    assert mask.to_pylist() == [False, True, False]
    assert failures == []


@pytest.mark.parametrize("name", ["IsLong", "IsLongBatch", "IsLongUnsure"])
@pytest.mark.parametrize("negate", [False, True])
def test_a_guarded_step_leaves_other_rows_unchanged(place: Place, name: str, negate: bool) -> None:
    """Rows that a predicate does not select pass unchanged, with their numbers."""
    load(place, transforms_u="Upper", predicates_p=name)
    step = Step("transforms.u", "predicates.p", negate)
    outcome = place.do(Apply([step], [batch("a", "long", "b", "longer", "c")]))
    expected = ["A", "long", "B", "longer", "C"] if negate else ["a", "LONG", "b", "LONGER", "c"]
    assert content(outcome.batches) == list(enumerate(expected))


def test_failure_of_a_predicate_is_reported_as_that_of_its_transformation(place: Place) -> None:
    """Kafka Connect names the transformation's class for a failure of its predicate."""
    load(place, transforms_u="Upper", predicates_p="IsLong")
    outcome = place.do(Apply([Step("transforms.u", "predicates.p")], [batch("bad", "longer")]))
    assert content(outcome.batches) == [(1, "LONGER")]
    assert facts(outcome.failures) == [(0, "TRANSFORMATION", "sample.Upper", BAD)]


@pytest.mark.parametrize("name", ["Text", "TextBatch", "TextUnsure"])
def test_serialize_leaves_null_where_a_row_failed(place: Place, name: str) -> None:
    """A column keeps its length; failures have the given rows, and null values stay null."""
    load(place, value_converter=name)
    column = pa.array(["a", "bad", None, ""], pa.string())
    data, failures, _ = serialized(place, column, np.array([3, 5, 7, 9]))
    assert data.type == pa.binary()
    assert data.to_pylist() == [b"a", None, None, b""]
    assert facts(failures) == [(5, "VALUE_CONVERTER", f"sample.{name}", BAD)]


@pytest.mark.parametrize("name", ["Text", "TextBatch", "TextUnsure"])
def test_deserialize_makes_a_run_of_each_schema(place: Place, name: str) -> None:
    """Each run has its row numbers."""
    load(place, key_converter=name)
    data = pa.array([b"a", b"1", b"2", None], pa.binary())
    runs, failures = deserialized(place, "key.converter", data, np.arange(4))
    text, number = OPTIONAL_STRING_SCHEMA, INT64_SCHEMA
    assert values_in_order(runs) == [(text, "a"), (number, 1), (number, 2), (text, None)]
    assert len(runs) == 2
    assert failures == []


@pytest.mark.parametrize("name", ["Text", "TextBatch", "TextUnsure"])
def test_deserialize_names_the_rows_that_fail(place: Place, name: str) -> None:
    """A failed row stays a null in the runs, so that keys and values stay aligned."""
    load(place, key_converter=name)
    data = pa.array([b"bad", b"1", b"\xff"], pa.binary())
    runs, failures = deserialized(place, "key.converter", data, np.array([4, 5, 6]))
    assert [value for _, value in values_in_order(runs)] == [None, 1, None]
    assert [(each.row, each.phase) for each in failures] == [(4, "KEY_CONVERTER"), (6, "KEY_CONVERTER")]


def test_converter_sees_and_changes_the_headers_of_the_records_it_writes(place: Place) -> None:
    """They are Kafka's, names with bytes; those of a failed record stay unchanged."""
    load(place, value_converter="Heading")
    headers = raw_column([[("n", None), ("old", b"\xff")], [("old", b"1")], [], []])
    column = pa.array(["a", "bad", None, "b"], pa.string())
    data, failures, changed = serialized(place, column, np.arange(4), headers)
    assert data.to_pylist() == [b"a", None, None, b"b"]
    assert changed == {
        0: [("n", None), ("length", b"1"), ("text", b"a")],
        3: [("length", b"1"), ("text", b"b")],
    }
    assert facts(failures) == [(1, "VALUE_CONVERTER", "sample.Heading", BAD)]


def test_converter_that_leaves_a_header_kafka_cannot_hold_fails_its_record(place: Place) -> None:
    """The message names the header."""
    load(place, value_converter="Heading")
    column = pa.array(["number", "b"], pa.string())
    data, (failure,), changed = serialized(place, column, np.arange(2))
    assert data.to_pylist() == [None, b"b"]
    assert "set header 'length' to int" in failure.error.message
    assert set(changed) == {1}


def test_converter_sees_the_headers_of_the_records_it_reads(place: Place) -> None:
    """By position, independent of row numbers."""
    load(place, value_converter="Heading")
    data = pa.array([b"a", b"b"], pa.binary())
    headers = raw_column([[], [("length", b"9"), ("none", None)]])
    runs, failures = deserialized(place, "value.converter", data, np.array([7, 8]), headers)
    assert ([run.column.to_pylist() for run in runs], failures) == ([["a ", "b length=b'9' none=None"]], [])


def test_converter_that_returns_too_few_values_loses_no_record(place: Place) -> None:
    """A column that is too short is not used; the values are converted one by one (invariant 3)."""
    load(place, value_converter="Short")
    rows = np.arange(2)
    data, failures, _ = serialized(place, pa.array(["a", "b"]), rows)
    assert (data.to_pylist(), failures) == ([b"a", b"b"], [])
    runs, failures = deserialized(place, "value.converter", pa.array([b"a", b"b"], pa.binary()), rows)
    assert ([cell for run in runs for cell in run.column.to_pylist()], failures) == (["a", "b"], [])


def test_headers_are_written_and_read(place: Place) -> None:
    """Headers keep their order, repeated keys and null values; a row with a failed header has none and is reported."""
    load(place, header_converter="TextHeader")
    text = OPTIONAL_STRING_SCHEMA
    good = Headers([Header("k", text, "v"), Header("k", text, None)])
    bad = Headers([Header("k", text, "bad")])
    written = place.do(SerializeHeaders("t", batch("a", "b", "c", headers=[good, bad, Headers()])))
    assert raw_rows(written.column) == [[("k", b"v"), ("k", None)], [], []]
    assert facts(written.failures) == [(1, "HEADER_CONVERTER", "sample.TextHeader", BAD)]


def test_raw_headers_become_a_column(place: Place) -> None:
    """Rows without headers stay without; failures have the row."""
    load(place, header_converter="TextHeader")
    raw = raw_column([[("k", b"v"), ("k", None)], [], [("k", b"bad")]])
    answer = place.do(DeserializeHeaders("t", raw))
    read = [[(each["key"], each["value"]) for each in row] for row in answer.column.to_pylist()]
    assert read == [[("k", "v"), ("k", None)], [], []]
    assert [each.row for each in answer.failures] == [2]


def test_a_plugin_that_cannot_be_loaded_is_named(place: Place) -> None:
    """An unknown name raises an error with the name."""
    with pytest.raises(Exception, match="no attribute 'Nothing'"):
        load(place, transforms_x="Nothing")

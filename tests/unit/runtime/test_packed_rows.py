"""Records that stay together are sent as each kind of them would be by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.kafka.outgoing import apart
from hearth.runtime.pipeline import Pipeline, Prepared
from hearth.staging.place import LocalPlace, Place, loading
from hearth.staging.plugin_plan import PluginSpec
from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    SchemaBuilder,
    SourceRecord,
    Struct,
    Type,
)
from hearth_api.batch import PackedRecords, packed_by_kind, records_by_kind
from hearth_api.layout import RowTexts
from hearth_execution.retry import NO_RETRY
from tests.unit.runtime.sample import plugin, task_plan
from tests.unit.runtime.test_pipeline import SAMPLES, failed, whole

pytestmark = pytest.mark.skipif(RowTexts is None, reason="nothing was compiled")

STRING = "hearth_converters:StringConverter"
JSON = "hearth_json:JsonConverter"
NESTED = SchemaBuilder.struct().field("s", OPTIONAL_STRING_SCHEMA).optional().build()
STRUCT = SchemaBuilder.struct().name("a").field("n", INT64_SCHEMA).field("in", NESTED).optional().build()
BYTES = SchemaBuilder.struct().name("c").field("y", Schema(Type.BYTES)).build()
TEXTS = st.none() | st.text("ab\u00fc\U0001f600", max_size=3)


@st.composite
def structs(draw: st.DrawFn) -> Struct | None:
    """Return structs, some of which lack what they must have."""
    number, text = draw(st.none() | st.integers(-(1 << 63), (1 << 63) - 1)), draw(st.none() | TEXTS)
    inner = draw(st.sampled_from([None, Struct.unchecked(NESTED, [text])]))
    return draw(st.sampled_from([None, *[Struct.unchecked(STRUCT, [number, inner])] * 5]))


VALUES: list[st.SearchStrategy[tuple[Schema | None, Any]]] = [
    st.tuples(st.just(STRUCT), structs()),
    st.tuples(st.just(STRUCT), structs()),
    st.tuples(st.just(STRING_SCHEMA), TEXTS),
    st.just((None, None)),
    st.tuples(st.just(BYTES), st.just(Struct(BYTES, y=b"x"))),
]


@st.composite
def polls(draw: st.DrawFn) -> list[SourceRecord]:
    """Return records of several kinds, with and without keys, in turn."""
    kinds = VALUES[: draw(st.integers(1, len(VALUES)))]
    records = []
    for place in range(draw(st.integers(0, 9))):
        schema, value = draw(st.one_of(kinds))
        key_schema, key = draw(st.sampled_from([(None, None), (OPTIONAL_STRING_SCHEMA, None), (STRING_SCHEMA, "k")]))
        times = st.sampled_from([None, None, None, 0, 7, -5])
        partition = {"p": draw(st.integers(0, 1))}
        records.append(
            SourceRecord(
                partition, {"at": place}, draw(st.sampled_from("tuv")), draw(st.none() | st.integers(0, 2)),
                key_schema, key, schema, value, draw(times),
            )
        )  # fmt: skip
    return records


def pipeline(value: str, key: str = STRING, config: dict[str, str] | None = None) -> Pipeline:
    """Return a pipeline of these converters, in the runtime."""
    plan = task_plan("source")
    found: list[PluginSpec] = []
    for each in plan.plugins:
        reference = {"value.converter": value, "key.converter": key}.get(each.role)
        own = {} if config is None or each.role != "value.converter" else config
        found.append(each if reference is None else replace(each, reference=reference, config=own))
    plan = replace(plan, plugins=tuple(found))
    place = LocalPlace("source", NO_RETRY)
    place.do(loading(plan, None))
    places: dict[str | None, Place] = {None: place}
    return Pipeline(plan, places, plan.transformations)


def described(prepared: Prepared) -> Any:
    """Return what is sent, by its number, in which order for each topic, what failed and where it all ends."""
    prepared.outgoing = [*apart(prepared.outgoing)]
    order = {
        topic: [row for outgoing, own in prepared.outgoing if outgoing.topic == topic for row in own.tolist()]
        for topic in [outgoing.topic for outgoing, _ in prepared.outgoing]
    }
    end = None if prepared.end is None else (prepared.end.row, prepared.end.error.message)
    return sorted(whole(prepared)), order, sorted(failed(prepared.failures)), end


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))


CONVERTERS = [(JSON, {}), (JSON, {"schemas.enable": "false"}), (STRING, {}), ("sample_plugins:TextBatch", {})]


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(polls(), st.sampled_from(CONVERTERS), st.sampled_from([STRING, JSON]))
def test_packed_records_are_sent_as_batches_are(
    records: list[SourceRecord], value: tuple[str, dict[str, str]], key: str
) -> None:
    """Bytes, order, failures and what ends a task, also where only columns will do."""
    packed = packed_by_kind(records)
    made = pipeline(value[0], key, value[1])
    assert described(made.preparing(packed)()) == described(made.preparing(records_by_kind(records))())


def record(topic: str, schema: Schema | None, value: Any) -> SourceRecord:
    """Return a record."""
    return SourceRecord({"p": 0}, {"at": 0}, topic, value_schema=schema, value=value)


def test_packed_records_are_written_without_batches() -> None:
    """Batches are made only for those that need columns."""
    good = [record("t", STRING_SCHEMA, "a"), record("u", STRUCT, Struct(STRUCT, n=1)), record("t", None, None)]
    made = pipeline(JSON)
    assert made.takes_packed
    for records, is_unpacked in ((good, False), ([*good, record("t", BYTES, Struct(BYTES, y=b"x"))], True)):
        packed = packed_by_kind(records)
        assert isinstance(packed, PackedRecords)
        prepared = made.preparing(packed)()
        assert ("batches" in vars(packed)) == is_unpacked
        assert {outgoing.topic for outgoing, _ in apart(prepared.outgoing)} == {"t", "u"}


def test_a_kind_without_records_adds_no_topic() -> None:
    """Another process may list any kinds."""
    packed = packed_by_kind([record(topic, STRING_SCHEMA, "a") for topic in "tu"])
    assert isinstance(packed, PackedRecords)
    kinds, rows = packed.to_batches()
    packed = PackedRecords.of_batches(kinds, rows.take(pa.array([1])))
    ((outgoing, numbers),) = pipeline(JSON).preparing(packed)().outgoing
    assert (outgoing.by_topic, numbers.tolist()) == ([("u", 0, 1)], [0])
    assert [batch.topic for batch in packed] == ["u"]


def test_pipelines_that_need_columns_refuse_packed_records() -> None:
    """Converters of records or of another process, and any transformation."""
    assert not pipeline("sample_plugins:TextBatch").takes_packed
    assert not pipeline(JSON, "sample_plugins:Text").takes_packed
    transformed = task_plan("source", plugin("transforms.upper", "UpperBatch"))
    place = LocalPlace("source", NO_RETRY)
    place.do(loading(transformed, None))
    assert not Pipeline(transformed, {None: place}, transformed.transformations).takes_packed


def test_a_row_of_another_schema_is_an_error() -> None:
    """It is found during the write, and no row after it is read."""
    packed = packed_by_kind([record("t", STRING_SCHEMA, "a"), record("u", STRUCT, Struct(STRUCT, n=1))])
    assert isinstance(packed, PackedRecords)
    kinds, rows = packed.to_batches()
    for wrong in (b"", b"\xff\xff\xff\xff", b"\x01\0\0\0\xff", b"\x01\0\0\0ab"):
        changed = rows.with_columns(value=pa.array([wrong, rows.column("value")[1].as_py()], pa.binary()))
        with pytest.raises(ValueError, match=r"not a packed row|utf-8"):
            pipeline(JSON).preparing(PackedRecords.of_batches(kinds, changed))()

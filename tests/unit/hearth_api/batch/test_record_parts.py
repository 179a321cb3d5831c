"""Records of a poll are split into kinds as their batches are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hearth_api import INT64_SCHEMA, STRING_SCHEMA, Schema, SchemaBuilder, SinkRecord, SourceRecord
from hearth_api.batch.record_parts import FEW, kinds_of

PARTITIONS = st.one_of(
    st.none(),
    st.sampled_from([{"p": value} for value in ("1", 1, 1.0, True, None, [1], [True])]),
    st.builds(lambda number: {"file": f"f{number}", "q": "r"}, st.integers(0, 3 * FEW)),
    st.builds(lambda number: {"p": number}, st.integers(0, 3 * FEW)),
)
SCHEMAS = st.sampled_from(
    [
        lambda: None,
        lambda: STRING_SCHEMA,
        lambda: INT64_SCHEMA,
        lambda: SchemaBuilder.struct().name("s").field("a", STRING_SCHEMA).build(),
        lambda: SchemaBuilder.struct().name("t").field("a", STRING_SCHEMA).build(),
    ]
)


def of(
    topic: str, schema: Callable[[], Schema | None], key: Callable[[], Schema | None], partition: Any
) -> SourceRecord:
    """Return a record with objects of its own."""
    return SourceRecord(partition and dict(partition), None, "".join(topic), None, key(), None, schema(), None)


@given(st.lists(st.builds(of, st.sampled_from("tu"), SCHEMAS, SCHEMAS, PARTITIONS), min_size=1, max_size=80))
def test_kinds_are_topic_schemas_and_partition(records: list[SourceRecord]) -> None:
    """Equal schemas are one kind, whatever object they are; partitions are if their JSON is equal."""
    found = kinds_of(records)
    assert found is not None
    codes, firsts = found
    kinds = [(each.topic, each.value_schema, each.key_schema, repr(each.source_partition)) for each in records]
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    assert codes == [numbers[kind] for kind in kinds]
    assert [id(each) for each in firsts] == [id(records[codes.index(number)]) for number in range(len(numbers))]


def test_records_of_another_class_have_no_kinds() -> None:
    """Nor do records of a plugin's own class, which may have attributes that are no plain ones."""

    class Own(SourceRecord):
        pass

    record = SourceRecord(None, None, "t")
    for other in (SinkRecord("t", 0, None, None, None, None, 0), Own(None, None, "t")):
        assert kinds_of([record, other]) is None

"""Headers of records become a column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Header,
    Headers,
)
from hearth_api.batch import (
    Batch,
    column_to_headers,
    header_columns,
    header_text,
    header_texts,
    header_values,
    headers_to_column,
    records_to_batches,
)
from hearth_api.schema import deep_key
from tests.unit.hearth_api.batch.test_batch_record import headers, source_records
from tests.unit.hearth_api.strategy import SCHEMALESS, schemas, values


@given(st.lists(st.lists(headers(), max_size=3), max_size=4), st.data())
def test_headers_of_any_rows_come_back(rows: list[list[Header]], data: st.DataObject) -> None:
    """Names, schemas and values, in order, of all rows or of a slice."""
    column = headers_to_column([Headers(own) if own else None for own in rows])
    start = data.draw(st.integers(0, len(rows)))
    found = column_to_headers(column.slice(start))
    wanted = [[(each.key, each.schema, deep_key(each.value)) for each in own] for own in rows[start:]]
    assert [[(each.key, each.schema, deep_key(each.value)) for each in own or ()] for own in found] == wanted
    assert [own is None for own in found] == [not own for own in rows[start:]]


@given(st.data())
def test_values_of_one_schema_are_written_and_read_as_each_by_itself(data: st.DataObject) -> None:
    """With or without nulls."""
    schema = data.draw(st.none() | schemas(1))
    own = SCHEMALESS if schema is None else values(schema)
    drawn = data.draw(st.lists(own, max_size=4) | st.lists(st.none() | own, max_size=4))
    texts = header_texts(schema, drawn)
    assert texts.to_pylist() == [header_text(schema, value) for value in drawn]
    single = [header_values(schema, texts.slice(place, 1))[0] for place in range(len(drawn))]
    assert deep_key(header_values(schema, texts)) == deep_key(single) == deep_key(drawn)


@given(st.lists(headers(), max_size=6))
def test_columns_of_schemas_and_values_are_those_of_the_headers(own: list[Header]) -> None:
    """For one schema or several, the same object or an equal one."""
    found = header_columns([each.schema for each in own], [each.value for each in own])
    entries = headers_to_column([Headers([each]) for each in own]).flatten()
    assert [*found] == [entries.field("schema"), entries.field("value")]


def test_texts_are_stored_unchanged_and_other_values_as_json() -> None:
    """A text needs no conversion, whatever its schema is called."""
    named = OPTIONAL_STRING_SCHEMA
    own = Headers().add_string("a", 'say "x"').add("b", named, None).add_int("c", 5).add("d", None, "x")
    (row,) = headers_to_column([own]).to_pylist()
    assert [each["value"] for each in row] == ['say "x"', None, "5", '"x"']


@pytest.mark.parametrize("looks", [0, 1, 5])
def test_similar_rows_are_written_like_different_ones(looks: int) -> None:
    """Whether some of them were read or not, and if each position has its own schema."""
    own = [Headers().add_string("t", f"{row}").add_int("n", row).add("o", OPTIONAL_STRING_SCHEMA) for row in range(5)]
    for each in own[:looks]:
        assert [header.key for header in each] == ["t", "n", "o"]
    alike = headers_to_column(own)
    assert alike.equals(headers_to_column([*own, Headers().add_string("x", "y")]).slice(0, 5))
    assert [[*each] for each in column_to_headers(alike) if each] == [[*each] for each in own]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_rows_that_have_the_same_names_differ_in_their_values(count: int) -> None:
    """As in most topics; their common columns are cached for batches of similar size."""
    for names in ("ab", "ba", "aa", "a", ""):
        rows = [Headers([Header(name, STRING_SCHEMA, f"{name}{row}") for name in names]) for row in range(count)]
        column = headers_to_column(rows)
        found = [[(each["key"], each["value"]) for each in row] for row in column.to_pylist()]
        assert found == [[(name, f"{name}{row}") for name in names] for row in range(count)]


def test_a_value_that_does_not_fit_its_schema_fails() -> None:
    """A header may hold any value; a column only what its schema allows."""
    for schema, value in ((STRING_SCHEMA, 5), (INT64_SCHEMA, "5"), (STRING_SCHEMA, "\ud800")):
        for others in ([], [Header("b", INT64_SCHEMA, 1)]):
            with pytest.raises(DataError):
                headers_to_column([Headers([Header("a", schema, value), *others])])


@given(source_records())
def test_headers_column_survives_serialization(records: list) -> None:  # type: ignore[type-arg]
    """With the batch it belongs to."""
    for batch in records_to_batches(records):
        column = Batch.from_arrow(batch.to_arrow()).column("headers")
        assert (column is None) == (batch.column("headers") is None)

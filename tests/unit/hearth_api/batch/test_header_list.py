"""Headers of records become a column and back."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Header,
    Headers,
    Schema,
    Timestamp,
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
    value_from_json,
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


@pytest.mark.parametrize("text", ["1,2", "", "[1]", "+1", "01", "1.", "nan", "1_0", " 1 ", "x", "1.5", "1e3"])
@pytest.mark.parametrize("schema", [FLOAT64_SCHEMA, BOOLEAN_SCHEMA, Timestamp.SCHEMA, Date.SCHEMA])
def test_text_that_is_not_a_number_is_refused_among_others(schema: Schema, text: str) -> None:
    """Texts joined for parsing do not become valid or change each other."""
    refusals: list[str] = []
    read: list[Any] = []
    for texts in (None, [text], ["1", text]):
        try:
            read.append(value_from_json(schema, text) if texts is None else header_values(schema, pa.array(texts))[-1])
        except (ValueError, TypeError, IndexError) as error:
            refusals.append(f"{type(error)} {error}")
    assert len(read) + len(refusals) == 3
    assert len({*map(str, read), *refusals}) == 1


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


def test_mutable_values_are_not_shared() -> None:
    """Equal values of two records are distinct objects."""
    own = Headers().add("m", None, {"a": [1]})
    first, second = column_to_headers(headers_to_column([own, own]))
    assert first is not None
    first.last_with_name("m").value["a"].append(2)  # type: ignore[union-attr]
    assert (second, first == own) == (own, False)


def test_equal_headers_are_shared_but_headers_objects_are_not() -> None:
    """A header is immutable; changing the headers of one record does not affect another's."""
    column = headers_to_column([Headers().add_string("n", str(row)).add_string("origin", "here") for row in range(3)])
    first, second, third = (own or Headers() for own in column_to_headers(column))
    assert first.last_with_name("origin") is third.last_with_name("origin")
    first.remove("origin")
    second.add_string("origin", "there")
    assert [[each.value for each in own] for own in (first, second, third)] == [
        ["0"],
        ["1", "here", "there"],
        ["2", "here"],
    ]


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


def test_headers_of_a_batch_are_headers_like_others() -> None:
    """They can be changed, copied and compared independently."""
    column = headers_to_column([Headers().add_string("a", "x"), Headers().add_string("b", "y")])
    wanted = Headers().add_string("b", "y")
    for copied in (copy.copy, copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own)), Headers.duplicate):
        own = column_to_headers(column)[1]
        assert own is not None
        assert copied(own) == wanted
        assert own == wanted
    first, own = column_to_headers(column)
    assert own is not None
    own.add_int("n", 5)
    assert [each.key for each in own] == ["b", "n"]
    assert first == Headers().add_string("a", "x")


def test_record_does_not_keep_its_batch_alive() -> None:
    """A sink may keep one record of each put indefinitely."""
    other = "x" * 100
    own, _ = column_to_headers(
        headers_to_column([Headers().add_string("a", "kept"), Headers().add_string("a", other)])
    )
    held = gc.get_referents(own)
    seen = {id(each) for each in held}
    for each in held:
        inside = [
            one for one in gc.get_referents(each) if isinstance(one, (list, Header, str)) and id(one) not in seen
        ]
        seen.update(map(id, inside))
        held += inside
    assert "kept" in held
    assert other not in held


@given(source_records())
def test_headers_column_survives_serialization(records: list) -> None:  # type: ignore[type-arg]
    """With the batch it belongs to."""
    for batch in records_to_batches(records):
        column = Batch.from_arrow(batch.to_arrow()).column("headers")
        assert (column is None) == (batch.column("headers") is None)

"""Values are serialized as JSON and back, unchanged."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import INT32_SCHEMA, DataError, Decimal, Schema, SchemaBuilder, Struct, Timestamp
from hearth_api.batch import plain_from_json, plain_to_json, value_from_json, value_to_json
from hearth_api.batch.wire import plain_texts, plain_values, strict_json
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import SCHEMALESS, schemas, values


def same(first: Any, other: Any) -> bool:
    """Compare deeply, with NaN equal to itself and types distinguished."""
    return deep_key(first) == deep_key(other) and type(first) is type(other)


@given(SCHEMALESS)
def test_schemaless_values_come_back(value: Any) -> None:
    """Every Python value that a record may hold survives, and the text is strict JSON."""
    text = plain_to_json(value)
    json.loads(text, parse_constant=pytest.fail)
    assert same(plain_from_json(text), value)


@given(st.data())
def test_values_with_schema_come_back(data: st.DataObject) -> None:
    """The physical form and the schema together determine the value."""
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    assert same(value_from_json(schema, value_to_json(schema, value)), value)


@pytest.mark.parametrize("schema", [None, SchemaBuilder.map(SchemaBuilder.array(INT32_SCHEMA), INT32_SCHEMA).build()])
def test_arrays_may_be_keys(schema: Schema | None) -> None:
    """They become tuples, at any depth, as in a header parsed from the text ``{[1]:2}``."""
    value = {(1, 2): 3, (): 4} if schema else {(1, (2, "a")): 3}
    assert same(value_from_json(schema, value_to_json(schema, value)), value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, "é", None]}, '{"a":[1,"é",null]}'),
        (b"\x00", '{"@bytes":"AA=="}'),
        (decimal.Decimal("1.50"), '{"@decimal":"1.50"}'),
        (dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc), '{"@timestamp":1000}'),
        (dt.date(1970, 1, 2), '{"@date":1}'),
        (dt.time(0, 0, 1), '{"@time":1000}'),
        (float("-inf"), '{"@float":"-Infinity"}'),
        ({1: 2}, '{"@map":[[1,2]]}'),
        ({None: 1}, '{"@map":[[null,1]]}'),
        ({"a": -(2**70)}, '{"a":-1180591620717411303424}'),
        ({"@bytes": "x"}, '{"@map":[["@bytes","x"]]}'),
        ({"@a": 1, "b": 2}, '{"@a":1,"b":2}'),
    ],
)
def test_values_json_lacks_are_tagged(value: Any, text: str) -> None:
    """These texts are exchanged between releases of host and bundles, so they are stable."""
    assert plain_to_json(value) == text
    assert same(plain_from_json(text), value)


@pytest.mark.parametrize("text", ["NaN", '[{"a":-Infinity}]', '{"@map":[["a",Infinity]]}'])
def test_invalid_json_is_refused(text: str) -> None:
    """Python's parser would accept it; other languages do not write it, and only `@float` may hold it."""
    with pytest.raises(DataError, match=r"(NaN|Infinity) is no JSON"):
        plain_from_json(text)


def test_struct_without_schema_uses_its_own() -> None:
    """A struct without a given schema is tagged with its own."""
    struct = Struct(SchemaBuilder.struct().field("a", INT32_SCHEMA).build()).put("a", 1)
    schema = '{"type":"struct","fields":[{"type":"int32","optional":false,"field":"a"}],"optional":false}'
    assert plain_to_json(struct) == json.dumps({"@struct": [schema, {"a": 1}]}, separators=(",", ":"))


def test_physical_forms_are_numbers_and_bytes() -> None:
    """With a schema, timestamps are numbers, decimals bytes and structs objects."""
    schema = SchemaBuilder.struct().field("t", Timestamp.SCHEMA).field("d", Decimal.schema(1)).build()
    struct = Struct(schema).put("t", dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)).put("d", decimal.Decimal("1.5"))
    assert value_to_json(schema, struct) == '{"t":0,"d":{"@bytes":"Dw=="}}'


def test_unknown_tag_is_refused() -> None:
    """A tag of a later release must not be read as data."""
    with pytest.raises(DataError, match="unknown kind of value in JSON: '@new'"):
        plain_from_json('{"@new":1}')


def test_foreign_objects_are_refused() -> None:
    """Only values of the record API can be serialized."""
    with pytest.raises(DataError, match="class object does not have corresponding schema type"):
        plain_to_json([object()])


def test_subclasses_travel_as_their_base() -> None:
    """A tuple becomes a list and a named integer a number."""
    assert plain_to_json((1, type("Port", (int,), {})(2))) == "[1,2]"


@pytest.mark.parametrize("value", [1.5, "x", Struct(SchemaBuilder.struct().build())])
def test_values_that_do_not_fit_are_refused(value: Any) -> None:
    """A value that does not fit its schema raises before it is sent."""
    with pytest.raises(DataError):
        value_to_json(SchemaBuilder.struct().field("a", INT32_SCHEMA).build(), value)


@given(st.lists(SCHEMALESS | st.sampled_from([",NaN,", "NaN", ["a,NaN,b"], {"a": float("nan")}]), max_size=4))
def test_texts_written_together_equal_single_ones(own: list[Any]) -> None:
    """Even if a value contains the separator."""
    assert plain_texts(own) == [plain_to_json(value) for value in own]


TEXTS = st.sampled_from(
    [
        "1",
        '"a"',
        "[1,NaN,2]",
        "[1",
        "2]",
        '{"@date":1}',
        '{"a":"@b"}',
        '"\\n"',
        " 1 ",
        "NaN",
        '"',
        "1,2",
        "x",
        '"NaN"',
        "",
    ]
)


@given(st.lists(SCHEMALESS.map(plain_to_json), max_size=4) | st.lists(TEXTS, max_size=4))
def test_texts_read_together_equal_single_ones(texts: list[str]) -> None:
    """Including invalid JSON, alone or with others."""
    try:
        wanted = [plain_from_json(text) for text in texts]
    except (ValueError, IndexError, DataError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            plain_values(texts)
    else:
        assert deep_key(plain_values(texts)) == deep_key(wanted)


@pytest.mark.parametrize("text", [" 1 ", '\n{"a": [1, 2]}\t', "1", "1 2", "", " ", "[1,", "x", "1]"])
def test_blanks_around_json_are_accepted(text: str) -> None:
    """Invalid JSON is refused with the message of Python's decoder."""
    try:
        wanted = json.loads(text)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            strict_json(text)
    else:
        assert strict_json(text) == wanted

"""Headers keep their order, and names may repeat."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hearth_api import (
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Header,
    Headers,
    SchemaBuilder,
    Struct,
)


def keys(headers: Headers) -> list[str]:
    """Return the names in order."""
    return [header.key for header in headers]


@pytest.fixture
def headers() -> Headers:
    """Provide three headers, two of one name."""
    return Headers().add_string("a", "1").add_int("b", 2).add_string("a", "3")


def test_names_may_repeat(headers: Headers) -> None:
    """The newest header of a name is found first, all of them in order."""
    last = headers.last_with_name("a")
    assert last == Header("a", STRING_SCHEMA, "3")
    assert [header.value for header in headers.all_with_name("a")] == ["1", "3"]
    assert headers.last_with_name("x") is None
    assert len(headers) == 3


def test_remove_drops_all_headers_of_a_name(headers: Headers) -> None:
    """Headers of other names remain."""
    assert keys(headers.remove("a")) == ["b"]
    assert not headers.clear()


def test_retain_latest_keeps_one_per_name(headers: Headers) -> None:
    """Only the newest header of every name, or of the given one, remains in its place."""
    assert keys(headers.duplicate().retain_latest()) == ["b", "a"]
    assert keys(headers.duplicate().retain_latest("b")) == ["a", "b", "a"]
    assert keys(headers.retain_latest("a")) == ["b", "a"]


def test_apply_replaces_or_removes(headers: Headers) -> None:
    """The function receives every header of a name and may drop it."""
    headers.apply(lambda header: header.rename("c") if header.value == "1" else None, "a")
    assert keys(headers) == ["c", "b"]


def test_duplicate_is_independent(headers: Headers) -> None:
    """Changing a copy leaves the original alone."""
    copy = headers.duplicate().add_boolean("c", True)
    assert len(headers) == 3
    assert headers != copy


@pytest.mark.parametrize("value", ["x", None, 1 << 31])
def test_value_must_fit_its_schema(value: Any) -> None:
    """A header of the wrong type is refused when it is added."""
    with pytest.raises(DataError):
        Headers().add("a", INT32_SCHEMA, value)


def test_schemaless_values_are_unchecked() -> None:
    """Without a schema nothing is checked."""
    assert Headers().add("a", None, object).last_with_name("a") is not None


def test_shortcuts_set_the_schema() -> None:
    """The short methods set the schema."""
    headers = Headers().add_int("i", 1).add_float("f", 1.5).add_bytes("b", b"x")
    assert [header.schema for header in headers][:2] == [INT64_SCHEMA, FLOAT64_SCHEMA]


def test_struct_without_schema_uses_its_own() -> None:
    """The header's schema is the struct's."""
    schema = SchemaBuilder.struct().build()
    assert Header("a", None, Struct(schema)).schema == schema


def test_name_is_required() -> None:
    """A header without name cannot be written to Kafka."""
    missing: Any = None
    with pytest.raises(DataError, match="Null header keys"):
        Header(missing)


def test_equal_headers_have_equal_hashes(headers: Headers) -> None:
    """Headers can be kept in sets and compared."""
    assert headers == headers.duplicate()
    assert hash(headers) == hash(headers.duplicate())
    assert Header("a", None, 1).with_value(None, 2) == Header("a", None, 2)


def _changed(act: str, name: str, number: int, own: Headers, model: list[Header]) -> list[Header]:
    """Apply an act to headers and to the model list, and return the list."""
    if act == "add_string":
        own.add_string(name, str(number))
        return [*model, Header(name, STRING_SCHEMA, str(number))]
    if act == "add_int":
        own.add_int(name, number)
        return [*model, Header(name, INT64_SCHEMA, number)]
    if act == "add":
        own.add(Header(name, None, number))
        return [*model, Header(name, None, number)]
    if act == "remove":
        own.remove(name)
        return [each for each in model if each.key != name]
    if act == "apply":
        own.apply(lambda each: each.rename("c"), name)
        return [each.rename("c") if each.key == name else each for each in model]
    if act == "clear":
        own.clear()
        return []
    assert [*own] == model
    return model


def test_headers_behave_like_a_list_whenever_read() -> None:
    """Compared with a list, for any acts in any order, with reads in between and independent copies."""
    chance = random.Random(10)
    acts = ["add_string", "add_string", "add_string", "add_int", "add", "remove", "apply", "clear", "look", "look"]
    for _ in range(300):
        copies: list[tuple[Headers, list[Header]]] = [(Headers(), [])]
        for number in range(chance.randrange(15)):
            place = chance.randrange(len(copies))
            own, model = copies[place]
            if chance.random() < 0.2:
                copies.append((own.duplicate(), model))
            copies[place] = own, _changed(chance.choice(acts), chance.choice("ab"), number, own, model)
        assert [len(own) for own, _ in copies] == [len(model) for _, model in copies]
        assert [[*own] for own, _ in copies] == [model for _, model in copies]
        assert [repr(own) for own, _ in copies] == [f"ConnectHeaders(headers={model or ''})" for _, model in copies]


def test_headers_are_read_by_name(headers: Headers) -> None:
    """The value of the newest header of a name, whether read before or not; an unknown name is a KeyError."""
    names = {header.key for header in headers}
    for name in names:
        assert name in headers
        assert headers[name] == headers.get(name) == headers.all_with_name(name)[-1].value
    assert all(header in headers for header in headers)
    assert headers.get("nobody") is None
    assert headers.get("nobody", 5) == 5
    for absent in ("nobody", Header("nobody"), None, 0):
        assert absent not in headers
    with pytest.raises(KeyError, match="the record has no header 'nobody', it has"):
        headers["nobody"]
    with pytest.raises(DataError, match="it has none"):
        Headers()["nobody"]


def test_header_with_null_value_is_found() -> None:
    """Its value is None, which a default does not replace."""
    headers = Headers().add("a", None, None)
    assert "a" in headers
    assert headers["a"] is headers.get("a", 5) is None

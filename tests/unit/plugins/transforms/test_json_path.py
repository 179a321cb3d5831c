"""Paths and conditions lead where JsonPath for Java goes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from hearth_api import FLOAT64_SCHEMA, STRING_SCHEMA, SchemaBuilder, Struct, Timestamp
from hearth_transforms.json_path import JsonPath

BOOKS = {
    "book": [
        {"title": "War and Peace", "author": "Tolstoy", "price": 8.95, "tags": ["long", "war"]},
        {"title": "The Idiot", "author": "Dostoevsky", "price": 12, "isbn": None},
        {"title": "Nothing", "price": "12", "tags": []},
    ],
    "shop": {"name": "corner", "open": True, "a.b": 1, "it's": 2},
    "limit": 10,
    "nothing": None,
}


def titles(condition: str) -> list[Any] | None:
    """Return the titles of the books that fulfil a condition."""
    return JsonPath(f"$.book[?({condition})].title").find(BOOKS)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [BOOKS]),
        ("$.shop.name", ["corner"]),
        ("shop.name", ["corner"]),
        ("['shop'][\"name\"]", ["corner"]),
        ("$.['shop']['name']", ["corner"]),
        ("$.shop['a.b']", [1]),
        (r"$.shop['it\'s']", [2]),
        ("$.nothing", [None]),
        ("$.nothing.more", None),
        ("$.absent", None),
        ("$.shop.name.more", None),
        ("$.book[0].author", ["Tolstoy"]),
        ("$.book[-1].title", ["Nothing"]),
        ("$.book[3]", None),
        ("$.shop[0]", None),
        ("$.book[0,2,7].title", ["War and Peace", "Nothing"]),
        ("$.book[:2].author", ["Tolstoy", "Dostoevsky"]),
        ("$.book[1:].author", ["Dostoevsky"]),
        ("$.book[*].author", ["Tolstoy", "Dostoevsky"]),
        ("$.shop.*", ["corner", True, 1, 2]),
        ("$.shop[ * ]", ["corner", True, 1, 2]),
        ("$..author", ["Tolstoy", "Dostoevsky"]),
        ("$..absent", []),
        ("$['limit','nothing','absent']", [10, None]),
        # A condition is asked of an object itself; only of an array it is asked of each item.
        ("$[?(@.limit == 10)]", [BOOKS]),
        ("$.[?(@.limit == 11)]", []),
        ("$.shop[?(@.open == true)].name", ["corner"]),
        ("$.absent[?(@.a == 1)]", None),
        ("$.nothing[?(@.a == 1)]", None),
        ("$.book[5].more[?(@.a == 1)]", None),
        ("$..[?(@.name == 'corner')].open", [True]),
    ],
)
def test_a_path_finds_existing_values(path: str, found: list[Any] | None) -> None:
    """If a definite part is missing, the result is None."""
    assert JsonPath(path).find(BOOKS) == found


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("@.author == 'Tolstoy' || @.author == \"Dostoevsky\"", 2),
        ("@.author == 'Tolstoy' && @.price < 9", 1),
        ("@.author == 'a' || @.price == 12 && @.isbn == null", 1),
        ("(@.author == 'Tolstoy' || @.price == 12) && @.title =~ /.*i.*/i", 2),
        ("@.price == 12", 2),
        ("@.price === 12", 1),
        ("@.price !== 12", 2),
        ("@.price == 12.0", 1),
        ("12 == @.price", 2),
        ("@.price == 8.95", 1),
        ("@.price != 12", 1),
        ("@.price > 8", 2),
        ("@.price >= 12", 1),
        ("@.price <= '12'", 1),
        ("@.price < $.limit", 1),
        ("@.author != 'Tolstoy'", 2),
        ("@.author > 'E'", 1),
        ("@.isbn", 1),
        ("!@.isbn", 2),
        ("!(@.isbn || @.tags)", 0),
        ("@.isbn == null", 1),
        ("@.author in ['Tolstoy', 'x']", 1),
        ("@.author nin ['Tolstoy', 'x']", 2),
        ("'war' in @.tags", 1),
        ("@.tags contains 'war'", 1),
        ("@.title contains 'and'", 1),
        ("@.tags all ['war']", 1),
        ("@.tags subsetof ['war', 'long', 'x']", 2),
        ("@.tags anyof ['war', 'x']", 1),
        ("@.tags noneof ['war', 'x']", 2),
        ("@.tags size 2", 1),
        ("@.tags empty true", 1),
        ("@.tags empty false", 1),
        ("@.title =~ /War.*/", 1),
        ("@.title =~ /War/", 0),
        ("@.title =~ /the idiot/i", 1),
        ("@.price =~ /[0-9]+/", 2),
        ("@['author'] == 'Tolstoy'", 1),
    ],
)  # fmt: skip
def test_a_condition_chooses_items(condition: str, count: int) -> None:
    """Nothing that is missing equals anything, or is less or more than it."""
    found = titles(condition)
    assert found is not None
    assert len(found) == count


def test_structs_are_objects() -> None:
    """Moments count as the milliseconds they are, bytes as the base64 that JSON has of them."""
    inner = SchemaBuilder.struct().field("at", Timestamp.SCHEMA).field("name", STRING_SCHEMA).build()
    schema = SchemaBuilder.struct().field("in", inner).field("x", FLOAT64_SCHEMA).build()
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)
    struct = Struct(schema).put("in", Struct(inner).put("at", moment).put("name", "n")).put("x", float("nan"))
    assert JsonPath("$.in[?(@.at == 1000 && @.name == 'n')].name").find(struct) == ["n"]
    assert JsonPath("$.in.absent").find(struct) is None
    assert JsonPath("$..name").find(struct) == ["n"]
    assert JsonPath("$[?(@.x > 1 || @.x == 1)]").find(struct) == []
    assert JsonPath("$[?(@.d == 1.50 && @.b == 'AAE=')]").find({"d": Decimal("1.5"), "b": b"\x00\x01"})


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("$.", "a name is missing"),
        ("$[?(@.a ==)]", "a value is missing"),
        ("$[?(@.a == 'x')", "a ] is missing"),
        ("$[?@.a]", r"a \( is missing"),
        ("$[?(@.a == 'x']", r"a \) is missing"),
        ("$[?('x')]", "an operator is missing"),
        ("$[?(@.a like 'x')]", "'like' in .* is no operator"),
        ("$[?(@.a =~ 'x')]", "a /pattern/ is missing"),
        ("$[?(@.a =~ /(/)]", "Unclosed group"),
        ("$.a.length()", "the function 'length' .* is not supported"),
        ("$.a b", "is not a valid path from ' b' on"),
        ("$[a]", "is no name, index, slice or condition"),
    ],
)
def test_a_slip_is_named_with_its_place(path: str, reason: str) -> None:
    """Before any record comes."""
    with pytest.raises(ValueError, match=reason):
        JsonPath(path)

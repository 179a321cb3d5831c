"""Rewritten JSON has the same value, in Java's order and with its members moved."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.batch import plain_to_json
from hearth_api.java import hash_ordered, json_ordered
from hearth_api.layout import Moves, Rewriting, flattened, rewriting

NAMES = st.sampled_from(["a", "b", "c", "@", "é", "😀", "Aa", "BB", "a b", ""]) | st.text(max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(-1e9, 1e9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 0.5, -12.25, 1e-3, 0.1 + 0.2, 1e6, -1.5e-4])
    | st.text(max_size=4)
    | st.sampled_from(['"', "\\", "\n\t\b\f\r", "/", "ü", "\u2028", "\x7f"])
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=14), max_leaves=30
)
WAYS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r")])
is_compiled = pytest.mark.skipif(Rewriting()._rewriter is None, reason="not compiled")


def written(texts: list[bytes], moves: Moves | None = None) -> list[str | None]:
    """Return the rewritten texts, with None for those that are left out."""
    column, sure, broken = Rewriting(moves).written(pa.array([b"x", *texts], pa.binary()).slice(1))
    assert not (sure & broken).any()
    assert not any(is_json(text) for text, is_broken in zip(texts, broken.tolist()) if is_broken)
    column.validate(full=True)
    found = iter(column.to_pylist())
    return [next(found) if is_sure else None for is_sure in sure.tolist()]


def is_json(text: bytes) -> bool:
    """Return whether a text starts with a value, in any encoding."""
    found = text.decode(json.detect_encoding(text), "replace").lstrip(" \t\n\r")
    try:
        json.JSONDecoder().raw_decode(found)
    except ValueError:
        return not found
    return True


@given(st.lists(st.tuples(JSON, WAYS, st.booleans()), max_size=6))
def test_rewritten_text_is_the_value_in_hash_order(rows: list[tuple[Any, Any, bool]]) -> None:
    """Whatever is between values, and whatever other rows hold."""
    texts = [json.dumps(value, separators=marks, ensure_ascii=is_ascii) for value, marks, is_ascii in rows]
    found = written([text.encode("utf-8", "replace") for text in texts])
    for text, (value, _, _) in zip(found, rows):
        assert text is None or text == plain_to_json(json_ordered(copy.deepcopy(value)))


PIECES = [
    b'{"a":1', b',"b":"c"', b"}", b"{", b"[", b"]", b",", b":", b'"', b'"a"', b"1", b"0", b"-", b".", b"5", b"e3",
    b" ", b"\n", b"true", b"tru", b"null", b"nul", b"false", b"f", b"\\", b"\\n", b"\\u00e9", b"\\/", b"\xc3\xa9",
    b"\xff", b"\xed\xa0\x80", b"\x00", b"{}", b"[]", b'"@"', b'"x":', b"00", b"1.50", b"\xe2\x80",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join), max_size=5))
def test_invalid_json_is_skipped(texts: list[bytes]) -> None:
    """So is text that other readers would interpret differently."""
    for text, found in zip(texts, written(texts)):
        if found is not None:
            assert found == plain_to_json(json_ordered(json.loads(text.decode(), object_pairs_hook=of_pairs)))


@is_compiled
@pytest.mark.parametrize("length", [1, 7, 8, 9, 17])
def test_each_byte_of_a_string_counts(length: int) -> None:
    """Wherever it is: strings are read eight bytes at a time."""
    kept = bytes(range(0x20, 0x80)).replace(b'"', b"").replace(b"\\", b"")
    for place in range(length):
        own = [b'"' + b"a" * place + bytes([byte]) + b"a" * (length - place - 1) + b'"' for byte in range(256)]
        wanted = [text.decode() if text[place + 1] in kept else None for text in own]
        wanted[0x22], wanted[0x5C] = None, None
        assert written(own) == wanted


def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without repeated names."""
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def moved(value: dict[str, Any], moves: Moves) -> dict[str, Any]:
    """Move members one by one."""
    kept = {
        moves.names.get(name, name): item
        for name, item in value.items()
        if (moves.names[name] is not None if name in moves.names else moves.keeps_others)
    }
    copied, capacity = (len(value), None) if moves.is_copied else (None, len(value))
    return hash_ordered({**kept, **moves.added}, copied=copied, capacity=capacity)


MOVES = st.builds(
    Moves,
    st.dictionaries(NAMES, st.none() | NAMES | st.text(min_size=20, max_size=30), max_size=4),
    st.booleans(),
    st.dictionaries(NAMES, SCALARS, max_size=2),
    st.booleans(),
)


@given(st.lists(JSON, max_size=6), MOVES)
def test_members_are_moved(values: list[Any], moves: Moves) -> None:
    """Nested maps are unchanged."""
    found = written([plain_to_json(value).encode() for value in values], moves)
    for text, value in zip(found, values):
        assert text is None or text == plain_to_json(moved(value, moves))


USUAL = [
    '{"id":1,"name":"x y","city":"Zürich","price":12.5,"active":true,"note":null}',
    '{"list":[1,[],{}],"map":{"k":{"l":"\\n"}}}', "{}", "[]", "null", '"😀"', "-1.25", "0", "0.001",
    "123456789012345.5", "0.30000000000000004", "[1,2]", '{"@a":1,"b":2}', "[1e5,1E5,-1.5e-7,1e+16,2.50e1]",
    "0.00001", "12345678901234567.5", "0.1000000000000000055", "1.5E3", "123e-20", "1e99",
    "1234567890123456789", "9223372036854775807", "-9223372036854775808",
]  # fmt: skip
UNUSUAL = [
    "-0", "-0.0", "-0e0", "-0.00000", "9223372036854775808", "1e400", "1e100", "1e-123", "1e", "1e+", "1.e5", "01.5",
    "-9223372036854775809", "12345678901234567890", f"0.{'1' * 100}",
    '{"a":1,"a":2}', '{"@a":1}', '"\\ud83d"', '"\\ud83d\\u0041"', '"\\udc00"', '"\\u12"', '"\\u12g4"', '"\\x"',
    '{"\\n":1}', "1 2", "", "01", "1.", ".5", "+1", "[1,]",
    '{"a":1,}', "nul", "truex", '{"a"}', "{,}", "'a'", "\ufeff1", "[" * 65 + "]" * 65, '"\x1f"',
]  # fmt: skip


@is_compiled
def test_common_texts_are_written() -> None:
    """Unusual texts are not, alone or with others."""
    assert written([text.encode() for text in USUAL + UNUSUAL]) == [
        *(plain_to_json(json_ordered(json.loads(text))) for text in USUAL),
        *[None] * len(UNUSUAL),
    ]
    assert written([text.encode() for text in UNUSUAL]) == [None] * len(UNUSUAL)
    assert written([b" [ 1.50 , 100.000 , -2.0 ]\n", b"[" * 64 + b"]" * 64]) == [
        "[1.5,100.0,-2.0]",
        "[" * 64 + "]" * 64,
    ]
    assert written([b'"\xff"', b"1", '"é"'.encode()]) == [None, "1", None]


@is_compiled
def test_escapes_are_those_that_python_writes() -> None:
    """Whether a character is escaped by its code, by a letter, or needlessly."""
    codes = [*range(0x300), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF]
    texts = [f'"a\\u{code:04x}\\u{code:04X}b"' for code in codes]
    pairs = [f'"\\u{code >> 10 | 0xD800:04x}\\u{code & 0x3FF | 0xDC00:04x}"' for code in (0, 0xF600, 0xFFFFF)]
    texts += [*pairs, r'"\/\/a\"\\\u002f\n"', r'["\/",{"a":"\u00e4"}]']
    assert written([text.encode() for text in texts]) == [plain_to_json(json.loads(text)) for text in texts]


@is_compiled
@pytest.mark.parametrize("count", [2, 12, 13, 16, 17, 24, 25, 200, 255])
def test_objects_have_many_members(count: int) -> None:
    """The table is as large as Java's, and names may share a bucket or a hash."""
    names = [f"{pair}{number}" for number in range(count // 2) for pair in ("Aa", "BB")] + ["z"] * (count % 2)
    value = dict.fromkeys(names, 1)
    moves = Moves({"Aa0": "new"}, added={"more": [1, {"x": "y"}]}, is_copied=True)
    text = json.dumps(value).encode()
    assert written([text]) == [plain_to_json(json_ordered(value))]
    assert written([text], moves) == [plain_to_json(moved(value, moves))]
    assert written([json.dumps(dict.fromkeys(map(str, range(257)))).encode()]) == [None]


@is_compiled
def test_maps_whose_members_are_moved() -> None:
    """Other values, and maps that would repeat a name, are skipped; too many or unusual names skip all."""
    moves = Moves({"a": "b" * 30, "c": None, "d": "e"}, added={"f": "@"})
    values: list[dict[str, Any]] = [{"a": 1, "c": {"a": 2}}, {"c": 1}, {}, {"x": {"b": 1, "a": 2}}]
    others = [b"[1]", b"null", b'"a"', b'{"d":1,"e":2}', b'{"f":1}']
    expected = [plain_to_json(moved(value, moves)) for value in values]
    assert written([*(json.dumps(value).encode() for value in values), *others], moves) == [*expected, *[None] * 5]
    assert written([b'{"a":1,"b":2}'], Moves({"a": "@x", "b": None})) == [None]
    for text in (b'{"@date":1}', b'{"@map":[]}'):
        assert written([text], Moves(added={"a": 1})) == written([text], Moves({"@date": "a", "@map": None})) == [None]
    assert written([b'{"a":1,"b":2}'], Moves({"a": "x"}, keeps_others=False)) == ['{"x":1}']
    assert written([b'{"a":1,"a":1,"a":1}'], Moves({"a": "b" * 1000})) == [None]
    assert written([b"{}"], Moves(dict.fromkeys(map(str, range(65))))) == [None]
    for name in ("\ud800", "\n", '"', "\\"):
        assert written([b"{}"], Moves({"a": name})) == written([b"{}"], Moves(added={name: 1})) == [None]
    assert written([b"{}"], Moves(added={"a": "\ud800"})) == [None]
    assert written([b"{}"], Moves(added={"a": "\n"})) == ['{"a":"\\n"}']


def flat(value: dict[str, Any], delimiter: str, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the members of an object and of those inside it, with their paths."""
    found = []
    for name, item in value.items():
        path = f"{prefix}{delimiter}{name}" if prefix else name
        found += flat(item, delimiter, path) if isinstance(item, dict) else [(path, item)]
    return found


def flat_texts(texts: Sequence[str | None], delimiter: str = ".") -> list[str | None]:
    """Return the flattened texts, with None for those that are left out."""
    column, sure = flattened(pa.array(["x", *texts], pa.string()).slice(1), delimiter)
    column.validate(full=True)
    found = iter(column.to_pylist())
    return [next(found) if is_sure else None for is_sure in sure.tolist()]


@given(st.lists(st.tuples(JSON, WAYS), max_size=6), st.sampled_from([".", "", "__", "é", '"', "a"]))
def test_flattened_text_has_the_members_of_inner_objects(rows: list[tuple[Any, Any]], delimiter: str) -> None:
    """Equal names are left to code that knows which one stays."""
    texts = [json.dumps(value, separators=marks, ensure_ascii=False) for value, marks in rows]
    for (value, _), found in zip(rows, flat_texts(texts, delimiter)):
        if found is not None:
            assert json.loads(found, object_pairs_hook=list) == json.loads(
                json.dumps(dict(members := flat(value, delimiter))), object_pairs_hook=list
            )
            assert found == plain_to_json(dict(members))


@given(st.lists(st.lists(st.sampled_from([each.decode("latin-1") for each in PIECES]), max_size=9).map("".join)))
def test_text_that_is_no_object_is_not_flattened(texts: list[str]) -> None:
    """Damaged objects are left out as well."""
    for text, found in zip(texts, flat_texts([*texts])):
        assert found is None or found == plain_to_json(dict(flat(json.loads(text), ".")))


@is_compiled
def test_common_objects_are_flattened() -> None:
    """Null values, lists and empty objects among them; tags, lists of objects and equal names are left out."""
    texts = {
        '{"a":{"b":1,"c":{"d":"x"}},"e":[1,[null,"y"]],"f":{},"g":null}': (
            '{"a.b":1,"a.c.d":"x","e":[1,[null,"y"]],"g":null}'
        ),
        "{}": "{}",
        '{"":{"a":1},"b":{"":2}}': '{"a":1,"b.":2}',
        '{"at":{"@timestamp":5}}': None,
        '{"@date":5}': None,
        '{"a":[{"b":1}]}': None,
        '{"a.b":1,"a":{"b":2}}': None,
        '{"a": 1}': None,
        '{"a":1.50}': None,
        "[1]": None,
        '{"a":' * 40 + "1" + "}" * 40: None,
        json.dumps({str(number): number for number in range(300)}, separators=(",", ":")): None,
        json.dumps({"n" * 1000: {"a" * 30: {"b": 1}}}, separators=(",", ":")): None,
    }
    assert flat_texts([*texts, None]) == [*texts.values(), None]


@is_compiled
def test_texts_that_get_too_long_are_not_flattened() -> None:
    """Their neighbours are."""
    long = json.dumps({"n" * 500: {str(number): 1 for number in range(200)}}, separators=(",", ":"))
    assert flat_texts([long, '{"a":{"b":1}}']) == [None, '{"a.b":1}']


def test_nothing_is_written_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers fall back to another way."""
    monkeypatch.setattr(rewriting, "Rewriter", None)
    monkeypatch.setattr(rewriting, "Flattener", None)
    assert written([b"{}", b"1"]) == [None, None]
    assert flat_texts(["{}"]) == [None]
    assert written([]) == []

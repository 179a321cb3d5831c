"""Guesses of formats by bytes."""

from __future__ import annotations

import pytest

from hearth.runtime.body_format import body_format


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"\0\0\0\0\x07abc", "schema id 7"),
        (b'{"n": 1}', "JSON"),
        (b" [1, 2]\n", "JSON"),
        (b'{"schema": null, "payload": 1}', "JSON with a schema"),
        ("Zürich, 3".encode(), "text"),
        (b"", "text"),
        ("é".encode() * 40_000, "text"),
        (b"a" + "é".encode() * 40_000, "text"),
        (b"a\xff", "binary"),
        (b"\0\1", "binary"),
        (b"Obj\1\2", "binary"),
    ],
    ids=range(11),
)
def test_formats_are_guessed_by_the_first_bytes(body: bytes, wanted: str) -> None:
    """Text that is cut inside a character is still text."""
    assert body_format(body) == wanted

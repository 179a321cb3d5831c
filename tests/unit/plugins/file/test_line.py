"""Rules for decoding UTF-8, taken from the results of Java 17's decoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_file.line import decode


@given(st.text())
def test_valid_text_is_kept(text: str) -> None:
    """Whatever can be encoded is decoded to itself."""
    assert decode(text.encode("utf-8", "replace")) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("80", "�"),
        ("c341", "�A"),
        ("e282", "�"),
        ("e28241", "�A"),
        ("e080", "��"),
        ("f09f98", "�"),
        ("f0808080", "����"),
        ("f8", "�"),
        ("eda080", "�"),
        ("eda041", "�A"),
        ("eda0ed", "��"),
        ("edbfbfeda0", "��"),
    ],
)
def test_broken_sequences_are_replaced_as_often_as_in_java(data: str, text: str) -> None:
    """The number of replacement characters is Java's; encoded surrogates are where Python's own differs."""
    assert decode(bytes.fromhex(data)) == text

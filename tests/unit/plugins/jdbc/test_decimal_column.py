"""Decimals of whole columns, beside the conversion of single values."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import Decimal as ConnectDecimal
from hearth_api.batch import values_to_column
from hearth_jdbc.decimal_column import decimal_bytes, decimal_texts, whole_numbers

NUMBERS = (
    st.integers(-(10**60), 10**60) | st.integers(-(2**64), 2**64) | st.sampled_from([0, -1, 127, 128, -128, -129])
)


@given(st.lists(st.none() | NUMBERS, min_size=1), st.integers(0, 40), st.integers(0, 3))
def test_bytes_and_texts_are_those_of_single_values(unscaled: list[int | None], scale: int, skipped: int) -> None:
    """Of any size, with nulls, also in a part of a column."""
    values = [None if each is None else Decimal(f"{each}E-{scale}") for each in unscaled]
    schema = ConnectDecimal.builder(scale).optional().build()
    column = values_to_column(schema, values)
    texts = pa.array([None if each is None else f"{each:f}" for each in values], pa.string())
    assert decimal_bytes(texts, scale).to_pylist() == column.to_pylist()
    found = decimal_texts(schema, column.slice(skipped)).to_pylist()
    assert [None if each is None else Decimal(each) for each in found] == values[skipped:]


def test_digits_are_never_cut() -> None:
    """Zeros at the end may go, others not; exponents count."""
    assert decimal_bytes(pa.array(["1.50", "1e2", None]), 1).to_pylist() == [b"\x0f", b"\x03\xe8", None]
    assert whole_numbers(pa.array(["7.0", "-3", "1E3"])).to_pylist() == [7, -3, 1000]
    for text in ("1.55", "NaN", "Infinity"):
        with pytest.raises((ValueError, pa.ArrowException)):
            decimal_bytes(pa.array([text]), 1)
    with pytest.raises((OverflowError, pa.ArrowException)):
        whole_numbers(pa.array([str(2**63)]))

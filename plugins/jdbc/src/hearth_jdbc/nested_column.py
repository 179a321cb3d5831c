"""Lists, maps and structs of columns: their shape, with the values inside converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hearth_api.batch import arrow as pa


def with_values(array: Any, convert: Callable[[int, Any], Any]) -> Any:
    """Return a list, map or struct array whose child arrays are converted.

    `convert` gets the number of a child and its array: 0 for the elements of a list, 0 and 1 for the keys and values
    of a map, the number of the field for a struct. A list of fixed size becomes a list.
    """
    kind = array.type
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        parts = [convert(place, part) for place, part in enumerate(array.flatten())]
        return pa.StructArray.from_arrays(parts, names=[field.name for field in kind], mask=mask)
    if pa.types.is_fixed_size_list(kind):
        array = array.cast(pa.list_(kind.value_type))
    offsets = pa.array(array.offsets.to_numpy(), pa.int32())
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(offsets, convert(0, array.keys), convert(1, array.items), mask=mask)
    return pa.ListArray.from_arrays(offsets, convert(0, array.values), mask=mask)


def list_array(cells: Any, convert: Callable[[list[Any]], Any]) -> Any:
    """Return lists of Python, some None, as a list array; `convert` turns their elements into an array."""
    ends = np.cumsum([0, *(0 if cell is None else len(cell) for cell in cells)], dtype=np.int32)
    elements = convert([element for cell in cells if cell is not None for element in cell])
    mask = pa.array([cell is None for cell in cells], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends), elements, mask=mask)

"""How many bytes each row of a column has; the same row always has as many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def row_sizes(column: Any) -> Any:
    """Return the bytes of each row's values, without what Arrow adds, as a numpy array of int64."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = [row_sizes(column.field(place)) for place in range(kind.num_fields)]
        return sum(fields, np.zeros(len(column), np.int64))
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _list_sizes(column)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.full(len(column), max(1, kind.bit_width // 8), np.int64)


def _list_sizes(column: Any) -> Any:
    inner = column.values if pa.types.is_list(column.type) else None
    total = row_sizes(inner) if inner is not None else row_sizes(column.keys) + row_sizes(column.items)
    sums = np.concatenate([[0], np.cumsum(total)])
    bounds = column.offsets.to_numpy(zero_copy_only=False)
    return sums[bounds[1:]] - sums[bounds[:-1]] + 4

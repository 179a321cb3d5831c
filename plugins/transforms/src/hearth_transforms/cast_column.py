"""What Cast makes of columns: numpy casts between numbers as Java does, the rest goes value by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Schema, Type
from hearth_api.batch import column_to_values, values_to_column
from hearth_transforms.casting import cast

_KINDS: dict[Type, Any] = {
    Type.BOOLEAN: np.bool_,
    Type.INT8: np.int8,
    Type.INT16: np.int16,
    Type.INT32: np.int32,
    Type.INT64: np.int64,
    Type.FLOAT32: np.float32,
    Type.FLOAT64: np.float64,
}
_FLOATS = (Type.FLOAT32, Type.FLOAT64)


def cast_column(column: Any, schema: Schema, target: Type) -> Any:
    """Return what `cast` gives for every value of a column."""
    # A float that is out of range becomes the nearest integer in Java, and anything at all in numpy.
    is_number = schema.type in _KINDS and target in _KINDS
    if not is_number or (schema.type in _FLOATS and target not in _FLOATS):
        values = [cast(value, schema, target) for value in column_to_values(schema, column)]
        return values_to_column(Schema(target), values)
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    filled = column.fill_null(False if schema.type is Type.BOOLEAN else 0)
    with np.errstate(over="ignore"):
        return pa.array(filled.to_numpy(zero_copy_only=False).astype(_KINDS[target]), mask=nulls)

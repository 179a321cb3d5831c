"""Columns of headers, which are lists of names, schemas and values: what is taken out of them and put into them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Header, Headers
from hearth_api.batch import headers_to_column


def without(column: Any, names: Collection[str]) -> Any:
    """Return the column without the headers of some names."""
    entries = column.flatten()
    is_kept = pc.invert(pc.is_in(entries.field("key"), pa.array(sorted(names), pa.string())))
    rows = pc.list_parent_indices(column).filter(is_kept)
    return _listed(rows, entries.filter(is_kept), len(column))


def appended(column: Any, header: Header, count: int) -> Any:
    """Return the column with one more header at the end of each of its rows."""
    added = headers_to_column([Headers([header])]).flatten().take(pa.array(np.zeros(count, np.int64)))
    every_row = np.arange(count)
    if column is None:
        return _listed(every_row, added, count)
    rows = np.concatenate([pc.list_parent_indices(column).to_numpy(), every_row])
    order = np.argsort(rows, kind="stable")
    return _listed(rows, pa.concat_arrays([column.flatten(), added]).take(pa.array(order)), count)


def _listed(rows: Any, entries: Any, count: int) -> Any:
    """Return the entries as lists, where `rows` tells for each entry the list it belongs to."""
    ends = np.cumsum(np.bincount(np.asarray(rows), minlength=count))
    return pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), entries)

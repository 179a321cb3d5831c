"""Order: putting the parts of a batch back into the order of its rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hearth_api.batch import Batch
from hearth_api.batch import arrow as pa

_ATTRIBUTES = ("topic", "key_schema", "value_schema", "source_partition", "timestamp_type", "original_topic")


def rows_of(batch: Batch) -> Any:
    """Return the row numbers of a batch as a numpy array."""
    return batch.column("row").to_numpy(zero_copy_only=False)


def number_rows(batch: Batch) -> Batch:
    """Return the batch with its rows numbered from 0, as every step expects it."""
    count = batch.num_rows
    return batch.with_columns(row=_numbers(1 << count.bit_length()).slice(0, count))


@lru_cache(maxsize=4)
def _numbers(count: int) -> Any:
    """Return the column that counts from 0; batches of about one size share it, and those of a task are."""
    return pa.array(range(count), pa.int32())


def are_alike(one: Batch, other: Batch) -> bool:
    """Tell whether the rows of two batches may stand in a single one."""
    differ = any(getattr(one, name) != getattr(other, name) for name in _ATTRIBUTES)
    return not differ and bool(one.data.schema.equals(other.data.schema))


def join(parts: list[Batch]) -> Batch:
    """Return the rows of batches that are alike, one behind the other."""
    return parts[0].replace(data=pa.concat_batches([part.data for part in parts]))


def in_order(parts: list[Batch]) -> list[Batch]:
    """Return ``parts``, each in order itself, as batches whose rows go up from first to last.

    Parts that do not overlap are only sorted; overlapping ones are cut where another's rows come between.
    """
    parts = [part for part in parts if part.num_rows]
    if len(parts) < 2:
        return parts
    parts.sort(key=lambda part: int(rows_of(part)[0]))
    bounds = [(rows[0], rows[-1]) for rows in map(rows_of, parts)]
    if all(before[1] < after[0] for before, after in zip(bounds, bounds[1:])):
        return parts
    return _interleave(parts)


def _interleave(parts: list[Batch]) -> list[Batch]:
    import numpy as np  # only where a predicate chose rows here and there

    rows = np.concatenate([rows_of(part) for part in parts])
    owner = np.concatenate([np.full(part.num_rows, index) for index, part in enumerate(parts)])
    owner = owner[np.argsort(rows, kind="stable")]
    cuts = np.flatnonzero(np.diff(owner)) + 1
    taken = [0] * len(parts)
    result = []
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(owner)]):
        index = int(owner[start])
        result.append(parts[index].slice(taken[index], end - start))
        taken[index] += end - start
    return result

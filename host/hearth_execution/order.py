"""Order: puts the parts of a batch back into the order of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from hearth_api.batch import Batch, PackedRecords
from hearth_api.batch import arrow as pa

_ATTRIBUTES = ("topic", "key_schema", "value_schema", "source_partition", "timestamp_type", "original_topic")


def rows_of(batch: Batch) -> Any:
    """Return the row numbers of a batch as a numpy array; without numbers they count from 0."""
    rows = batch.rows
    return _counted(batch.num_rows).to_numpy() if rows is None else rows


def are_in(rows: Any, numbers: Sequence[int]) -> Any:
    """Return for each row number of a numpy array whether it is among ``numbers``."""
    import numpy as np  # only if some rows failed

    return np.isin(rows, np.array(numbers, rows.dtype))


def count_rows(batches: Sequence[Batch]) -> int:
    """Return the total number of rows."""
    return batches.num_rows if isinstance(batches, PackedRecords) else sum(batch.num_rows for batch in batches)


def number_rows(batch: Batch) -> Batch:
    """Return the batch with its rows numbered from 0, as every step expects it."""
    return batch.with_columns(row=_counted(batch.num_rows))


def numbered(batches: Sequence[Batch]) -> list[Batch]:
    """Return batches with numbered rows; several batches already have numbers, assigned across all of them."""
    return [batch if is_numbered(batch) else number_rows(batch) for batch in batches]


def is_numbered(batch: Batch) -> bool:
    """Return whether the rows of a batch are numbered."""
    return batch.column("row") is not None


def are_numbered_together(batches: Sequence[Batch]) -> bool:
    """Return whether the numbers count from 0 without gaps across the batches and ascend within each batch."""
    import numpy as np  # only if rows of several kinds alternate

    numbers = [rows_of(batch) for batch in batches]
    together = np.concatenate(numbers)
    goes_up, ends = np.diff(together) > 0, np.cumsum(list(map(len, numbers)))
    goes_up[ends[(ends > 0) & (ends < len(together))] - 1] = True  # where the next batch starts
    return bool(goes_up.all()) and bool((np.sort(together) == np.arange(len(together))).all())


def _counted(count: int) -> Any:
    return _numbers(1 << count.bit_length()).slice(0, count)


@lru_cache(maxsize=4)
def _numbers(count: int) -> Any:
    """Return the column that counts from 0; batches of similar size share it, as a task's are."""
    return pa.array(range(count), pa.int32())


def are_alike(one: Batch, other: Batch) -> bool:
    """Return whether the rows of two batches can be in one batch."""
    differ = any(getattr(one, name) != getattr(other, name) for name in _ATTRIBUTES)
    return not differ and bool(one.data.schema.equals(other.data.schema))


def join(parts: list[Batch]) -> Batch:
    """Return the rows of similar batches, concatenated."""
    return parts[0].replace(data=pa.concat_batches([part.data for part in parts])) if len(parts) > 1 else parts[0]


def join_all(groups: Sequence[Sequence[Batch]]) -> list[Batch]:
    """Join groups of batches that followed each other to one group, concatenating similar batches.

    The rows of a group with more than one batch are numbered across it, and so are the rows of the result.
    """
    if all(len(group) == 1 and not is_numbered(group[0]) and are_alike(group[0], groups[0][0]) for group in groups):
        return [join([batch for (batch,) in groups])]
    import numpy as np  # only if rows of several kinds alternate

    kinds: list[tuple[list[Batch], list[Any]]] = []
    known: dict[Any, list[tuple[list[Batch], list[Any]]]] = defaultdict(list)
    first = 0
    for group in groups:
        for batch in numbered(group):
            similar = known[_outline(batch)]
            kind = next((each for each in similar if are_alike(each[0][0], batch)), None)
            if kind is None:
                kind = ([], [])
                kinds.append(kind)
                similar.append(kind)
            kind[0].append(batch)
            kind[1].append(rows_of(batch) + first)
        first += sum(batch.num_rows for batch in group)
    return [join(parts).with_columns(row=pa.array(np.concatenate(rows), pa.int32())) for parts, rows in kinds]


def _outline(batch: Batch) -> Any:
    """Return a key that similar batches share and few others have, to find them quickly."""
    return batch.topic, batch.key_schema, batch.value_schema, repr(batch.source_partition)


def join_sources(batches: list[Batch]) -> list[Batch]:
    """Join a source's batches that differ only in their source partition, rows in order.

    Rows of several batches are numbered across them. Afterwards the source partition of a record is unknown.
    """
    kinds: dict[Any, list[Batch]] = defaultdict(list)
    for batch in batches:
        kinds[batch.topic, batch.key_schema, batch.value_schema, batch.timestamp_type].append(batch)
    return batches if len(kinds) == len(batches) else [each for own in kinds.values() for each in _joined(own)]


def _joined(parts: list[Batch]) -> list[Batch]:
    columns = parts[0].data.schema
    if len(parts) == 1 or not all(part.data.schema.equals(columns) for part in parts):
        return parts
    joined = join(parts).replace(source_partition=None)
    rows = rows_of(joined)
    return [joined if (rows[1:] > rows[:-1]).all() else joined.take(pa.array(rows.argsort()))]


def row_of(batches: Sequence[Batch], row: int) -> Batch:
    """Return the row with a number as a batch."""
    marked = ((batch, (rows_of(batch) == row).nonzero()[0].tolist()) for batch in batches)
    return next(batch.slice(place, 1) for batch, places in marked for place in places)


def rows_before(batches: Sequence[Batch], row: int) -> list[Batch]:
    """Return the rows with smaller numbers."""
    return rows_between(batches, 0, row)


def rows_between(batches: Sequence[Batch], start: int, end: int) -> list[Batch]:
    """Return the rows with numbers from ``start`` to ``end``, excluded."""
    bounds = [rows_of(batch).searchsorted((start, end)).tolist() for batch in batches]
    return [batch.slice(first, last - first) for batch, (first, last) in zip(batches, bounds) if last > first]


def in_order(parts: Sequence[Batch]) -> list[Batch]:
    """Return the parts that have rows, sorted by their first row numbers; they may still interleave."""
    return sorted((part for part in parts if part.num_rows), key=lambda part: int(rows_of(part)[0]))


def are_interleaved(parts: Sequence[Batch]) -> bool:
    """Return whether rows of a part precede rows of an earlier part."""
    return len(parts) > 1 and all(map(is_numbered, parts)) and not follow_each_other([*map(rows_of, parts)])


def select(batches: Sequence[Batch], columns: Collection[str]) -> list[Batch]:
    """Return batches with these columns only, and the row numbers if the batches interleave."""
    wanted = {*columns, "row"} if are_interleaved(batches) else columns
    return [batch.select(wanted) for batch in batches]


def follow_each_other(rows: Sequence[Any]) -> bool:
    """Return whether the row numbers of each part are greater than those of the part before."""
    return all(before[-1] < after[0] for before, after in zip(rows, rows[1:]))


def cut(parts: Sequence[Batch]) -> list[Batch]:
    """Split interleaved parts into consecutive batches, one per contiguous run of rows."""
    import numpy as np  # only if rows of several kinds alternate

    parts = [part for part in parts if part.num_rows]
    if len(parts) < 2:
        return parts
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

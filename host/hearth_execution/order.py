"""Order: putting the parts of a batch back into the order of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from hearth_api.batch import Batch, PackedRecords
from hearth_api.batch import arrow as pa

_ATTRIBUTES = ("topic", "key_schema", "value_schema", "source_partition", "timestamp_type", "original_topic")


def rows_of(batch: Batch) -> Any:
    """Return the row numbers of a batch as a numpy array; they count from 0 where nothing else is said."""
    rows = batch.rows
    return _counted(batch.num_rows).to_numpy() if rows is None else rows


def are_in(rows: Any, numbers: Sequence[int]) -> Any:
    """Tell of each row number, of a numpy array, whether it is one of some numbers."""
    import numpy as np  # only where some rows failed

    return np.isin(rows, np.array(numbers, rows.dtype))


def count_rows(batches: Sequence[Batch]) -> int:
    """Return how many rows batches have together."""
    return batches.num_rows if isinstance(batches, PackedRecords) else sum(batch.num_rows for batch in batches)


def number_rows(batch: Batch) -> Batch:
    """Return the batch with its rows numbered from 0, as every step expects it."""
    return batch.with_columns(row=_counted(batch.num_rows))


def numbered(batches: Sequence[Batch]) -> list[Batch]:
    """Return batches with numbered rows: those of several are numbered already, together."""
    return [batch if is_numbered(batch) else number_rows(batch) for batch in batches]


def is_numbered(batch: Batch) -> bool:
    """Tell whether the rows of a batch are numbered."""
    return batch.column("row") is not None


def are_numbered_together(batches: Sequence[Batch]) -> bool:
    """Tell whether each number from 0 to that of the last row stands at one row, and goes up within its batch."""
    import numpy as np  # only where rows of several kinds alternate

    numbers = [rows_of(batch) for batch in batches]
    together = np.concatenate(numbers)
    goes_up, ends = np.diff(together) > 0, np.cumsum(list(map(len, numbers)))
    goes_up[ends[(ends > 0) & (ends < len(together))] - 1] = True  # where the next batch begins
    return bool(goes_up.all()) and bool((np.sort(together) == np.arange(len(together))).all())


def _counted(count: int) -> Any:
    return _numbers(1 << count.bit_length()).slice(0, count)


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
    return parts[0].replace(data=pa.concat_batches([part.data for part in parts])) if len(parts) > 1 else parts[0]


def join_all(groups: Sequence[Sequence[Batch]]) -> list[Batch]:
    """Return batches that came one group after the other as one group: those that are alike are joined.

    The rows of a group are numbered together, where it has more than one batch, and so are those of what is returned.
    """
    if all(len(group) == 1 and not is_numbered(group[0]) and are_alike(group[0], groups[0][0]) for group in groups):
        return [join([batch for (batch,) in groups])]
    import numpy as np  # only where rows of several kinds alternate

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
    """Return what batches that are alike have in common, with few others: to find them among many."""
    return batch.topic, batch.key_schema, batch.value_schema, repr(batch.source_partition)


def join_sources(batches: list[Batch]) -> list[Batch]:
    """Return a source's batches such that those that differ in their source partition alone are one, rows in order.

    Rows of several are numbered together. Nobody can tell then what a record was read from.
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
    """Return the row of batches that has a number, as a batch."""
    marked = ((batch, (rows_of(batch) == row).nonzero()[0].tolist()) for batch in batches)
    return next(batch.slice(place, 1) for batch, places in marked for place in places)


def rows_before(batches: Sequence[Batch], row: int) -> list[Batch]:
    """Return the rows of batches that have a smaller number."""
    return rows_between(batches, 0, row)


def rows_between(batches: Sequence[Batch], start: int, end: int) -> list[Batch]:
    """Return the rows of batches that have these numbers, the last one excluded."""
    bounds = [rows_of(batch).searchsorted((start, end)).tolist() for batch in batches]
    return [batch.slice(first, last - first) for batch, (first, last) in zip(batches, bounds) if last > first]


def in_order(parts: Sequence[Batch]) -> list[Batch]:
    """Return the parts that have rows by the numbers of their first rows; they may still be interleaved."""
    return sorted((part for part in parts if part.num_rows), key=lambda part: int(rows_of(part)[0]))


def are_interleaved(parts: Sequence[Batch]) -> bool:
    """Tell whether rows of some parts come before those of a part that stands before theirs."""
    return len(parts) > 1 and all(map(is_numbered, parts)) and not follow_each_other([*map(rows_of, parts)])


def select(batches: Sequence[Batch], columns: Collection[str]) -> list[Batch]:
    """Return batches with only these of their columns, and the one that tells the order of interleaved rows."""
    wanted = {*columns, "row"} if are_interleaved(batches) else columns
    return [batch.select(wanted) for batch in batches]


def follow_each_other(rows: Sequence[Any]) -> bool:
    """Tell whether row numbers, an array of each of several parts, are behind those of the part before."""
    return all(before[-1] < after[0] for before, after in zip(rows, rows[1:]))


def cut(parts: Sequence[Batch]) -> list[Batch]:
    """Return the rows of interleaved parts as batches that follow each other: pieces between rows of others."""
    import numpy as np  # only where rows of several kinds alternate

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

"""Records on their way to a table: their columns, and the offsets they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import ConnectError, DataError, Schema, TopicPartition, Type
from hearth_api.batch import Batch
from hearth_delta.delta_setting import NONE, RECORD_KEY, DeltaSinkConfig
from hearth_delta.fitting import columns_of

DELETED = "__hearth_deleted"
"""Column of uploads, not of tables: whether a row deletes that of its key."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Records of one topic as Kafka has it, in order; `table` is None for records that were reported, not written."""

    topic: str
    partitions: Any
    offsets: Any
    table: Any = None

    @classmethod
    def of(cls, batch: Batch, table: Any = None) -> Rows:
        """Return the rows of a batch, with the coordinates of its records as they were read from Kafka."""
        return cls(*batch.originals(), table)

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the columns."""
        return 0 if self.table is None else int(self.table.nbytes)

    def places(self) -> list[TopicPartition]:
        """Return the topic partitions of the records."""
        return [TopicPartition(self.topic, int(number)) for number in np.unique(self.partitions)]

    def ends(self) -> dict[TopicPartition, int]:
        """Return the offsets after the last records."""
        return {
            place: int(self.offsets[self.partitions == place.partition].max()) + 1 for place in self.places()
        }  # fmt: skip

    def since(self, starts: Mapping[TopicPartition, int]) -> Rows:
        """Return the records from some offsets on."""
        return self._where(self.is_since(starts))

    def is_since(self, starts: Mapping[TopicPartition, int]) -> Any:
        """Return, as a numpy array, which records are those from some offsets on."""
        late = np.ones(len(self), bool)
        for place in self.places():
            late &= (self.partitions != place.partition) | (self.offsets >= starts.get(place, 0))
        return late

    def without(self, places: Sequence[TopicPartition]) -> Rows:
        """Return the records of other topic partitions."""
        lost = [place.partition for place in places if place.topic == self.topic]
        return self._where(~np.isin(self.partitions, lost))

    def _where(self, mask: Any) -> Rows:
        if mask.all():
            return self
        table = None if self.table is None else self.table.filter(pa.array(mask))
        return replace(self, partitions=self.partitions[mask], offsets=self.offsets[mask], table=table)


def row_table(settings: DeltaSinkConfig, batch: Batch) -> Any:
    """Return the columns of a batch's rows; raises DataError for records that cannot be rows."""
    keys = _key_columns(settings, batch)
    columns = dict(keys)
    for name, column in _value_columns(settings, batch).items():
        columns.setdefault(name, column)
    if not columns:
        raise DataError(f"records of topic {batch.topic} have no fields to write")
    table = columns_of(pa.table(columns))
    deleted = _deleted(batch)
    return table if deleted is None else table.append_column(DELETED, deleted)


def key_columns(settings: DeltaSinkConfig, key: Schema | None, value: Schema | None) -> list[str]:
    """Return the names of the primary key's columns for records of these schemas."""
    if settings.pk_mode == NONE:
        return []
    schema = key if settings.pk_mode == RECORD_KEY else value
    if schema is None:
        part = "key" if settings.pk_mode == RECORD_KEY else "value"
        raise DataError(f"pk.mode={settings.pk_mode} needs records whose {part} has a schema")
    if schema.type is not Type.STRUCT:
        if settings.pk_mode != RECORD_KEY or not schema.type.is_primitive:
            raise DataError(f"pk.mode={settings.pk_mode} needs a struct, not {schema.type}")
        if len(settings.key_names) != 1:
            raise ConnectError(
                f"a record key of type {schema.type} is one column, so pk.fields needs one name, "
                f"not {settings.key_names}"
            )
        return settings.key_names
    known = [field.name for field in schema.fields]
    for name in settings.key_names:
        if name not in known:
            text = f"pk.mode={settings.pk_mode}: there is no field {name!r} of pk.fields, but {', '.join(known)}"
            raise DataError(text)
    return settings.key_names or known


def _key_columns(settings: DeltaSinkConfig, batch: Batch) -> dict[str, Any]:
    names = key_columns(settings, batch.key_schema, batch.value_schema)
    if not names or settings.pk_mode != RECORD_KEY:
        return {}
    key = batch.column("key")
    if key is None or key.null_count:
        raise DataError(f"a record of topic {batch.topic} has no key, which pk.mode={RECORD_KEY} needs")
    schema = batch.key_schema
    table = batch.with_columns(value=key).replace(value_schema=schema).to_table()
    columns = (
        table.columns if schema is None or schema.type is not Type.STRUCT else [table.column(name) for name in names]
    )
    for name, column in zip(names, columns):
        if column.null_count and settings.is_upsert:
            raise DataError(f"a record of topic {batch.topic} has null in field {name!r} of its key")
    return dict(zip(names, columns))


def _value_columns(settings: DeltaSinkConfig, batch: Batch) -> dict[str, Any]:
    value, schema = batch.column("value"), batch.value_schema
    absent = batch.num_rows if value is None else value.null_count
    if absent and not settings.delete_enabled:
        raise DataError(
            f"a record of topic {batch.topic} has no value",
            hint="delete.enabled=true with insert.mode=upsert and pk.mode=record_key deletes the row of its key",
        )
    if absent == batch.num_rows:
        return {}
    if schema is None:
        raise DataError(
            f"records of topic {batch.topic} have no schema, which the columns of a table need",
            hint="use a converter with schemas, such as JsonConverter with schemas.enable=true",
        )
    if schema.type is not Type.STRUCT:
        raise DataError(f"a record of topic {batch.topic} is {schema.type}, not a struct with a field per column")
    table = batch.to_table()
    found = dict(zip(table.schema.names, table.columns))
    if settings.is_upsert and settings.pk_mode != RECORD_KEY:
        for name in key_columns(settings, None, schema):
            if found[name].null_count:
                raise DataError(f"a record of topic {batch.topic} has null in field {name!r} of its primary key")
    return found


def _deleted(batch: Batch) -> Any:
    """Return which rows have no value; None if each has one."""
    value = batch.column("value")
    if value is None:
        return pa.repeat(pa.scalar(True), batch.num_rows)
    return value.is_null() if value.null_count else None


def last_of_each_key(table: Any, keys: Sequence[str]) -> Any:
    """Return the last row of each key, in order."""
    place = "__hearth_row"
    numbered = table.select(keys).append_column(place, pa.array(np.arange(table.num_rows)))
    last = numbered.group_by(keys, use_threads=False).aggregate([(place, "max")])
    if last.num_rows == table.num_rows:
        return table
    return table.take(pa.array(np.sort(last.column(f"{place}_max").to_numpy())))

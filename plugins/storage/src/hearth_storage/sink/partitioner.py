"""Which directory a record's file is in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, Type, is_logical
from hearth_api.batch import Batch
from hearth_storage.sink.nested_field import field_of

_NUMBERS = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})


class Partitioner(ABC):
    """Encodes records as directories; made once for each task, for one thread.

    One's own is a class that a bundle with this package contains; `partitioner.class` names it as `module.Class`. The
    constructor gets all keys of the connector: parsed where they are known, else as texts.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.delimiter: str = settings["directory.delim"]

    @abstractmethod
    def encode(self, batch: Batch, partition: int, now: int) -> Any:
        """Return the directory of each record as an Arrow array of texts, or a dictionary array of such.

        All records are of one Kafka partition. `now` is the time of the put in ms. A record that has no directory
        raises `DataError`; the same record must always get the same directory, or records may be written twice.
        """

    def times(self, batch: Batch, now: int) -> Any:
        """Return the time of each record in ms as an Arrow array of int64, None if directories have no time.

        `rotate.interval.ms` goes by these times.
        """
        return None

    def path(self, topic: str, encoded: str) -> str:
        """Return the directory of a topic's records below `topics.dir`."""
        return f"{topic}{self.delimiter}{encoded}"


class DefaultPartitioner(Partitioner):
    """A directory for each Kafka partition: `partition=0`."""

    def encode(self, batch: Batch, partition: int, now: int) -> Any:
        """Return the partition, once."""
        return constant(f"partition={partition}", batch.num_rows)


class FieldPartitioner(Partitioner):
    """A directory for each value of fields: `country=de/year=2026`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._fields: list[str] = settings["partition.field.name"]

    def encode(self, batch: Batch, partition: int, now: int) -> Any:
        """Return the fields' names and values; a null is the word."""
        schema, column = batch.value_schema, batch.column("value")
        if schema is None or schema.type is not Type.STRUCT or column is None:
            raise DataError("Error encoding partition.", hint="FieldPartitioner needs values that are structs")
        parts = [self._part(name, schema, column) for name in self._fields]
        return pc.binary_join_element_wise(*parts, pa.scalar(self.delimiter))

    def _part(self, name: str, schema: Schema, column: Any) -> Any:
        field_schema, values = field_of(name, schema, column)
        kind = field_schema.type
        if is_logical(field_schema) or not (kind in _NUMBERS or kind in (Type.STRING, Type.BOOLEAN)):
            raise DataError(
                "Error encoding partition.",
                hint=f"{name} is {field_schema.name or kind}: only whole numbers, texts and booleans are directories",
            )
        texts = pc.fill_null(pc.cast(values, pa.string()), "null")
        return pc.binary_join_element_wise(pa.scalar(f"{name}="), texts, pa.scalar(""))


def constant(text: str, rows: int) -> Any:
    """Return a dictionary array that has one text in all rows."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([text]))

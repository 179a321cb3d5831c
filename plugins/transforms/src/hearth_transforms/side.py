"""Key and value: the two sides of a record, which most transformations have a variant for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from hearth_api import Batch, ConnectRecord, Schema, arrow_type

R = TypeVar("R", bound=ConnectRecord)


@dataclass(frozen=True)
class Side:
    """One side of records and batches, read and replaced by the same calls whichever it is."""

    name: str

    def schema(self, of: ConnectRecord | Batch) -> Schema | None:
        """Return the schema of this side."""
        schema: Schema | None = getattr(of, f"{self.name}_schema")
        return schema

    def value(self, record: ConnectRecord) -> Any:
        """Return the value of this side."""
        return getattr(record, self.name)

    def column(self, batch: Batch) -> Any:
        """Return the column of this side, of nulls where the batch leaves it out."""
        import pyarrow as pa

        column = batch.column(self.name)
        return pa.nulls(batch.num_rows, arrow_type(self.schema(batch))) if column is None else column

    def replaced(self, record: R, schema: Schema | None, value: Any) -> R:
        """Return the record with another schema and value on this side."""
        return record.new_record(**{f"{self.name}_schema": schema, self.name: value})

    def replaced_column(self, batch: Batch, schema: Schema | None, column: Any) -> Batch:
        """Return the batch with another schema and column on this side."""
        changed = batch.with_columns(**{self.name: column})
        return changed.replace(key_schema=schema) if self is KEY else changed.replace(value_schema=schema)


KEY = Side("key")
VALUE = Side("value")

"""The key and value sides of a record; most transformations have a variant for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from hearth_api import ConnectRecord, Schema
from hearth_api.batch import Batch

R = TypeVar("R", bound=ConnectRecord)


@dataclass(frozen=True)
class Side:
    """One side of records and batches, with one interface for key and value."""

    name: str

    def schema(self, of: ConnectRecord | Batch) -> Schema | None:
        """Return the schema of this side."""
        schema: Schema | None = getattr(of, f"{self.name}_schema")
        return schema

    def value(self, record: ConnectRecord) -> Any:
        """Return the value of this side."""
        return getattr(record, self.name)

    def replaced(self, record: R, schema: Schema | None, value: Any) -> R:
        """Return the record with another schema and value on this side."""
        return record.new_record(**{f"{self.name}_schema": schema, self.name: value})

    def replaced_column(self, batch: Batch, schema: Schema | None, column: Any) -> Batch:
        """Return the batch with another schema and column on this side."""
        changed = batch.with_columns(**{self.name: column})
        return changed.replace(key_schema=schema) if self is KEY else changed.replace(value_schema=schema)


KEY = Side("key")
VALUE = Side("value")

"""Drop: sets the key or value to null, as documented by Confluent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import DataError, Importance, Schema, Settings, ValidString, key
from hearth_api.batch import Batch, BatchTransformation
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.side import KEY, VALUE, R, Side


class DropConfig(Settings):
    """Settings of Drop."""

    schema_behavior: str = key(
        "schema.behavior",
        default="nullify",
        check=ValidString("nullify", "retain", "validate", "force_optional"),
        importance=Importance.MEDIUM,
        doc="How the schema is handled. nullify: it becomes null as well. retain: it stays, even if it does not allow"
        " a null. validate: it stays, and it is an error if it is not optional. force_optional: it becomes optional.",
    )


class Drop(KafkaPlugin, BatchTransformation):
    """Sets one side of a record to null."""

    settings = DropConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the schema behavior."""
        self._behavior = DropConfig(configs).schema_behavior
        self._kept = lru_cache(maxsize=1000)(self._make_kept)

    def apply(self, record: R) -> R:
        """Set the key or value of a record to null."""
        return self.side.replaced(record, self._kept(self.side.schema(record)), None)

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Remove the column, which makes every row null."""
        return [self.side.replaced_column(batch, self._kept(self.side.schema(batch)), None)]

    def _make_kept(self, schema: Schema | None) -> Schema | None:
        if schema is None or self._behavior == "nullify":
            return None
        if schema.optional or self._behavior == "retain":
            return schema
        if self._behavior == "validate":
            raise DataError(f"the {self.side.name} cannot become null, since its schema is not optional: {schema}")
        return schema.replaced(optional=True)


class DropKey(Drop):
    """Drops the key."""

    side = KEY


class DropValue(Drop):
    """Drops the value."""

    side = VALUE

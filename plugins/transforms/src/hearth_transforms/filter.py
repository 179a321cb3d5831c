"""Filter: drops every record that its predicate selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api.batch import Batch, BatchTransformation
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.side import R


class Filter(KafkaPlugin, BatchTransformation):
    """Drops every record; meant to be used with a predicate."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing: there are no settings."""

    def apply(self, record: R) -> R | None:
        """Drop a record."""
        return None

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Drop all records."""
        return []

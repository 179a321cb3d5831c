"""InsertHeader: adds a header with a fixed value to every record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import Header, Importance, NonNull, Settings, key
from hearth_api.batch import Batch, BatchTransformation
from hearth_api.java import parse_string
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.side import R


class InsertHeaderConfig(Settings):
    """Settings of InsertHeader."""

    header: str = key("header", check=NonNull(), importance=Importance.HIGH, doc="Name of the header.")
    value_literal: str = key(
        "value.literal",
        check=NonNull(),
        importance=Importance.HIGH,
        doc="The value of the header. A text that represents a number, a date, a list or another type has that type.",
    )


class InsertHeader(KafkaPlugin, BatchTransformation):
    """Appends a header even if one with that name exists."""

    settings = InsertHeaderConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Parse the value of the header."""
        config = InsertHeaderConfig(configs)
        self._header = Header(config.header, *parse_string(config.value_literal))

    def apply(self, record: R) -> R:
        """Return the record with the header."""
        return record.new_record(headers=record.headers.duplicate().add(self._header))

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Append the header to every list in the column."""
        from hearth_transforms.header_column import appended, fixed

        count = batch.num_rows
        return [batch.with_columns(headers=appended(batch.column("headers"), [fixed(self._header, count)], count))]

"""TombstoneHandler: drops or refuses records without value, as documented by Confluent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hearth_api import DataError, Importance, Settings, ValidString, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.side import R

_logger = logging.getLogger(__name__)
_WARNS = ("warn", "drop_warn")


class TombstoneHandlerConfig(Settings):
    """Settings of TombstoneHandler."""

    behavior: str = key(
        "behavior",
        default="warn",
        check=ValidString("ignore", "warn", "fail", "drop_silent", "drop_warn"),
        importance=Importance.MEDIUM,
        doc="How a record whose value is null is handled. ignore, drop_silent: it is dropped. warn, drop_warn: it is"
        " dropped with a warning in the log. fail: it is an error.",
    )


class TombstoneHandler(KafkaPlugin, BatchTransformation):
    """Drops or refuses records whose value is null, with a schema or without one."""

    settings = TombstoneHandlerConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the behavior."""
        self._behavior = TombstoneHandlerConfig(configs).behavior

    def apply(self, record: R) -> R | None:
        """Return a record with a value; drop or refuse one without."""
        if record.value is not None:
            return record
        self._note(record.topic, 1)
        return None

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Keep the rows with a value, and log the others once."""
        column = batch.column("value")
        count = batch.num_rows if column is None else column.null_count
        if not count:
            return [batch]
        self._note(batch.topic, count)
        return [] if column is None or count == batch.num_rows else [batch.filter(column.is_valid())]

    def _note(self, topic: str | None, count: int) -> None:
        if self._behavior == "fail":
            raise DataError(f"a record of topic {topic!r} has no value, and behavior is fail")
        records = "record was" if count == 1 else "records were"
        level = logging.WARNING if self._behavior in _WARNS else logging.DEBUG
        _logger.log(level, "%d %s dropped from topic %r for want of a value", count, records, topic)

"""DropHeaders: removes headers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import Headers, Importance, Settings, ValidList, key
from hearth_api.batch import Batch, BatchTransformation
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.side import R


class DropHeadersConfig(Settings):
    """Settings of DropHeaders."""

    headers: list[str] = key(
        "headers",
        check=ValidList(empty_allowed=False),
        importance=Importance.HIGH,
        doc="Names of the headers to remove.",
    )


class DropHeaders(KafkaPlugin, BatchTransformation):
    """Removes all headers with the given names; the others keep their order."""

    settings = DropHeadersConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names."""
        self._names = frozenset(DropHeadersConfig(configs).headers)

    def apply(self, record: R) -> R:
        """Return the record without the headers."""
        return record.new_record(headers=Headers(each for each in record.headers if each.key not in self._names))

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Remove the headers from the header column, if there is one."""
        from hearth_transforms.header_column import without

        headers = batch.column("headers")
        return [batch if headers is None else batch.with_columns(headers=without(headers, self._names))]

"""What the source connectors of all stores have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hearth_api import ConnectError, ExactlyOnceSupport, SourceConnector
from hearth_storage.source.file_position import check_offset
from hearth_storage.source.source_setting import TASK, TASKS, WITHOUT_EFFECT, StorageSourceConfig, source_faults
from hearth_storage.store_connector import StoreConnector


class StorageSourceConnector(StoreConnector, SourceConnector):
    """Reads files, with any number of tasks; each store derives a class."""

    without_effect: ClassVar[Mapping[str, str]] = WITHOUT_EFFECT

    def faults(self, settings: StorageSourceConfig) -> dict[str, str]:
        """Return what is wrong across the keys, by key."""
        return source_faults(settings)

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings, and log which have no effect."""
        for name, fault in source_faults(self.settings(props)).items():
            raise ConnectError(f"{name} {fault}")
        self.log_without_effect(props)
        self._props = dict(props)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Number the tasks: each lists all files, and reads its share of Kafka partitions or directories."""
        return [{**self._props, TASK: str(number), TASKS: str(max_tasks)} for number in range(max_tasks)]

    def exactly_once_support(self, connector_config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Return support: the offset of a record is its row in its file."""
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self,
        connector_config: Mapping[str, str],
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> bool:
        """Accept rows of files, and the removal of any offset."""
        for partition, offset in offsets:
            check_offset(partition, offset)
        return True

"""What the source connectors of all stores have."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hearth_api import Config, ConfigDef, ConnectError, ExactlyOnceSupport, SourceConnector, Task
from hearth_storage import VERSION
from hearth_storage.source.file_position import check_offset
from hearth_storage.source.source_setting import TASK, TASKS, WITHOUT_EFFECT, StorageSourceConfig, source_faults

_log = logging.getLogger(__name__)


class StorageSourceConnector(SourceConnector):
    """Reads files, with any number of tasks; each store derives a class."""

    settings: ClassVar[type[StorageSourceConfig]]
    without_effect: ClassVar[Mapping[str, str]] = WITHOUT_EFFECT
    place_key: ClassVar[str]
    """The key that names the place, for faults of it."""

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return self.settings.definition()

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check each key, then what they are together, then whether the store answers."""
        config = super().validate(connector_configs)
        if any(value.error_messages for value in config.values):
            return config
        settings = self.settings(connector_configs)
        for name, fault in (source_faults(settings) or self._store_faults(settings)).items():
            config[name].add_error_message(fault)
        return config

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings, and log which have no effect."""
        for name, fault in source_faults(self.settings(props)).items():
            raise ConnectError(f"{name} {fault}")
        for name, reason in self.without_effect.items():
            if name in props:
                _log.info("%s has no effect: %s", name, reason)
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task class of the store."""
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Number the tasks: each lists all files, and reads its share of Kafka partitions or directories."""
        return [{**self._props, TASK: str(number), TASKS: str(max_tasks)} for number in range(max_tasks)]

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

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

    def _store_faults(self, settings: StorageSourceConfig) -> dict[str, str]:
        """Return why the store does not answer, under the key that names the bucket."""
        try:
            settings.place().check()
        except ConnectError as error:
            return {self.place_key: f"{error}: {error.hint}" if error.hint else str(error)}
        return {}

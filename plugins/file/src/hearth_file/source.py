"""The file source connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hearth_api import ConfigDef, ConnectError, ExactlyOnceSupport, SourceConnector, Task
from hearth_file import VERSION
from hearth_file.setting import FILENAME, POSITION, FileStreamSourceConfig


class FileStreamSourceConnector(SourceConnector):
    """Reads the lines of a file or of the standard input with one task."""

    def version(self) -> str:
        """Return the version of the corresponding Kafka Connect class."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the three keys."""
        return FileStreamSourceConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        """Validate the settings."""
        FileStreamSourceConfig(props)
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_file.source_task import FileStreamSourceTask

        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one configuration, because a file has one reader."""
        return [dict(self._props)]

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

    def exactly_once_support(self, connector_config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Return support for a file that is only appended to; the standard input cannot be read again."""
        has_file = bool(FileStreamSourceConfig(connector_config).file)
        return ExactlyOnceSupport.SUPPORTED if has_file else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self,
        connector_config: Mapping[str, str],
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> bool:
        """Accept non-negative integer positions, and the removal of any offset."""
        if not FileStreamSourceConfig(connector_config).file:
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is not None:
                _check_offset(partition, offset)
        return True


def _check_offset(partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
    if POSITION not in offset:
        raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION}'")
    if type(offset[POSITION]) is not int:
        raise ConnectError(f"The value for the '{POSITION}' key in the offset is expected to be a Long value")
    if offset[POSITION] < 0:
        raise ConnectError(f"The value for the '{POSITION}' key in the offset should be a non-negative value")
    if partition is None:
        raise ConnectError("Partition objects cannot be null")
    if FILENAME not in partition:
        raise ConnectError(f"Partition objects should contain the key '{FILENAME}'")

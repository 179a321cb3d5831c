"""The file sink connector."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_api import ConfigDef, SinkConnector, Task, TopicPartition
from hearth_file import VERSION
from hearth_file.setting import FileStreamSinkConfig


class FileStreamSinkConnector(SinkConnector):
    """Appends records to a file or writes them to the standard output, with any number of tasks."""

    def version(self) -> str:
        """Return the version of the corresponding Kafka Connect class."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the only key."""
        return FileStreamSinkConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        """Validate the settings."""
        FileStreamSinkConfig(props)
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_file.sink_task import FileStreamSinkTask

        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the same configuration for every task; all of them append to the same file."""
        return [dict(self._props) for _ in range(max_tasks)]

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept every change, since the file contains no offsets."""
        return True

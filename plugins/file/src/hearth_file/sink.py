"""The connector that writes records as the lines of a file."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_api import ConfigDef, Importance, Settings, SinkConnector, Task, TopicPartition, key
from hearth_file import VERSION


class FileStreamSinkConfig(Settings):
    """Settings of the file sink."""

    file: str | None = key(
        "file", default=None, importance=Importance.HIGH,
        doc="Path of the file that lines are appended to, made when it is missing."
        " The standard output is written to when there is none.",
    )  # fmt: skip


class FileStreamSinkConnector(SinkConnector):
    """Appends records to one file, or writes them to the standard output, with as many tasks as asked for."""

    def version(self) -> str:
        """Return the version of the Kafka Connect class this stands for."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the one key."""
        return FileStreamSinkConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings; there is nothing to watch."""
        FileStreamSinkConfig(props)
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task that writes; imported here, so that describing the connector loads no Arrow."""
        from hearth_file.sink_task import FileStreamSinkTask

        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the same configuration for every task; all of them append to the one file."""
        return [dict(self._props) for _ in range(max_tasks)]

    def stop(self) -> None:
        """Do nothing, since `start` began nothing."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept every change, since the file knows nothing of offsets."""
        return True

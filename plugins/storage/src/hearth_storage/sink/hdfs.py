"""The sinks to HDFS."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.hdfs_setting import HDFS_WITHOUT_EFFECT, HdfsSinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class HdfsSinkConnector(StorageSinkConnector):
    """Writes records to files in HDFS, as Confluent's `HdfsSinkConnector` of Hadoop 2."""

    settings = HdfsSinkConfig
    without_effect = HDFS_WITHOUT_EFFECT
    place_key = "store.url"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.hdfs_task import HdfsSinkTask

        return HdfsSinkTask


class Hdfs3SinkConnector(HdfsSinkConnector):
    """Writes records to files in HDFS, as Confluent's `Hdfs3SinkConnector`; its keys and files are the same."""

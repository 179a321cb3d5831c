"""The task of the sinks to HDFS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from hearth_api import ConnectError, TopicPartition
from hearth_api.batch import Batch
from hearth_storage.place.hdfs_place import HdfsPlace
from hearth_storage.sink.file_delivery import Delivery
from hearth_storage.sink.hdfs_delivery import HdfsDelivery
from hearth_storage.sink.hdfs_setting import HdfsSinkConfig
from hearth_storage.sink.partition_writer import Part
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class HdfsSinkTask(StorageSinkTask):
    """Writes records to files in HDFS, whose names and log tell the offsets."""

    settings = HdfsSinkConfig

    def _new_delivery(self) -> Delivery:
        config = cast(HdfsSinkConfig, self._config)
        return HdfsDelivery(cast(HdfsPlace, self._place), config.topics_directory, config.logs_directory)

    def _parts(self, batch: Batch, now: int) -> Iterator[Part]:
        """Yield the records of a batch, which must have the topic that they were read from."""
        if batch.original_topic not in (None, batch.topic):
            raise ConnectError(
                f"a transformation renamed topic {batch.original_topic} to {batch.topic}; names of files in HDFS tell"
                " the offsets of a topic, so they need its own name",
                hint="remove the transformation; topics.dir may contain ${topic}",
            )
        return super()._parts(batch, now)

    def _stem(self, partition: TopicPartition) -> Any:
        config, directory = cast(HdfsSinkConfig, self._config), self._partitioner.path
        above, width = config.topics_directory(partition.topic), config.zero_pad_width

        def name(topic: str, path: str, first: int, last: int) -> str:
            file = f"{topic}+{partition.partition}+{first:0{width}d}+{last:0{width}d}"
            return f"{above}/{directory(topic, path)}/{file}"

        return name

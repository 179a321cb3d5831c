"""A user's change to `hearth bundle new lance-sink --type sink`: columns, for a Lance that requires an older Arrow."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path

import lance
import pyarrow as pa

from hearth_api import (
    ConfigDef,
    OffsetAndMetadata,
    Settings,
    SinkConnector,
    SinkRecord,
    Task,
    TopicPartition,
    key,
)
from hearth_api.batch import Batch, BatchSinkTask


class LanceSinkConnectorConfig(Settings):
    """Settings."""

    dataset: str = key("dataset", doc="Directory of the dataset.")
    journal: str = key("journal", doc="File with the contents of the dataset, and the versions that wrote it.")


class LanceSinkConnector(SinkConnector):
    """Has one task."""

    def version(self) -> str:
        return version("pylance")

    def config(self) -> ConfigDef:
        return LanceSinkConnectorConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return LanceSinkConnectorTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass


class LanceSinkConnectorTask(BatchSinkTask):
    """Appends values to a dataset."""

    def version(self) -> str:
        return version("pylance")

    def start(self, props: Mapping[str, str]) -> None:
        self._config = LanceSinkConnectorConfig(props)

    def put_batch(self, batches: list[Batch]) -> None:
        for batch in batches:
            self._append(batch.column("value"))

    def put(self, records: Collection[SinkRecord]) -> None:
        self._append(pa.array([record.value for record in records], pa.string()))

    def _append(self, values: pa.Array) -> None:
        mode = "append" if Path(self._config.dataset).exists() else "create"
        lance.write_dataset(pa.table({"value": values}), self._config.dataset, mode=mode)

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        if Path(self._config.dataset).exists():
            values = lance.dataset(self._config.dataset).to_table().column("value").to_pylist()
            report = {"pyarrow": pa.__version__, "lance": lance.__version__, "values": values}
            Path(self._config.journal).write_text(json.dumps(report))

    def stop(self) -> None:
        pass

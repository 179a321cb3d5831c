"""The sink connector."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_api import Config, ConfigDef, ConnectError, SinkConnector, Task, TopicPartition
from hearth_delta import VERSION
from hearth_delta.delta_setting import NONE, RECORD_KEY, DeltaSinkConfig


def sink_faults(settings: DeltaSinkConfig) -> dict[str, str]:
    """Return what is wrong across the keys, by key."""
    if settings.is_upsert and settings.pk_mode == NONE:
        return {"insert.mode": "upsert needs a primary key: set pk.mode"}
    if settings.delete_enabled and not (settings.is_upsert and settings.pk_mode == RECORD_KEY):
        return {"delete.enabled": "Deletes are only supported for insert.mode upsert and pk.mode record_key"}
    if settings.pk_mode == NONE and settings.key_names:
        return {"pk.fields": "has no meaning without pk.mode"}
    if (settings.aws_access_key_id is None) != (settings.aws_secret_access_key is None):
        return {"aws.access.key.id": "is given with aws.secret.access.key, or neither"}
    return {}


class DeltaSinkConnector(SinkConnector):
    """Writes records to Delta tables, with any number of tasks."""

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return DeltaSinkConfig.definition()

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check the keys, then whether the store answers within seconds and the tables are as the keys say."""
        config = super().validate(connector_configs)
        if any(value.error_messages for value in config.values):
            return config
        settings = DeltaSinkConfig(connector_configs)
        faults = sink_faults(settings)
        if not faults:
            from hearth_delta.lake_check import table_faults

            topics = [topic.strip() for topic in connector_configs.get("topics", "").split(",") if topic.strip()]
            is_routed = bool(connector_configs.get("transforms", "").strip())
            faults = table_faults(settings, [] if is_routed else topics)
        for name, fault in faults.items():
            config[name].add_error_message(fault)
        return config

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings."""
        for name, fault in sink_faults(DeltaSinkConfig(props)).items():
            raise ConnectError(f"{name} {fault}")
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_delta.delta_sink_task import DeltaSinkTask

        return DeltaSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the same configuration for every task."""
        return [dict(self._props) for _ in range(max_tasks)]

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Make the change in the tables of the topics as well, whose offsets win."""
        from hearth_delta.lake_table import LakeTable

        settings = DeltaSinkConfig(connector_config)
        for place, offset in sorted(offsets.items()):
            table = LakeTable(settings, connector_config["name"], settings.address(place.topic))
            table.set_position(place, offset or 0)
        return True

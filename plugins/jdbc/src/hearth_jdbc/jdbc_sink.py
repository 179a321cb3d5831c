"""The sink connector."""

from __future__ import annotations

from collections.abc import Mapping

from hearth_api import Config, ConfigDef, ConnectError, SinkConnector, Task, TopicPartition
from hearth_jdbc import VERSION
from hearth_jdbc.connection_setting import log_ignored
from hearth_jdbc.session import Session
from hearth_jdbc.sink_setting import (
    INSERT,
    KAFKA,
    KAFKA_COLUMNS,
    NONE,
    RECORD_KEY,
    WITHOUT_EFFECT,
    JdbcSinkConfig,
)
from hearth_jdbc.validation import validated


def sink_faults(settings: JdbcSinkConfig) -> dict[str, str]:
    """Return what is wrong across the keys of a sink, by key."""
    if settings.delete_enabled and settings.keys_from != RECORD_KEY:
        return {"delete.enabled": "Deletes are only supported for pk.mode record_key"}
    if settings.mode != INSERT and settings.keys_from == NONE:
        return {"insert.mode": f"{settings.mode} needs a primary key: set pk.mode"}
    if settings.keys_from == KAFKA and len(settings.key_names) not in (0, len(KAFKA_COLUMNS)):
        return {"pk.fields": "has three names for pk.mode=kafka: of topic, partition and offset, or none"}
    return {}


class JdbcSinkConnector(SinkConnector):
    """Writes records to tables, with any number of tasks."""

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return JdbcSinkConfig.definition()

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check the keys, then whether the database answers within seconds."""
        return validated(super().validate(connector_configs), JdbcSinkConfig, connector_configs, sink_faults)

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings."""
        for name, fault in sink_faults(JdbcSinkConfig(props)).items():
            raise ConnectError(f"{name} {fault}")
        log_ignored(props, WITHOUT_EFFECT)
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_jdbc.jdbc_sink_task import JdbcSinkTask

        return JdbcSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the same configuration for every task."""
        return [dict(self._props) for _ in range(max_tasks)]

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept every change; with `exactly.once.sink=table`, make it in the database as well."""
        settings = JdbcSinkConfig(connector_config)
        if settings.is_exactly_once:
            from hearth_jdbc.offset_table import OffsetTable

            dialect = settings.sink_dialect()
            table = dialect.parse_table(settings.exactly_once_table)
            with Session(dialect, settings).opened() as connection:
                OffsetTable(dialect, table, connector_config["name"]).alter(connection, offsets)
        return True

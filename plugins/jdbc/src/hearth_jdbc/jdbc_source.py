"""The source connector: divides tables among tasks and looks for new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hearth_api import Config, ConfigDef, ConnectError, SourceConnector, Task
from hearth_jdbc import VERSION
from hearth_jdbc.connection_setting import log_ignored
from hearth_jdbc.dialect.interface import TableId
from hearth_jdbc.session import Session
from hearth_jdbc.source_setting import TABLES, WITHOUT_EFFECT, JdbcSourceConfig
from hearth_jdbc.table_list import TableWatch, parts_of, quoted
from hearth_jdbc.table_part import PART, TablePart
from hearth_jdbc.validation import source_faults, validated

_OFFSET_MEMBERS = {"incrementing", "timestamp", "timestamp_nanos"}


class JdbcSourceConnector(SourceConnector):
    """Reads tables, or a query, of a database that has a dialect."""

    _watch: TableWatch | None = None

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        return JdbcSourceConfig.definition()

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check the keys, then whether the database answers within seconds."""
        return validated(super().validate(connector_configs), JdbcSourceConfig, connector_configs, source_faults)

    def start(self, props: Mapping[str, str]) -> None:
        """List the tables, and look for changes from then on; a query needs neither."""
        settings = JdbcSourceConfig(props)
        for name, fault in source_faults(settings).items():
            raise ConnectError(f"{name} {fault}")
        log_ignored(props, WITHOUT_EFFECT)
        self._props = dict(props)
        self._settings = settings
        self._parts: dict[tuple[TableId, int], Sequence[TablePart]] = {}
        if not settings.whole_query:
            dialect = settings.source_dialect()
            self._watch = TableWatch(dialect, settings, self.context.request_task_reconfiguration)
            try:
                self._watch.start()
            except dialect.Error as error:
                raise ConnectError(f"cannot list the tables of {dialect.url}: {error}") from error

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_jdbc.jdbc_source_task import JdbcSourceTask

        return JdbcSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Divide the tables evenly among tasks; a query has one task, and without tables there is none.

        With `bulk.split`, tasks beyond one per table read parts.
        """
        if self._watch is None:
            return [{**self._props, TABLES: ""}]
        tables = self._watch.tables
        if self._settings.bulk_split and max_tasks > len(tables) > 0:
            return self._split(tables, max_tasks)
        return [{**self._props, TABLES: ",".join(map(quoted, share))} for share in _shares(tables, max_tasks)]

    def _split(self, tables: Sequence[TableId], max_tasks: int) -> list[dict[str, str]]:
        """Return a task for each part of each table; a table that cannot be divided has one task."""
        configs = []
        dialect = self._settings.source_dialect()
        with Session(dialect, self._settings).opened() as connection:
            for place, table in enumerate(tables):
                most = max_tasks // len(tables) + (place < max_tasks % len(tables))
                known = (table, most)
                if known not in self._parts:  # later calls must not move the edges
                    self._parts[known] = parts_of(dialect, connection, table, most, self._props.get("name", ""))
                own = {**self._props, TABLES: quoted(table)}
                configs += [{**own, PART: part.to_json()} for part in self._parts[known]] or [own]
        return configs

    def stop(self) -> None:
        """End the thread."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def alter_offsets(
        self,
        connector_config: Mapping[str, str],
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> bool:
        """Accept numbers for the members of offsets, and the removal of any offset."""
        for partition, offset in offsets:
            if "table" not in partition and "query" not in partition:
                raise ConnectError(f"source partition {dict(partition)} has neither 'table' nor 'query'")
            for name, value in (offset or {}).items():
                if name not in _OFFSET_MEMBERS or type(value) is not int:
                    raise ConnectError(f"offset member {name!r} is {value!r}: offsets have whole numbers as "
                                       "'incrementing', 'timestamp' and 'timestamp_nanos'")  # fmt: skip
        return True


def _shares(tables: Sequence[TableId], most: int) -> list[list[TableId]]:
    """Return consecutive shares that differ by one table at most, as Kafka Connect divides."""
    count = min(len(tables), most)
    shares, start = [], 0
    for number in range(count):
        end = start + len(tables) // count + (number < len(tables) % count)
        shares.append(list(tables[start:end]))
        start = end
    return shares

"""A user's change to `hearth bundle new dotenv-source --type source`: a file's variables, read by environs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from threading import Event

from environs import Env

from hearth_api import STRING_SCHEMA, ConfigDef, Headers, Settings, SourceConnector, SourceRecord, SourceTask, Task, key


class DotenvSourceConnectorConfig(Settings):
    """Settings."""

    topic: str = key("topic", doc="Topic the variables are written to.")
    file: str = key("file", doc="File of variables, one line NAME=JSON for each.")
    names: list[str] = key("names", doc="Names of the variables, in the order in which they are written.")


class DotenvSourceConnector(SourceConnector):
    """Has one task."""

    def version(self) -> str:
        return version("environs")

    def config(self) -> ConfigDef:
        return DotenvSourceConnectorConfig.definition()

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return DotenvSourceConnectorTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass


class DotenvSourceConnectorTask(SourceTask):
    """Writes each variable once, with the versions of its libraries in the headers."""

    def version(self) -> str:
        return version("environs")

    def start(self, props: Mapping[str, str]) -> None:
        config = DotenvSourceConnectorConfig(props)
        self._topic, self._names, self._partition = config.topic, config.names, {"file": config.file}
        self._env, self._stopping = Env(), Event()
        self._env.read_env(config.file, recurse=False)
        known = self.context.offset_storage_reader().offset(self._partition)
        self._next = 0 if known is None else int(known["next"])

    def poll(self) -> list[SourceRecord] | None:
        if self._next == len(self._names):
            self._stopping.wait(0.1)
            return None
        name = self._names[self._next]
        self._next += 1
        headers = Headers()
        for package in ("environs", "marshmallow"):
            headers.add_string(package, version(package))
        value = json.dumps(self._env.json(name))
        return [SourceRecord(self._partition, {"next": self._next}, self._topic, None, STRING_SCHEMA, name,
                             STRING_SCHEMA, value, headers=headers)]  # fmt: skip

    def stop(self) -> None:
        self._stopping.set()

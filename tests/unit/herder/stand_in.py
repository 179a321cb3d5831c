"""Plugins with the keys of Kafka's own, for tests of the herder that do not need their function."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from hearth_api import (
    CaseInsensitiveValidString,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConfigValue,
    ConnectError,
    Importance,
    NonEmptyString,
    Regex,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
    Task,
    ValidString,
    Width,
)
from hearth_api.worker import (
    ConfigData,
    ConfigProvider,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
)

STRING, INT, BOOLEAN = ConfigType.STRING, ConfigType.INT, ConfigType.BOOLEAN
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


class NoTask(SourceTask):
    """A source task that never runs."""

    def version(self) -> str:
        """Return a version."""
        return "4.3.1"

    def start(self, props: Mapping[str, str]) -> None:
        """Do nothing."""

    def poll(self) -> None:
        """Return nothing."""

    def stop(self) -> None:
        """Do nothing."""


class NoSinkTask(SinkTask):
    """A sink task that never runs."""

    def version(self) -> str:
        """Return a version."""
        return "4.3.1"

    def start(self, props: Mapping[str, str]) -> None:
        """Do nothing."""

    def put(self, records: Any) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


class Source(SourceConnector):
    """A source connector whose configuration controls it.

    `do.start`, `do.task.configs`, `do.stop` and `do.validate` may be `raise`, `hang` or `exit`; `tasks` is the number
    of its tasks, `ask` makes it request a reconfiguration at once, `complain` makes it raise an error.
    """

    def version(self) -> str:
        """Return Kafka's version."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the keys of Kafka's FileStreamSource."""
        definition = ConfigDef().define("file", STRING, None, importance=HIGH)
        definition.define("topic", STRING, validator=NonEmptyString(), importance=HIGH)
        return definition.define("batch.size", INT, 2000, importance=LOW)

    def validate(self, connector_configs: Mapping[str, str]) -> Any:
        """Check the keys."""
        _do("validate", connector_configs)
        return super().validate(connector_configs)

    def start(self, props: Mapping[str, str]) -> None:
        """Store the configuration."""
        _do("start", props)
        self._props = dict(props)
        self._calls = 0
        if "ask" in props:
            self.context.request_task_reconfiguration()
        if "complain" in props:
            self.context.raise_error(RuntimeError(props["complain"]))

    def task_class(self) -> type[Task]:
        """Return a class."""
        return NoTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configured number of configurations, with the number of the call if requested."""
        _do("task_configs", self._props)
        self._calls += 1
        call = {"call": str(self._calls)} if "ask" in self._props else {}
        return [{**self._props, "number": str(number), **call} for number in range(int(self._props.get("tasks", "1")))]

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Any) -> bool:
        """Do what `do.alter.offsets` says; without it, return False."""
        deed = connector_config.get("do.alter.offsets")
        if deed == "refuse":
            raise ConnectError("not these")
        if deed == "never":
            raise NotImplementedError
        _do("alter_offsets", connector_config)
        return deed == "accept"

    def stop(self) -> None:
        """Write a file if the configuration names one."""
        _do("stop", self._props)
        if "stopped.file" in self._props:
            with open(self._props["stopped.file"], "a") as file:
                file.write("stopped\n")


class Sink(SinkConnector):
    """A sink connector with the key of Kafka's FileStreamSink."""

    def version(self) -> str:
        """Return Kafka's version."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the key of Kafka's FileStreamSink."""
        return ConfigDef().define("file", STRING, None, importance=HIGH)

    def start(self, props: Mapping[str, str]) -> None:
        """Store the configuration."""
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        """Return a class."""
        return NoSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration once for each task."""
        return [{"file": self._props.get("file", "")}] * max_tasks

    def stop(self) -> None:
        """Do nothing."""


def _do(call: str, props: Mapping[str, str]) -> None:
    deed = props.get(f"do.{call.replace('_', '.')}")
    if deed == "raise":
        raise RuntimeError(f"{call} does not work today")
    if deed == "hang":
        time.sleep(3600)
    if deed == "exit":
        os._exit(7)


class Plain:
    """A plugin without keys."""

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()


class RegexRouter(Plain):
    """The keys of Kafka's RegexRouter, and one that it does not have."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        definition = ConfigDef().define("regex", STRING, validator=Regex(), importance=HIGH)
        definition.define("replacement", STRING, importance=HIGH)
        return definition.define("beyond", BOOLEAN, False, importance=HIGH, unlisted=True)


class HoistField(Plain):
    """The keys of Kafka's HoistField."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        return ConfigDef().define("field", STRING, importance=MEDIUM)


class InsertField(Plain):
    """The keys of Kafka's InsertField."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        definition = ConfigDef()
        for name in ("topic", "partition", "offset", "timestamp"):
            definition.define(f"{name}.field", STRING, None, importance=MEDIUM)
        for name in ("static.field", "static.value"):
            definition.define(name, STRING, None, importance=MEDIUM)
        return definition.define("replace.null.with.default", BOOLEAN, True, importance=MEDIUM)


class TopicNameMatches(Plain):
    """The keys of Kafka's TopicNameMatches."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        return ConfigDef().define("pattern", STRING, validator=Regex(), importance=MEDIUM)


def _converter() -> ConfigDef:
    uses = ValidString("key", "value", "header")
    return ConfigDef().define("converter.type", STRING, validator=uses, importance=LOW)


class StringConverter(Plain):
    """The keys of Kafka's StringConverter."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        return _converter().define(
            "converter.encoding", STRING, "UTF-8", importance=HIGH, width=Width.MEDIUM, display_name="Encoding"
        )


class SimpleHeaderConverter(Plain):
    """The keys of Kafka's SimpleHeaderConverter: none."""


class JsonConverter(Plain):
    """The keys of Kafka's JsonConverter."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        definition = _converter()
        schemas: list[tuple[str, ConfigType, Any, str]] = [
            ("schemas.enable", BOOLEAN, True, "Enable Schemas"),
            ("schemas.cache.size", INT, 1000, "Schema Cache Size"),
            ("schema.content", STRING, None, "Schema Content"),
        ]
        for order, (name, type_, default, title) in enumerate(schemas):
            definition.define(name, type_, default, None, HIGH, "", "Schemas", order, Width.MEDIUM, title)
        formats, serialization, title = (
            CaseInsensitiveValidString("NUMERIC", "BASE64"),
            "Serialization",
            "Decimal Format",
        )
        definition.define("decimal.format", STRING, "BASE64", formats, LOW, "", serialization, 0, Width.MEDIUM, title)
        key, title = "replace.null.with.default", "Replace null with default"
        return definition.define(key, BOOLEAN, True, None, LOW, "", serialization, 1, Width.MEDIUM, title)


class Policy(ConnectorClientConfigOverridePolicy):
    """Forbids the setting that the worker's key `forbidden` names; returns nothing if that is `silent`."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Store the key."""
        if "forbidden" not in configs:
            raise ConfigError("nothing is forbidden")
        self._configs = configs

    def validate(self, request: ConnectorClientConfigRequest) -> Any:
        """Judge the overrides, or end the process if a setting requests it."""
        if "exit" in request.client_props:
            os._exit(int(request.client_props["exit"]))
        values = [ConfigValue(name, value) for name, value in request.client_props.items()]
        for value in values:
            if value.name == self._configs["forbidden"]:
                owner = f"a {request.connector_type} of {request.connector_class}"
                message = f"{owner} may not have its {request.client_type}'s {value.name}"
                value.add_error_message(f"{request.connector_name}: {message}")
        return None if "silent" in self._configs else values


class Provider(ConfigProvider):
    """Knows every key: its value is the setting `prefix`, path and key."""

    opened: ClassVar[set[Provider]] = set()
    """The providers that are not closed."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Store the setting."""
        if "prefix" not in configs:
            raise ConfigError("there is no prefix")
        self._prefix = configs["prefix"]
        Provider.opened.add(self)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return made-up values."""
        return ConfigData({key: f"{self._prefix}-{path}-{key}" for key in keys or ()})

    def close(self) -> None:
        """Record the close."""
        Provider.opened.discard(self)

"""A connector beside the host: configuration, validation and task configurations, each as one call."""

from __future__ import annotations

from typing import Any

from hearth_api import (
    ConfigDef,
    ConfigProvider,
    ConfigValue,
    Connector,
    ConnectorClientConfigOverridePolicy,
    ConnectorContext,
    Converter,
    HeaderConverter,
    PluginError,
    Predicate,
    RestExtension,
    SinkConnector,
    SinkConnectorContext,
    SourceConnector,
    SourceConnectorContext,
    Transformation,
    config_def_to_json,
    config_value_to_json,
)
from hearth_stage.channel import Channel, Reply, Request
from hearth_stage.failure import ErrorInfo
from hearth_stage.load import load_class, version_of
from hearth_stage.source import ChannelOffsetReader

_TYPES: dict[str, type[Any]] = {
    "source": SourceConnector,
    "sink": SinkConnector,
    "converter": Converter,
    "header_converter": HeaderConverter,
    "transformation": Transformation,
    "predicate": Predicate,
    "configprovider": ConfigProvider,
    "rest_extension": RestExtension,
    "connector_client_config_override_policy": ConnectorClientConfigOverridePolicy,
}


class _StageContext:
    """What every connector sees of its host."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def request_task_reconfiguration(self) -> None:
        """Ask the host to call ``task_configs`` again."""
        self._channel.notify("task_reconfiguration")

    def raise_error(self, error: BaseException) -> None:
        """Tell the host that the connector cannot go on."""
        info = ErrorInfo.of(error)
        self._channel.notify("raise_error", {"message": info.message, "trace": info.trace})


class StageSourceConnectorContext(_StageContext, SourceConnectorContext):
    """What a source connector sees of its host."""

    def offset_storage_reader(self) -> ChannelOffsetReader:
        """Return the reader of committed offsets."""
        return ChannelOffsetReader(self._channel)


class StageSinkConnectorContext(_StageContext, SinkConnectorContext):
    """What a sink connector sees of its host."""


class StageConnector:
    """Answers ``describe`` and the ``connector.*`` calls of the protocol."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._connector: Connector | None = None
        self._is_started = False

    def describe(self, request: Request) -> Reply:
        """Load any plugin and answer its version and configuration definition."""
        kind = load_class(request.args["python"])
        _check_type(kind, request.args.get("type"))
        plugin = kind()
        definition = plugin.config() if hasattr(plugin, "config") else None
        keys = [] if definition is None else config_def_to_json(definition)
        return Reply({"version": version_of(plugin), "config": keys})

    def load(self, request: Request) -> Reply:
        """Create the connector; the calls that follow go to this instance."""
        self._connector = load_class(request.args["python"])()
        return Reply({"version": version_of(self._connector)})

    def config(self, request: Request) -> Reply:
        """Answer the configuration definition; ``null`` when the connector returns none."""
        definition = self._loaded().config()
        return Reply({"config": None if definition is None else config_def_to_json(definition)})

    def validate(self, request: Request) -> Reply:
        """Answer the definition and the checked values; ``null`` for what the connector does not return."""
        connector = self._loaded()
        definition = connector.config()
        if definition is None:
            return Reply({"definitions": None, "values": None})
        result = connector.validate(request.args["config"])
        values = None if result is None else [_value_to_json(definition, value) for value in result.values]
        return Reply({"definitions": config_def_to_json(definition), "values": values})

    def start(self, request: Request) -> None:
        """Initialize and start the connector."""
        connector = self._loaded()
        connector.initialize(self._context(connector))
        connector.start(request.args["config"])
        self._is_started = True

    def task_configs(self, request: Request) -> Reply:
        """Answer one configuration per task, at most ``max`` of them wanted."""
        connector = self._loaded()
        configs = connector.task_configs(int(request.args["max"]))
        task = connector.task_class()
        return Reply({"configs": configs, "task_class": f"{task.__module__}.{task.__qualname__}"})

    def stop(self, request: Request) -> None:
        """Stop the connector."""
        self._is_started = False
        self._loaded().stop()

    def end(self) -> None:
        """Stop the connector where it runs."""
        if self._is_started:
            self._is_started = False
            self._loaded().stop()

    def _context(self, connector: Connector) -> ConnectorContext:
        if isinstance(connector, SourceConnector):
            return StageSourceConnectorContext(self._channel)
        return StageSinkConnectorContext(self._channel)

    def _loaded(self) -> Any:
        assert self._connector is not None, "the protocol loads a connector before it is used"
        return self._connector


def _value_to_json(definition: ConfigDef, value: ConfigValue) -> dict[str, Any]:
    key = definition.keys.get(value.name)
    return config_value_to_json(value, None if key is None else key.type)


def _check_type(kind: type[Any], type_: str | None) -> None:
    wanted = _TYPES.get(type_ or "")
    if wanted is not None and not issubclass(kind, wanted):
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise PluginError(f"{name} is declared as {type_} and is no {wanted.__name__}")

"""What any plugin says of its settings before it is configured: its keys, and what is wrong with values for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hearth_api import (
    ConfigDef,
    ConfigProvider,
    ConfigValue,
    ConnectorClientConfigOverridePolicy,
    Converter,
    HeaderConverter,
    PluginError,
    Predicate,
    RestExtension,
    SinkConnector,
    SourceConnector,
    Transformation,
    config_def_to_json,
    config_value_to_json,
)
from hearth_execution.load import load_class, version_of
from hearth_stage.channel import Reply, Request

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


def answer_describe(request: Request) -> Reply:
    """Load any plugin and answer its version and configuration definition."""
    plugin = _plugin(request)
    definition = plugin.config() if hasattr(plugin, "config") else None
    keys = [] if definition is None else config_def_to_json(definition)
    return Reply({"version": version_of(plugin), "config": keys})


def answer_validate(request: Request) -> Reply:
    """Load any plugin and answer its definition and the checked values, whose names begin with a prefix."""
    definition, prefix = _plugin(request).config(), request.args.get("prefix") or ""
    if definition is None:
        return checked(None, None)
    below = ConfigDef()
    below.embed(prefix, "", 0, definition)
    return checked(definition, below.validate(request.args["config"]), prefix)


def checked(definition: ConfigDef | None, values: Iterable[ConfigValue] | None, prefix: str = "") -> Reply:
    """Return a reply of a definition and of values that were checked against it, ``null`` for what is missing."""
    if definition is None:
        return Reply({"definitions": None, "values": None})
    kinds = {prefix + name: key.type for name, key in definition.keys.items()}
    shown = None if values is None else [config_value_to_json(value, kinds.get(value.name)) for value in values]
    return Reply({"definitions": config_def_to_json(definition), "values": shown})


def _plugin(request: Request) -> Any:
    """Return a new instance of the plugin a request names, of the type that it names."""
    kind, type_ = load_class(request.args["reference"]), request.args.get("type")
    wanted = _TYPES.get(type_ or "")
    if wanted is not None and not issubclass(kind, wanted):
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise PluginError(f"{name} is declared as {type_} and is no {wanted.__name__}")
    return kind()

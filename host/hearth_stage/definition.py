"""What any plugin says of its settings before it is configured: its keys, and what is wrong with values for them."""

from __future__ import annotations

from typing import Any

from hearth_api import (
    ConfigDef,
    Connector,
    Converter,
    HeaderConverter,
    PluginError,
    Predicate,
    SinkConnector,
    SourceConnector,
    Transformation,
)
from hearth_api.java import config_def_to_json, config_value_to_json
from hearth_api.worker import ConfigProvider, ConnectorClientConfigOverridePolicy, RestExtension
from hearth_execution.load import load_class, version_of
from hearth_stage.plugin_call import Describe, Described, Validate, Validated

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


def describe(call: Describe) -> Described:
    """Load any plugin and answer its version and configuration definition."""
    plugin = _plugin(call)
    definition = plugin.config() if hasattr(plugin, "config") else None
    return Described(version_of(plugin), [] if definition is None else config_def_to_json(definition))


def validate(call: Validate) -> Validated:
    """Load any plugin and answer its definition and the checked values, whose names begin with a prefix.

    A connector checks its settings itself, all at once, and they have no prefix.
    """
    plugin = _plugin(call)
    definition = plugin.config()
    if definition is None:
        return Validated()
    if isinstance(plugin, Connector):
        result = plugin.validate(call.config)
        values = None if result is None else result.values
    else:
        below = ConfigDef()
        below.embed(call.prefix, "", 0, definition)
        values = below.validate(call.config)
    kinds = {call.prefix + name: key.type for name, key in definition.keys.items()}
    shown = None if values is None else [config_value_to_json(value, kinds.get(value.name)) for value in values]
    return Validated(config_def_to_json(definition), shown)


def _plugin(call: Describe | Validate) -> Any:
    """Return a new instance of the plugin a call names, of the type that it names."""
    kind, wanted = load_class(call.reference), _TYPES.get(call.type or "")
    if wanted is not None and not issubclass(kind, wanted):
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise PluginError(f"{name} is declared as {call.type} and is no {wanted.__name__}")
    return kind()

"""Describes any plugin before it is configured, and checks it against the contract."""

from __future__ import annotations

from typing import Any

from hearth_api import ConfigDef, Connector, PluginError
from hearth_api.java import config_def_to_json, config_value_to_json
from hearth_execution.load import load_class, version_of
from hearth_stage.plugin_call import Describe, Described, RuleOutcome, RuleOutcomes, TryPlugin, Validate, Validated

_TYPES = {
    "source": "hearth_api:SourceConnector",
    "sink": "hearth_api:SinkConnector",
    "converter": "hearth_api:Converter",
    "header_converter": "hearth_api:HeaderConverter",
    "transformation": "hearth_api:Transformation",
    "predicate": "hearth_api:Predicate",
    "configprovider": "hearth_api.worker:ConfigProvider",
    "rest_extension": "hearth_api.worker:RestExtension",
    "connector_client_config_override_policy": "hearth_api.worker:ConnectorClientConfigOverridePolicy",
}
"""Base class of each plugin type, imported on use: most processes never need ``hearth_api.worker``."""


def describe(call: Describe) -> Described:
    """Load any plugin; return its version, its configuration definition, and the side effects of loading it."""
    from hearth_stage.footprint import footprint  # not needed by a task's stage

    with footprint() as changes:
        plugin = _plugin(call)
        definition = plugin.config() if hasattr(plugin, "config") else None
        version = version_of(plugin)
    config = [] if definition is None else config_def_to_json(definition.listed())
    return Described(version, config, changes)


def validate(call: Validate) -> Validated:
    """Load any plugin; return its definition and the validated values, whose names start with a prefix.

    A connector validates its configuration as a whole, without a prefix.
    """
    plugin = _plugin(call)
    definition = plugin.config()
    if definition is None:
        return Validated()
    definition = definition.listed(call.config, call.prefix)
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


def try_plugin(call: TryPlugin) -> RuleOutcomes:
    """Load any plugin and check it against the rules for its type; without settings, only those that need none."""
    from hearth_api.testing import CONTRACT, Sample, check_plugin  # not needed by a running stage

    outcomes = check_plugin(Sample(_class(call), call.config))
    return RuleOutcomes(CONTRACT, [RuleOutcome(each.rule, each.says, each.fault) for each in outcomes])


def _plugin(call: Describe | Validate) -> Any:
    """Return a new instance of the plugin of a call, which has the call's type."""
    return _class(call)()


def _class(call: Describe | Validate | TryPlugin) -> type[Any]:
    """Return the class of a call's plugin; raises ``PluginError`` if it does not have the call's type."""
    kind: type[Any] = load_class(call.reference)
    if call.type in _TYPES:
        wanted = load_class(_TYPES[call.type])
        if not issubclass(kind, wanted):
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise PluginError(f"{name} is declared as {call.type} but is not a {wanted.__name__}")
    return kind

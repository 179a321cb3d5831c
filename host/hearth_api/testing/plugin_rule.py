"""What every plugin has to do, of whatever type: be made, tell its version and its settings, and check them."""

from __future__ import annotations

from typing import Any

from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType
from hearth_api.config.value import Config, ConfigValue
from hearth_api.connector import Connector
from hearth_api.converter import CONVERTER_TYPE_CONFIG, Converter, ConverterType
from hearth_api.plugin import UNDEFINED_VERSION
from hearth_api.testing.acceptance_rule import AcceptanceRules, Sample, require

PLUGIN = AcceptanceRules()

_NO_NUMBER = "no number"
_NUMBERS = (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.DOUBLE)


@PLUGIN.rule()
def is_made_without_arguments(sample: Sample) -> None:
    """Two instances can be made, one after the other, without arguments."""
    sample.plugin()
    sample.plugin()


@PLUGIN.rule()
def version_is_stated(sample: Sample) -> None:
    """It states a version: a text, the same each time."""
    plugin = sample.plugin()
    version = plugin.version()
    require(isinstance(version, str), f"version() returned {version!r}: return a text such as '1.0.0'")
    require(version == plugin.version() == sample.plugin().version(), "version() returns another text each time")
    if issubclass(sample.plugin, Connector):
        require(version not in ("", UNDEFINED_VERSION), "version() is not defined: return a text such as '1.0.0'")


@PLUGIN.rule()
def config_is_a_definition(sample: Sample) -> None:
    """Its settings are a ConfigDef, the same each time, in which every dependent key exists."""
    definition = _definition(sample)
    require(definition.names == _definition(sample).names, "config() returns other keys each time")
    require(not definition.undefined_dependents(), f"not defined: {', '.join(definition.undefined_dependents())}")


@PLUGIN.rule()
def keys_are_documented(sample: Sample) -> None:
    """Every key has a text that says what it is for."""
    bare = [name for name, key in _definition(sample).keys.items() if not (key.doc or "").strip()]
    require(not bare, f"without documentation: {', '.join(bare)}; give define() or key() a doc")


@PLUGIN.rule()
def missing_settings_are_told_not_raised(sample: Sample) -> None:
    """A check of no settings at all returns, with a message for exactly the keys that have to be given."""
    told = {value.name for value in _validated(sample, {}) if value.error_messages}
    required = {name for name, key in _definition(sample).keys.items() if not key.has_default}
    required.discard(CONVERTER_TYPE_CONFIG)
    require(required <= told, f"a configuration without {', '.join(sorted(required - told))} is found good")


@PLUGIN.rule()
def wrong_types_are_told_not_raised(sample: Sample) -> None:
    """A text where a number belongs is a message of that key, and no exception."""
    numbers = [name for name, key in _definition(sample).keys.items() if key.type in _NUMBERS]
    found = _validated(sample, {**sample.settings(), **dict.fromkeys(numbers, _NO_NUMBER)})
    told = {value.name for value in found if value.error_messages}
    require(set(numbers) <= told, f"{_NO_NUMBER!r} is found good for {', '.join(sorted(set(numbers) - told))}")


@PLUGIN.rule("config")
def sample_settings_are_good(sample: Sample) -> None:
    """The settings it is tried with pass its own check."""
    wrong = [text for value in _validated(sample, sample.settings()) for text in value.error_messages]
    require(not wrong, "; ".join(wrong))


def _definition(sample: Sample) -> ConfigDef:
    found: Any = sample.plugin().config()
    require(isinstance(found, ConfigDef), f"config() returned {found!r}: return a ConfigDef, an empty one for no keys")
    definition: ConfigDef = found
    return definition


def _validated(sample: Sample, settings: dict[str, str]) -> list[ConfigValue]:
    plugin = sample.plugin()
    if isinstance(plugin, Converter):
        settings = {CONVERTER_TYPE_CONFIG: str(ConverterType.VALUE), **settings}  # which it adds when it is configured
    if not isinstance(plugin, Connector):
        return _definition(sample).validate(settings)
    found: Any = plugin.validate(settings)
    require(isinstance(found, Config), f"validate() returned {found!r}: return a Config")
    values: list[ConfigValue] = found.values
    return values

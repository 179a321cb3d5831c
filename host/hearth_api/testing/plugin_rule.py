"""Rules for all plugins: construct them, read their version and settings, and validate settings."""

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
def class_needs_no_arguments(sample: Sample) -> None:
    """The class can be instantiated twice without arguments."""
    sample.plugin()
    sample.plugin()


@PLUGIN.rule()
def version_is_a_text(sample: Sample) -> None:
    """version() returns a text, the same each time."""
    plugin = sample.plugin()
    version = plugin.version()
    require(isinstance(version, str), f"version() returned {version!r}: return a text such as '1.0.0'")
    require(version == plugin.version() == sample.plugin().version(), "version() returns a different text each time")
    if issubclass(sample.plugin, Connector):
        require(version not in ("", UNDEFINED_VERSION), "version() is not defined: return a text such as '1.0.0'")


@PLUGIN.rule()
def config_returns_a_definition(sample: Sample) -> None:
    """config() returns a ConfigDef, the same each time, in which every dependent key exists."""
    definition = _definition(sample)
    require(definition.names == _definition(sample).names, "config() returns different keys each time")
    require(not definition.undefined_dependents(), f"not defined: {', '.join(definition.undefined_dependents())}")


@PLUGIN.rule()
def keys_are_documented(sample: Sample) -> None:
    """Every key has documentation."""
    bare = [name for name, key in _definition(sample).keys.items() if not (key.doc or "").strip()]
    require(not bare, f"without documentation: {', '.join(bare)}; give define() or key() a doc")


@PLUGIN.rule()
def missing_settings_give_error_messages(sample: Sample) -> None:
    """Validating no settings returns, with an error message for exactly the required keys."""
    invalid = {value.name for value in _validated(sample, {}) if value.error_messages}
    required = {name for name, key in _definition(sample).keys.items() if not key.has_default}
    required.discard(CONVERTER_TYPE_CONFIG)
    require(required <= invalid, f"a configuration without {', '.join(sorted(required - invalid))} passes validation")


@PLUGIN.rule()
def wrong_types_give_error_messages(sample: Sample) -> None:
    """A text for a numeric key gives an error message of that key, and no exception."""
    numbers = [name for name, key in _definition(sample).keys.items() if key.type in _NUMBERS]
    found = _validated(sample, {**sample.settings(), **dict.fromkeys(numbers, _NO_NUMBER)})
    invalid = {value.name for value in found if value.error_messages}
    require(
        set(numbers) <= invalid, f"{_NO_NUMBER!r} passes validation for {', '.join(sorted(set(numbers) - invalid))}"
    )


@PLUGIN.rule("config")
def sample_settings_are_valid(sample: Sample) -> None:
    """The sample settings pass the plugin's own validation."""
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
        settings = {CONVERTER_TYPE_CONFIG: str(ConverterType.VALUE), **settings}  # added by configure()
    if not isinstance(plugin, Connector):
        return _definition(sample).validate(settings)
    found: Any = plugin.validate(settings)
    require(isinstance(found, Config), f"validate() returned {found!r}: return a Config")
    values: list[ConfigValue] = found.values
    return values

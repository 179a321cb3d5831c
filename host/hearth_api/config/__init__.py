"""Configuration: a key is declared once; parsing, validation, REST and documentation read the declaration.

`ConfigDef` is Kafka's class of that name: `kind` holds its small enumerations, `config_key` one key,
`parser` its rules from text to value, `validator` its ready-made checks, `definition` the class itself
and `check` its validation of a whole configuration. `settings` is the declarative way to the same;
`view` is what REST shows. Messages are Kafka Connect 4.3.1's, letter by letter, because clients show and
compare them.
"""

from __future__ import annotations

from hearth_api.config.config_key import NO_DEFAULT, ConfigKey, Recommender, Validator
from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.parser import ClassResolver, convert_to_string, parse_type
from hearth_api.config.password import Password
from hearth_api.config.settings import Settings, key
from hearth_api.config.validator import (
    CaseInsensitiveValidString,
    Composite,
    Lambda,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Regex,
    ValidList,
    ValidString,
)
from hearth_api.config.value import Config, ConfigValue
from hearth_api.config.view import config_def_to_json, config_key_to_json, config_value_to_json

__all__ = [
    "NO_DEFAULT",
    "CaseInsensitiveValidString",
    "ClassResolver",
    "Composite",
    "Config",
    "ConfigDef",
    "ConfigKey",
    "ConfigType",
    "ConfigValue",
    "Importance",
    "Lambda",
    "ListSize",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "NonNull",
    "Password",
    "Range",
    "Recommender",
    "Regex",
    "Settings",
    "ValidList",
    "ValidString",
    "Validator",
    "Width",
    "config_def_to_json",
    "config_key_to_json",
    "config_value_to_json",
    "convert_to_string",
    "key",
    "parse_type",
]

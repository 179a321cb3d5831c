"""Validates a whole configuration; follows Kafka's `ConfigDef.validateAll` message by message.

Kafka walks from every key that is not a dependent to its dependents, twice: first parsing and checking, then calling
the recommenders. A key reachable by several paths is visited once per path, so its messages repeat; REST responses
show that, so it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hearth_api.config.config_key import ConfigKey
from hearth_api.config.value import ConfigValue
from hearth_api.errors import ConfigError


def validate_all(
    keys: Mapping[str, ConfigKey], undefined: Iterable[str], props: Mapping[str, str]
) -> dict[str, ConfigValue]:
    """Return the result of every key by name, in the order of definition, undefined dependents last."""
    outcome = {name: ConfigValue(name) for name in keys}
    for name in undefined:
        message = f"{name} is referred in the dependents, but not defined."
        outcome[name] = ConfigValue(name, error_messages=[message], visible=False)
    parsed: dict[str, Any] = {}
    for key in _walk(keys):
        parsed[key.name] = _parse(key, props, outcome[key.name])
    for key in _walk(keys):
        _recommend(key, parsed, outcome[key.name])
    return outcome


def _walk(keys: Mapping[str, ConfigKey]) -> Iterator[ConfigKey]:
    """Yield every key that is not a dependent, each followed by its dependents."""
    dependents = {name for key in keys.values() for name in key.dependents}
    for name in keys:
        if name not in dependents:
            yield from _descend(keys, name, ())


def _descend(keys: Mapping[str, ConfigKey], name: str, path: tuple[str, ...]) -> Iterator[ConfigKey]:
    # A circle of dependents overflows Kafka's stack; here the walk ends where it would repeat.
    if name not in keys or name in path:
        return
    yield keys[name]
    for dependent in keys[name].dependents:
        yield from _descend(keys, dependent, (*path, name))


def _parse(key: ConfigKey, props: Mapping[str, str], outcome: ConfigValue) -> Any:
    """Return the parsed value or `None`, passing either to the validator; record all errors."""
    value = None
    try:
        if key.name in props:
            value = key.parse(props[key.name])
        elif key.has_default:
            value = key.default
        else:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
    except ConfigError as error:
        outcome.add_error_message(str(error))
    try:
        key.check(value)
    except ConfigError as error:
        outcome.add_error_message(str(error))
    outcome.value = value
    return value


def _recommend(key: ConfigKey, parsed: Mapping[str, Any], outcome: ConfigValue) -> None:
    if key.recommender is None:
        return
    try:
        suggested = key.recommender.valid_values(key.name, parsed)
        if outcome.recommended_values:
            # On a repeated visit, keep only values that every visit suggested.
            suggested = [value for value in suggested if value in outcome.recommended_values]
        outcome.recommended_values = list(suggested)
        outcome.visible = key.recommender.visible(key.name, parsed)
    except ConfigError as error:
        outcome.add_error_message(str(error))

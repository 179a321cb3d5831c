"""Resolves variables in configurations, `${provider:path:key}`, like Kafka's `ConfigTransformer`.

Stores and REST have the variable. Its value is looked up on each use, and passed only to the user of the
configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from hearth_api.worker import ConfigData, ConfigProvider

_VARIABLE = re.compile(r"\$\{(?P<provider>[^}]*?):(?:(?P<path>[^}]*?):)?(?P<key>[^}]*?)\}")
_TELLING = 4
"""Minimum length of a value that is masked in messages about other keys; shorter ones occur by chance."""


def has_variable(text: str) -> bool:
    """Return whether a text contains a variable."""
    return _VARIABLE.search(text) is not None


@dataclass
class _Known:
    """The values that one provider returned for one path."""

    keys: set[str] = field(default_factory=set)
    found: ConfigData = field(default_factory=lambda: ConfigData({}))

    def learn(self, keys: set[str], found: ConfigData) -> None:
        """Add an answer; the shortest time to live applies to all values."""
        self.keys |= keys
        ttls = [each.ttl for each in (self.found, found) if each.ttl is not None and each.ttl >= 0]
        self.found = ConfigData({**self.found.data, **found.data}, min(ttls, default=None))


_known: ContextVar[dict[tuple[int, str], _Known] | None] = ContextVar("known", default=None)


@contextmanager
def asked_once() -> Iterator[None]:
    """Cache the values of variables on this thread during the block.

    A connector and its tasks that start together then start with the same values.
    """
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


@dataclass(frozen=True)
class Resolved:
    """A configuration with its variables resolved."""

    raw: Mapping[str, Any]
    config: Mapping[str, Any] = field(repr=False)
    ttl: float | None = None
    """Seconds until the first value expires; None if none does."""

    @property
    def has_values(self) -> bool:
        """Return whether any variable was resolved, so that its value may change."""
        return self.config is not self.raw

    def is_hidden(self, name: str) -> bool:
        """Return whether the value of a key must not be shown."""
        return bool(self.config.get(name) != self.raw.get(name))

    def hidden(self, text: str, name: str | None = None) -> str:
        """Return a text, possibly about one key, with values replaced by their variables."""
        for key in self.raw:
            value = str(self.config[key]) if self.is_hidden(key) else ""
            for secret in (value, value.strip()):
                if secret and (key == name or len(secret) >= _TELLING):
                    text = text.replace(secret, str(self.raw[key]))
        return text

    def restored(self, configs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return configurations derived from this one with their variables restored.

        As in Kafka Connect, this goes by the names of keys: values that the connector moved to another key stay.
        """
        variables = {name: value for name, value in self.raw.items() if has_variable(value or "")}
        return [{**each, **{name: variables[name] for name in variables if name in each}} for each in configs]


class Variables:
    """Resolves variables in configurations. Thread-safe."""

    def __init__(self, providers: Mapping[str, ConfigProvider] | None = None) -> None:
        self._providers = providers or {}

    def of(self, config: Mapping[str, Any]) -> Variables:
        """Return the variables for a connector with this configuration."""
        return self

    def resolve(self, config: Mapping[str, Any]) -> Resolved:
        """Return a configuration with its variables resolved, each looked up once.

        A variable of an unknown provider, or without a value, stays unchanged. Raises ConnectError if a provider
        fails.
        """
        found: dict[tuple[str, str], ConfigData] = {}
        for (provider, path), keys in self._wanted(config).items():
            found[provider, path] = _looked_up(self._providers[provider], path, keys)
        if not found:
            return Resolved(config, config)
        values = {
            name: value and _VARIABLE.sub(lambda each: _value(each, found), value) for name, value in config.items()
        }
        ttls = [each.ttl for each in found.values() if each.ttl is not None and each.ttl >= 0]
        return Resolved(config, values, min(ttls) / 1000 if ttls else None)

    def left(self, settings: Resolved) -> list[tuple[str, str]]:
        """Return by key a warning about variables without a value, which are used literally."""
        return [
            (name, f"{each[0]} is not resolved: {self._reason(each['provider'])}")
            for name, value in settings.raw.items()
            for each in _VARIABLE.finditer(value or "")
            if each[0] in str(settings.config[name])
        ]

    def _reason(self, provider: str) -> str:
        if provider in self._providers:
            return f"config provider {provider!r} has no value for it"
        known = ", ".join(map(repr, self._providers)) or "none"
        return f"no config provider is named {provider!r}, there is {known}"

    def close(self) -> None:
        """Close all providers."""
        for provider in self._providers.values():
            provider.close()

    def _wanted(self, config: Mapping[str, Any]) -> dict[tuple[str, str], set[str]]:
        """Return the keys to look up by provider and path."""
        wanted: dict[tuple[str, str], set[str]] = {}
        for value in config.values():
            if value and "${" in value:
                for each in _VARIABLE.finditer(value):
                    if each["provider"] in self._providers:
                        wanted.setdefault((each["provider"], each["path"] or ""), set()).add(each["key"])
        return wanted


def _looked_up(provider: ConfigProvider, path: str, keys: set[str]) -> ConfigData:
    """Return a provider's values for these keys, possibly with others that were cached."""
    known = _known.get()
    if known is None:
        return provider.get(path, keys)
    of_path = known.setdefault((id(provider), path), _Known())
    if missing := keys - of_path.keys:
        of_path.learn(missing, provider.get(path, missing))
    return of_path.found


def _value(variable: re.Match[str], found: Mapping[tuple[str, str], ConfigData]) -> str:
    answer = found.get((variable["provider"], variable["path"] or ""))
    value = None if answer is None else answer.data.get(variable["key"])
    return variable[0] if value is None else value

"""Rules for the keys of Java's Kafka clients: each kind of rule is a small class with one method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hearth_api import ConfigError


@dataclass
class Translation:
    """A client's configuration for librdkafka, with warnings for the user.

    `runtime` holds the Java keys that the task runtime implements, because librdkafka has no such setting.
    """

    config: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    runtime: dict[str, str] = field(default_factory=dict)


@dataclass
class ClientRequest:
    """A translation in progress: the Java settings, the names under which the user wrote them, and the result."""

    role: str
    java: Mapping[str, str]
    written: Mapping[str, str]
    result: Translation = field(default_factory=Translation)

    def name(self, key: str) -> str:
        """Return the key as the user wrote it, with its prefix."""
        return self.written.get(key, key)

    def get(self, key: str) -> str | None:
        """Return the trimmed value of a key, None when it is not set or blank."""
        return self.java.get(key, "").strip() or None

    def set(self, key: str, value: str) -> None:
        """Set a key of librdkafka."""
        self.result.config[key] = value

    def warn(self, key: str, text: str) -> None:
        """Add a warning about a key that is not honoured; without the value, which may be secret."""
        warning = f"{self.name(key)}: {text}"
        if warning not in self.result.warnings:
            self.result.warnings.append(warning)

    def refuse(self, key: str, text: str, hint: str | None = None) -> ConfigError:
        """Return the error that ends the translation."""
        return ConfigError(f"{self.name(key)}: {text}", code="client.unsupported", hint=hint)


class Rule(Protocol):
    """Translates one Java key."""

    def apply(self, request: ClientRequest, key: str) -> None:
        """Add to the request's result, or raise `ConfigError`."""


@dataclass(frozen=True)
class Same:
    """The same setting exists in librdkafka, perhaps under other names."""

    names: tuple[str, ...] = ()

    def apply(self, request: ClientRequest, key: str) -> None:
        """Pass the text."""
        for name in self.names or (key,):
            request.set(name, request.java[key].strip())


@dataclass(frozen=True)
class Number:
    """A whole number with a narrower range in librdkafka; `scale` divides it, `special` replaces values."""

    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    scale: int = 1
    special: Mapping[int, int] = field(default_factory=dict)
    quiet_above: int | None = None

    def apply(self, request: ClientRequest, key: str) -> None:
        """Pass the number; replace one that is out of range by the nearest, with a warning."""
        given = whole_number(request, key)
        wanted = self.special.get(given, -(-given // self.scale))
        number = min(max(wanted, self.lowest), self.highest)
        if number != wanted and given != self.quiet_above:
            request.warn(key, f"{given} is out of librdkafka's range, {number * self.scale} is used")
        for name in self.names or (key,):
            request.set(name, str(number))


@dataclass(frozen=True)
class Choice:
    """One of several words, each with librdkafka's equivalent."""

    words: Mapping[str, str]
    name: str | None = None
    otherwise: str | None = None

    def apply(self, request: ClientRequest, key: str) -> None:
        """Pass librdkafka's word; refuse what Kafka does not know either."""
        word = request.java[key].strip()
        if word.lower() not in self.words:
            message = self.otherwise or f"String must be one of: {', '.join(self.words)}"
            raise ConfigError(request.name(key), word, message)
        request.set(self.name or key, self.words[word.lower()])


@dataclass(frozen=True)
class Ignored:
    """A key without effect here; warns unless the value asks for the default behaviour."""

    reason: str
    harmless: tuple[str, ...] = ()

    def apply(self, request: ClientRequest, key: str) -> None:
        """Warn."""
        if request.java[key].strip() not in ("", *self.harmless):
            request.warn(key, f"is not honoured, {self.reason}")


@dataclass(frozen=True)
class Refused:
    """A key without which the client would be unsafe or give other results: no client is created."""

    reason: str
    remedy: str
    harmless: tuple[str, ...] = ()

    def apply(self, request: ClientRequest, key: str) -> None:
        """Raise, unless the value asks for the default behaviour."""
        if request.java[key].strip() not in ("", *self.harmless):
            raise request.refuse(key, f"cannot be honoured, {self.reason}", self.remedy)


@dataclass(frozen=True)
class ByRuntime:
    """A key that the task runtime implements."""

    def apply(self, request: ClientRequest, key: str) -> None:
        """Pass the number to the runtime."""
        request.result.runtime[key] = str(whole_number(request, key))


@dataclass(frozen=True)
class Together:
    """Several keys make one setting; `translate` reads them all, whichever it is called for."""

    translate: Callable[[ClientRequest, str], None]

    def apply(self, request: ClientRequest, key: str) -> None:
        """Translate the keys that belong together."""
        self.translate(request, key)


def whole_number(request: ClientRequest, key: str) -> int:
    """Return the value of a key as a number; raises Kafka's error if it is none."""
    text = request.java[key].strip()
    try:
        return int(text)
    except ValueError:
        raise ConfigError(request.name(key), text, "Not a number of type LONG") from None


TRUTH = Choice({"true": "true", "false": "false"}, None, "Expected value to be either true or false")
"""The rule of boolean keys."""

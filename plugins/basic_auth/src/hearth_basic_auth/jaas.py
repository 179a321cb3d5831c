"""Finds and parses Java's login configuration.

The grammar is that of `javax.security.auth.login.Configuration`: an entry has a name and login modules in braces. Each
module has a flag and options. A semicolon ends each module and each entry.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hearth_api import ConfigError

FILE_PROPERTY = "java.security.auth.login.config"
OPTIONS = ("JAVA_TOOL_OPTIONS", "KAFKA_OPTS")
"""Environment variables with JVM options; the last one wins, as on Java's command line."""
FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/ | (?P<text>"(?:\\.|[^"\\])*") | (?P<sign>[{}=;]) | (?P<word>[^\s{}=;"]+)""",
    re.DOTALL | re.VERBOSE,
)
_PROPERTY = re.compile(r"\$\{([^}]*)\}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class LoginEntry:
    """A login module with its flag and options."""

    module: str
    flag: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def system_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the Java system properties that the environment sets, and the standard ones."""
    found = {"user.home": str(Path.home()), "file.separator": os.sep, "/": os.sep}
    for name in OPTIONS:
        for option in shlex.split(environment.get(name, "")):
            if option.startswith("-D"):
                key, _, value = option[2:].partition("=")
                found[key] = value
    return found


def login_entries(name: str, environment: Mapping[str, str]) -> list[LoginEntry]:
    """Return the modules of an application's entry, else of the entry `other`; empty without either.

    The file is named by the system property `java.security.auth.login.config`, else it is `~/.java.login.config`.
    Raises ConfigError if a named file cannot be read or parsed.
    """
    properties = system_properties(environment)
    named = properties.get(FILE_PROPERTY, "").removeprefix("=").removeprefix("file:")
    path = Path(named) if named else Path.home() / ".java.login.config"
    if not named and not path.exists():
        return []
    try:
        entries = parse(path.read_text("utf-8"), properties)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"Failed to retrieve JAAS configuration: {str(path)!r}: {reason}",
            hint=f"KAFKA_OPTS=-D{FILE_PROPERTY}=FILE names it",
        ) from error
    return entries.get(name, entries.get("other", []))


def parse(text: str, properties: Mapping[str, str]) -> dict[str, list[LoginEntry]]:
    """Parse the entries of a configuration; raise ValueError with the line of a syntax error."""
    words = _Words(text, properties)
    found: dict[str, list[LoginEntry]] = {}
    while words.current:
        name = words.take("the name of an entry")
        words.expect("{")
        modules = []
        while words.current != "}":
            modules.append(_module(words))
        words.expect("}")
        words.expect(";")
        found[name] = modules
    return found


def _module(words: _Words) -> LoginEntry:
    module = words.take("the class of a login module")
    flag = words.take("a flag").lower()
    if flag not in FLAGS:
        raise words.wrong(f"{flag!r} is not one of {', '.join(FLAGS)}")
    options = {}
    while words.current != ";":
        key = words.take("an option")
        words.expect("=")
        options[key] = words.take(f"a value of {key}", is_expanded=True)
    words.expect(";")
    return LoginEntry(module, flag, options)


class _Words:
    """The tokens of a configuration in order; the current token is "" at the end."""

    def __init__(self, text: str, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._tokens = _tokens(text)
        self._line = 1
        self._next()

    def take(self, what: str, is_expanded: bool = False) -> str:
        """Return the current word and advance; expand Java properties in values."""
        if not self.current or self._is_sign:
            raise self.wrong(f"{what} is missing")
        word = self.current
        self._next()
        return _PROPERTY.sub(self._value, word) if is_expanded else word

    def expect(self, sign: str) -> None:
        """Skip a sign; raise if another token is found."""
        if not self._is_sign or self.current != sign:
            raise self.wrong(f"{sign!r} is missing")
        self._next()

    def wrong(self, fact: str) -> ValueError:
        """Return an error with the current line."""
        return ValueError(f"line {self._line}: {fact}")

    def _value(self, found: re.Match[str]) -> str:
        if found[1] == "user.name":
            return getpass.getuser()
        if found[1] not in self._properties:
            raise self.wrong(f"no system property {found[1]!r} is set")
        return self._properties[found[1]]

    def _next(self) -> None:
        self._line, self._is_sign, self.current = next(self._tokens, (self._line, True, ""))


def _tokens(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the line, whether it is a sign, and the text of each token; raise ValueError for an invalid token."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        line = text.count("\n", 0, position) + 1
        if found is None:
            raise ValueError(f"line {line}: a quotation mark has no second one")
        if found["text"]:
            yield line, False, _ESCAPE.sub(r"\1", found["text"][1:-1])
        elif found["sign"] or found["word"]:
            yield line, bool(found["sign"]), found[0]
        position = found.end()

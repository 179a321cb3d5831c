"""Contexts: named clusters, and how to reach them, in a file of the user."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hearth.foundation.nearest import did_you_mean
from hearth.foundation.user_file import config_directory, make_directory, replace_durably
from hearth_api import ConfigError, NotFoundError

DEFAULT_URL = "http://localhost:8083"
URL_VARIABLE, CONTEXT_VARIABLE, KAFKA_URL_VARIABLE = "HEARTH_URL", "HEARTH_CONTEXT", "KAFKA_CONNECT_URL"
_HINT = "write an address such as https://connect.example.com:8083"


@dataclass(frozen=True)
class ClientContext:
    """How to reach a cluster: the addresses of its workers, a user, TLS files, and Kafka itself.

    ``urls`` are tried in turn. The password comes from the output of ``password_command``, else from HEARTH_PASSWORD
    or the user's netrc file, so that no context holds one. ``worker`` is a worker's properties file, for commands
    that talk to Kafka.
    """

    urls: tuple[str, ...] = (DEFAULT_URL,)
    user: str | None = None
    password_command: str | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    worker: str | None = None


def parse_urls(text: str) -> tuple[str, ...]:
    """Return the addresses in a text, separated by commas; raises ConfigError for a wrong one."""
    urls = tuple(each.strip().rstrip("/") for each in text.split(",") if each.strip())
    for url in urls:
        _check(url)
    if not urls:
        raise ConfigError(f"{text!r} has no address", code="context.url", hint=_HINT)
    return urls


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise ConfigError(f"{url!r} is not the address of a worker", code="context.url", hint=_HINT)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"the address of {parts.hostname!r} contains a user",
            code="context.url",
            hint="name the user with `hearth context set NAME --user`",
        )


class ContextFile:
    """The user's contexts, and which of them is the current one; only this user may read the file."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file, which may be missing; raises ConfigError for an invalid one."""
        self._path = path or config_directory("contexts.json")
        self.current: str | None = None
        self.contexts: dict[str, ClientContext] = {}
        if self._path.exists():
            try:
                document = json.loads(self._path.read_bytes())
                self.contexts = {name: _parse(each) for name, each in document["contexts"].items()}
                self.current = document.get("current")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigError(
                    f"{self._path} is not a file of contexts: {error}",
                    code="context.file",
                    hint="correct or remove it",
                ) from error

    def find(self, name: str) -> ClientContext:
        """Return a context by its name; raises NotFoundError."""
        if name not in self.contexts:
            raise NotFoundError(
                f"no context {name!r}{did_you_mean(name, self.contexts)}",
                code="context.unknown",
                hint="`hearth context list` shows all; `hearth context set NAME --url URL` makes one",
            )
        return self.contexts[name]

    def save(self) -> None:
        """Replace the file."""
        shown = {name: _shown(each) for name, each in sorted(self.contexts.items())}
        make_directory(self._path.parent)
        text = json.dumps({"current": self.current, "contexts": shown}, indent=1)
        replace_durably(self._path, text.encode(), mode=0o600)


def choose_context(name: str | None = None, url: str | None = None) -> ClientContext:
    """Return what a command uses: the options, else the environment, else the current context, else this machine.

    ``url`` replaces the addresses of a context that is named by option.
    """
    if url is not None:
        named = ClientContext() if name is None else ContextFile().find(name)
        return replace(named, urls=parse_urls(url))
    if name is not None:
        return ContextFile().find(name)
    if given := os.environ.get(URL_VARIABLE):
        return ClientContext(parse_urls(given))
    if given := os.environ.get(CONTEXT_VARIABLE):
        return ContextFile().find(given)
    if given := os.environ.get(KAFKA_URL_VARIABLE):
        return ClientContext(parse_urls(given))
    file = ContextFile()
    return ClientContext() if file.current is None else file.find(file.current)


def _parse(members: Mapping[str, Any]) -> ClientContext:
    return ClientContext(**{**members, "urls": parse_urls(",".join(members["urls"]))})


def _shown(context: ClientContext) -> dict[str, Any]:
    """Return the members that are set."""
    return {name: value for name, value in asdict(context).items() if value}

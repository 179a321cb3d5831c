"""Which connectors an action is about: names, a pattern, a state, or all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.client.remote_cluster import RemoteConnector
from hearth.foundation.nearest import did_you_mean
from hearth_api import ConfigError, NotFoundError


@dataclass(frozen=True)
class Selection:
    """What a user named; ``pattern`` is a regular expression for whole names, ``state`` the worst of a connector."""

    names: Sequence[str] = ()
    is_all: bool = False
    pattern: str | None = None
    state: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was named."""
        return not (self.names or self.is_all or self.pattern is not None or self.state is not None)

    def of(self, found: Mapping[str, RemoteConnector]) -> list[RemoteConnector]:
        """Return the selected connectors in the order of ``found``; raises NotFoundError for an unknown name."""
        for name in self.names:
            if name not in found:
                raise unknown_connector(name, found)
        chosen = [each for name, each in found.items() if not self.names or name in self.names]
        if self.pattern is not None:
            matcher = _compiled(self.pattern)
            chosen = [each for each in chosen if matcher.fullmatch(each.name)]
        if self.state is not None:
            chosen = [each for each in chosen if each.worst == self.state.upper()]
        return chosen

    def of_named(self, found: Mapping[str, RemoteConnector]) -> list[RemoteConnector]:
        """Return the selected connectors; raises ConfigError if nothing was named, so that nobody means all."""
        if self.is_empty:
            raise ConfigError(
                "no connector is named",
                code="client.selection",
                hint="name connectors, or use --all, --match, --state",
            )
        return self.of(found)


def unknown_connector(name: str, known: Mapping[str, object]) -> NotFoundError:
    """Return the error for a name that no connector has."""
    hint = "`hearth connectors list` shows all" if known else "the cluster has no connectors"
    return NotFoundError(f"no connector {name!r}{did_you_mean(name, known)}", code="connector.unknown", hint=hint)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(
            f"--match {pattern!r} is not a regular expression: {error}",
            code="client.pattern",
            hint="quote it, and write .* for any characters",
        ) from error

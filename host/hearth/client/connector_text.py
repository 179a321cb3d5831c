"""Writes the configuration of a connector in the forms that files of connectors have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.foundation.properties import render

RUNNING = "RUNNING"


@dataclass(frozen=True)
class WrittenConnector:
    """A connector to write: its configuration with its name, and the state in which it begins.

    ``label`` is the cluster of a Strimzi resource, empty for none.
    """

    name: str
    config: Mapping[str, str]
    state: str = RUNNING
    label: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """Return the members of the REST API's request that creates the connector."""
        state = {} if self.state == RUNNING else {"initial_state": self.state}
        return {"name": self.name, "config": self.sorted, **state}

    @property
    def sorted(self) -> dict[str, str]:
        """Return the configuration with the name and the class first, so that equal ones are equal texts."""
        config = {"name": self.name, **self.config}
        first = ("name", "connector.class", "tasks.max")
        return {key: config[key] for key in (*first, *sorted(config.keys() - set(first))) if key in config}


def _json(connector: WrittenConnector) -> str:
    return json.dumps(connector.document, indent=2, ensure_ascii=False) + "\n"


def _properties(connector: WrittenConnector) -> str:
    return render(connector.sorted)


def _yaml(connector: WrittenConnector) -> str:
    return _dumped(connector.document)


def _strimzi(connector: WrittenConnector) -> str:
    from hearth.client.strimzi import write_resource

    return _dumped(write_resource(connector.sorted, connector.state, connector.label))


def _dumped(document: Mapping[str, Any]) -> str:
    import yaml  # imported late: most commands write none

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000))


FORMS: Mapping[str, Callable[[WrittenConnector], str]] = {
    "json": _json, "properties": _properties, "yaml": _yaml, "strimzi": _strimzi,
}  # fmt: skip
"""Return the text of a connector in a form; those of several connectors may follow each other in YAML alone."""

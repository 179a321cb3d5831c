"""Files of connector configurations, in the three forms `connect-standalone` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.foundation.properties import parse
from hearth.storage import TargetState
from hearth_api import ConfigError

_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


@dataclass(frozen=True)
class ConnectorFile:
    """A connector to create at the start."""

    path: Path
    name: str
    config: dict[str, str]
    target: TargetState | None = None


def read_connector_file(path: Path) -> ConnectorFile:
    """Return what a file says: a JSON map of texts, a JSON object with `name` and `config`, or Java properties.

    Raises ConfigError, with the file's name, for one that cannot be read or has no name for its connector.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path}: {(error.strerror or str(error)).lower()}",
            code="connector_file.unreadable",
            hint="name a readable .properties or .json file",
        ) from error
    if data.decode(json.detect_encoding(data), "replace").lstrip()[:1] == "{":
        return _from_json(path, data)
    config = parse(data, str(path))
    return ConnectorFile(path, _name(path, config), config)


def _from_json(path: Path, data: bytes) -> ConnectorFile:
    try:
        document = json.loads(data, parse_int=str, parse_float=str)
    except ValueError as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error}", code="connector_file.json", hint="mend it there"
        ) from error
    if not isinstance(document.get("config"), dict):
        config = _texts(path, document)
        return ConnectorFile(path, _name(path, config), config)
    config = _texts(path, document["config"])
    name = _name(path, {"name": document.get("name"), **({} if document.get("name") else config)})
    if config.setdefault("name", name) != name:
        raise ConfigError(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'",
            code="connector_file.name",
            hint="give the name once",
        )
    return ConnectorFile(path, name, config, _target(path, document.get("initial_state")))


def _name(path: Path, config: Mapping[str, Any]) -> str:
    name = config.get("name")
    if name is None:
        raise ConfigError(
            f"Connector configuration at '{path}' is missing the mandatory 'name' configuration",
            code="connector_file.name",
            hint="add a line such as name=my-connector",
        )
    return str(name)


def _texts(path: Path, members: Mapping[str, Any]) -> dict[str, str]:
    config = {}
    for key, value in members.items():
        if isinstance(value, (dict, list)) or value is None:
            raise ConfigError(
                f"{path}: the value of {key!r} is {json.dumps(value)}, expected is text, a number, true or false",
                code="connector_file.value",
                hint="lists are written as one text with commas",
            )
        config[key] = json.dumps(value) if isinstance(value, bool) else value
    return config


def _target(path: Path, state: Any) -> TargetState | None:
    if state is None:
        return None
    if str(state).upper() not in _STATES:
        raise ConfigError(
            f"{path}: initial_state is {state!r}, expected is one of {', '.join(_STATES)}",
            code="connector_file.state",
        )
    return _STATES[str(state).upper()]

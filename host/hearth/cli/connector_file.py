"""Connector configuration files, in the three formats that `connect-standalone` accepts."""

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
    """A connector to create when the host starts."""

    path: Path
    name: str
    config: dict[str, str]
    target: TargetState | None = None


def read_connector_file(path: Path) -> ConnectorFile:
    """Read a file: a JSON map of strings, a JSON object with `name` and `config`, or Java properties.

    Raises ConfigError, with the file's name, if the file cannot be read or does not name its connector.
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
            f"{path} is not valid JSON: {error}", code="connector_file.json", hint="correct the file"
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
                f"{path}: the value of {key!r} is {json.dumps(value)}, expected a string, a number, true or false",
                code="connector_file.value",
                hint="write a list as one string, separated by commas",
            )
        config[key] = json.dumps(value) if isinstance(value, bool) else value
    return config


def _target(path: Path, state: Any) -> TargetState | None:
    if state is None:
        return None
    if str(state).upper() not in _STATES:
        raise ConfigError(
            f"{path}: initial_state is {state!r}, expected one of {', '.join(_STATES)}",
            code="connector_file.state",
        )
    return _STATES[str(state).upper()]

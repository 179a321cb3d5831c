"""Connector configuration files: those that `connect-standalone` accepts, and YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.client.strimzi import is_resource, read_resource
from hearth.foundation.properties import parse
from hearth_api import ConfigError

STATES = ("RUNNING", "PAUSED", "STOPPED")
STDIN = Path("-")
_YAML = (".yaml", ".yml")
_ENDINGS = (".json", ".properties", *_YAML)
"""Files of a folder with other endings are left out."""


@dataclass(frozen=True)
class ConnectorFile:
    """A connector as a file describes it.

    A new connector begins in ``initial_state``, RUNNING by default; ``state`` is the one it has to be in, whether it
    is new or not. ``notes`` are settings of the file that have no effect.
    """

    path: Path
    name: str
    config: dict[str, str]
    initial_state: str | None = None
    state: str | None = None
    notes: tuple[str, ...] = ()


def read_connector_file(path: Path) -> ConnectorFile:
    """Read the file of one connector.

    It is a JSON map of strings, a JSON object with `name` and `config`, YAML of either form, a `KafkaConnector` of
    Strimzi, or Java properties. Raises ConfigError, with the file's name, if the file cannot be read or does not name
    its connector.
    """
    found = list(_read(path))
    if len(found) != 1:
        raise ConfigError(
            f"{path} has {len(found)} connectors, expected one", code="connector_file.count", hint="split the file"
        )
    return found[0]


def read_connectors(paths: Sequence[Path]) -> list[ConnectorFile]:
    """Read all connectors of files and folders, `-` being the standard input; folders are searched in depth.

    Raises ConfigError if a file is invalid, or if two have a connector of the same name.
    """
    found: dict[str, ConnectorFile] = {}
    for path in paths:
        for file in _files(path):
            for each in _read(file):
                if each.name in found:
                    raise ConfigError(
                        f"{each.path} and {found[each.name].path} both have a connector {each.name!r}",
                        code="connector_file.twice",
                        hint="keep one of them",
                    )
                found[each.name] = each
    return list(found.values())


def _files(path: Path) -> Iterator[Path]:
    if path == STDIN or not path.is_dir():
        yield path
        return
    for each in sorted(path.rglob("*")):
        parts = each.relative_to(path).parts
        if each.suffix in _ENDINGS and each.is_file() and not any(part.startswith(".") for part in parts):
            yield each


def _read(path: Path) -> Iterator[ConnectorFile]:
    try:
        data = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path}: {(error.strerror or str(error)).lower()}",
            code="connector_file.unreadable",
            hint="name a readable .properties, .json or .yaml file",
        ) from error
    if data.decode(json.detect_encoding(data), "replace").lstrip()[:1] == "{":
        yield _from_document(path, _json(path, data))
    elif path.suffix in _YAML or (path == STDIN and _looks_like_yaml(data)):
        for document in _yaml(path, data):
            if document is None or (is_resource(document) and document.get("kind") != "KafkaConnector"):
                continue
            yield _from_resource(path, document) if is_resource(document) else _from_document(path, document)
    else:
        config = parse(data, str(path))
        yield ConnectorFile(path, _name(path, config), config)


def _looks_like_yaml(data: bytes) -> bool:
    """Return whether the first line that says something ends a key with a colon, which no properties file has."""
    lines = (line.strip() for line in data.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return first == b"---" or (b": " in first and b"=" not in first) or first.endswith(b":")


def _json(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data, parse_int=str, parse_float=str)
    except ValueError as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error}", code="connector_file.json", hint="correct the file"
        ) from error


def _yaml(path: Path, data: bytes) -> list[Any]:
    import yaml  # imported late: most commands and files have none

    try:
        # BaseLoader keeps every scalar as it is written: 1.50 and yes are texts of a configuration.
        return list(yaml.load_all(data, Loader=yaml.BaseLoader))
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        where = "" if place is None else f" at line {place.line + 1}, column {place.column + 1}"
        raise ConfigError(
            f"{path} is not valid YAML{where}: {getattr(error, 'problem', None) or error}",
            code="connector_file.yaml",
            hint="correct the file",
        ) from error


def _from_resource(path: Path, document: Mapping[str, Any]) -> ConnectorFile:
    found = read_resource(str(path), document)
    return ConnectorFile(path, found.name, found.config, found.state, found.state, found.notes)


def _from_document(path: Path, document: Any) -> ConnectorFile:
    if not isinstance(document, dict):
        raise ConfigError(
            f"{path} does not hold a connector", code="connector_file.form", hint="write keys and values"
        )
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
    return ConnectorFile(path, name, config, _state(path, document.get("initial_state")))


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


def _state(path: Path, state: Any) -> str | None:
    if state is None:
        return None
    if str(state).upper() not in STATES:
        raise ConfigError(
            f"{path}: initial_state is {state!r}, expected one of {', '.join(STATES)}",
            code="connector_file.state",
        )
    return str(state).upper()

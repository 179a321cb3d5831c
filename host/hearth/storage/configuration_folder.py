"""A folder of worker configurations: one properties file each, named after the configuration."""

from __future__ import annotations

import os
from pathlib import Path

from hearth.config.worker_configuration import (
    DEFAULT,
    DESCRIPTION,
    NAME,
    WorkerConfiguration,
    WorkerConfigurationNotFound,
)
from hearth.foundation.properties import load, render
from hearth.foundation.user_file import replace_durably
from hearth_api import ConfigError, ConflictError

KEY = "worker.configuration.path"
SUFFIX = ".properties"
_PRIVATE = 0o600
"""Settings of converters and config providers may contain secrets."""


class ConfigurationFolder:
    """Reads its files on every call, so edits need no notification. Without a path, only the default exists.

    Other files are ignored, as is one with the default's name.
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else Path(path).absolute()

    def check(self) -> None:
        """Raise ConfigError if the folder does not exist."""
        if self._path is not None and not self._path.is_dir():
            raise ConfigError(
                f"{KEY}={str(self._path)!r} is not a directory",
                code="worker_configuration.folder",
                hint="create it, or name an existing one",
            )

    def names(self) -> list[str]:
        """Return all names, the default's first."""
        found = [] if self._path is None else [each.stem for each in self._path.glob(f"*{SUFFIX}")]
        return [DEFAULT.name, *sorted(name for name in found if NAME.fullmatch(name) and name != DEFAULT.name)]

    def find(self, name: str) -> WorkerConfiguration:
        """Return one; raise NotFoundError if it does not exist, ConfigError if its file is invalid."""
        if name not in (known := self.names()):
            raise WorkerConfigurationNotFound(name, known)
        if name == DEFAULT.name:
            return DEFAULT
        properties = load(self._file(name))
        return WorkerConfiguration(name, properties.pop(DESCRIPTION, ""), properties)

    def create(self, configuration: WorkerConfiguration) -> None:
        """Store a new one durably; raise ConflictError if its name exists."""
        if not NAME.fullmatch(configuration.name):
            raise ConfigError(
                "name", configuration.name,
                "a name has at most 128 characters: letters, digits, '.', '_' and '-'",
            )  # fmt: skip
        if configuration.name in self.names():
            raise ConflictError(
                f"worker configuration {configuration.name!r} already exists", code="worker_configuration.exists"
            )
        described = {DESCRIPTION: configuration.description} if configuration.description else {}
        text = render({**described, **configuration.properties})
        replace_durably(self._file(configuration.name), text.encode("ascii"), _PRIVATE)

    def delete(self, name: str) -> None:
        """Delete one; raise NotFoundError if it does not exist."""
        if name not in (known := self.names()):
            raise WorkerConfigurationNotFound(name, known)
        if name == DEFAULT.name:
            raise ConflictError(
                f"worker configuration {name!r} cannot be deleted", code="worker_configuration.default"
            )
        os.unlink(self._file(name))

    def _file(self, name: str) -> Path:
        if self._path is None:
            raise ConfigError(
                f"the worker has no {KEY}, so worker configurations are not kept",
                code="worker_configuration.folder",
                hint=f"name a directory with {KEY} and restart the host",
            )
        return self._path / f"{name}{SUFFIX}"

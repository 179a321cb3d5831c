"""The worker configurations of a folder: one properties file each, whose name is theirs."""

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
"""Settings of converters and config providers may be secret."""


class ConfigurationFolder:
    """Reads the files anew each time: whoever writes one need tell nobody. Without a path there is the default alone.

    Files with other names are left alone; one that has the default's name does not take its place.
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else Path(path).absolute()

    def check(self) -> None:
        """Raise ConfigError where the folder is none."""
        if self._path is not None and not self._path.is_dir():
            raise ConfigError(
                f"{KEY}={str(self._path)!r} is no directory",
                code="worker_configuration.folder",
                hint="make it, or name one that is there",
            )

    def names(self) -> list[str]:
        """Return the names of all, the default's first."""
        found = [] if self._path is None else [each.stem for each in self._path.glob(f"*{SUFFIX}")]
        return [DEFAULT.name, *sorted(name for name in found if NAME.fullmatch(name) and name != DEFAULT.name)]

    def find(self, name: str) -> WorkerConfiguration:
        """Return one; raises NotFoundError where there is none, ConfigError where its file cannot be read."""
        if name not in (known := self.names()):
            raise WorkerConfigurationNotFound(name, known)
        if name == DEFAULT.name:
            return DEFAULT
        properties = load(self._file(name))
        return WorkerConfiguration(name, properties.pop(DESCRIPTION, ""), properties)

    def create(self, configuration: WorkerConfiguration) -> None:
        """Keep a new one; durable when this returns. Raises ConflictError where there is one of that name."""
        if not NAME.fullmatch(configuration.name):
            raise ConfigError(
                "name", configuration.name,
                "a worker configuration is called by letters, digits, '.', '_' and '-', 128 of them at most",
            )  # fmt: skip
        if configuration.name in self.names():
            raise ConflictError(
                f"worker configuration {configuration.name!r} exists already", code="worker_configuration.exists"
            )
        described = {DESCRIPTION: configuration.description} if configuration.description else {}
        text = render({**described, **configuration.properties})
        replace_durably(self._file(configuration.name), text.encode("ascii"), _PRIVATE)

    def delete(self, name: str) -> None:
        """Forget one; raises NotFoundError where there is none."""
        if name not in (known := self.names()):
            raise WorkerConfigurationNotFound(name, known)
        if name == DEFAULT.name:
            raise ConflictError(f"worker configuration {name!r} is always there", code="worker_configuration.default")
        os.unlink(self._file(name))

    def _file(self, name: str) -> Path:
        if self._path is None:
            raise ConfigError(
                f"the worker has no {KEY}, so worker configurations are not kept",
                code="worker_configuration.folder",
                hint=f"name a directory with {KEY} and restart the host",
            )
        return self._path / f"{name}{SUFFIX}"

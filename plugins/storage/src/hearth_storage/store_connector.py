"""What the connectors of all stores have, sinks and sources."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hearth_api import Config, ConfigDef, ConnectError, Connector
from hearth_storage import VERSION

_log = logging.getLogger(__name__)


class StoreConnector(Connector):
    """A connector of files in a store; each store derives a class."""

    settings: ClassVar[type[Any]]
    """Its settings, which have `place()`."""
    without_effect: ClassVar[Mapping[str, str]]
    place_key: ClassVar[str]
    """The key that names the place, for faults of it."""

    @abstractmethod
    def faults(self, settings: Any) -> Mapping[str, str]:
        """Return what is wrong across the keys, by key."""

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the keys."""
        definition: ConfigDef = self.settings.definition()
        return definition

    def validate(self, connector_configs: Mapping[str, str]) -> Config:
        """Check each key, then what they are together, then whether the store answers."""
        config = super().validate(connector_configs)
        if any(value.error_messages for value in config.values):
            return config
        settings = self.settings(connector_configs)
        for name, fault in (self.faults(settings) or self._store_faults(settings)).items():
            config[name].add_error_message(fault)
        return config

    def stop(self) -> None:
        """Do nothing, since `start` acquires nothing."""

    def log_without_effect(self, props: Mapping[str, str]) -> None:
        """Log which of the keys have no effect, and why."""
        for name, reason in self.without_effect.items():
            if name in props:
                _log.info("%s has no effect: %s", name, reason)

    def _store_faults(self, settings: Any) -> Mapping[str, str]:
        """Return why the store does not answer, under the key that names the place."""
        try:
            settings.place().check()
        except ConnectError as error:
            return {self.place_key: f"{error}: {error.hint}" if error.hint else str(error)}
        return {}

"""The common base of reading and writing with a registry: the client and the error messages."""

from __future__ import annotations

from hearth_api import ConfigError
from hearth_registry.failure_wording import Wording
from hearth_registry.registry import LATEST, RegisteredSchema, Registry
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_format import SchemaFormat
from hearth_registry.subject import SubjectStrategy


class RegistrySide:
    """The keys or values of topics, and the registry of their schemas."""

    def __init__(
        self,
        settings: RegistrySettings,
        is_key: bool,
        form: SchemaFormat,
        registry: Registry,
        strategy: SubjectStrategy,
    ) -> None:
        """Configure without sending a request."""
        self._settings = settings
        self._form = form
        self._registry = registry
        self._strategy = strategy
        self._wording = Wording(form.schema_type, is_key)
        self._metadata = _metadata_of(settings)

    @property
    def _wants_latest(self) -> bool:
        """Return whether the latest version is used, with or without a metadata filter."""
        return bool(self._settings.use_latest_version or self._metadata)

    def _latest(self, subject: str) -> RegisteredSchema:
        """Return the latest version of a subject that matches the metadata filter."""
        if self._metadata:
            return self._registry.by_metadata(subject, self._metadata)
        return self._registry.by_version(subject, LATEST)


def _metadata_of(settings: RegistrySettings) -> dict[str, str]:
    """Parse use.latest.with.metadata; empty if it is not set."""
    pairs = [part.partition("=") for part in (settings.use_latest_with_metadata or "").split(",") if part.strip()]
    if not all(found for _, found, _ in pairs):
        raise ConfigError("use.latest.with.metadata", settings.use_latest_with_metadata, "it is not KEY=VALUE,...")
    return {name.strip(): value.strip() for name, _, value in pairs}

"""What reading and writing with a registry have in common: whom to ask, and how what goes wrong is worded."""

from __future__ import annotations

from hearth_api import ConfigError
from hearth_registry.failure_wording import Wording
from hearth_registry.registry import LATEST, RegisteredSchema, Registry
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_format import SchemaFormat
from hearth_registry.subject import SubjectStrategy


class RegistrySide:
    """Keys or values of topics, and the registry that knows their schemas."""

    def __init__(
        self,
        settings: RegistrySettings,
        is_key: bool,
        form: SchemaFormat,
        registry: Registry,
        strategy: SubjectStrategy,
    ) -> None:
        """Prepare; the registry is asked when there is something to convert."""
        self._settings = settings
        self._form = form
        self._registry = registry
        self._strategy = strategy
        self._wording = Wording(form.schema_type, is_key)
        self._metadata = _metadata_of(settings)

    @property
    def _wants_latest(self) -> bool:
        """Return whether the latest version of a subject counts, or the latest that carries some metadata."""
        return bool(self._settings.use_latest_version or self._metadata)

    def _latest(self, subject: str) -> RegisteredSchema:
        """Return the latest version of a subject, of those that carry some metadata."""
        if self._metadata:
            return self._registry.by_metadata(subject, self._metadata)
        return self._registry.by_version(subject, LATEST)


def _metadata_of(settings: RegistrySettings) -> dict[str, str]:
    """Return what use.latest.with.metadata says, nothing where it is not set."""
    pairs = [part.partition("=") for part in (settings.use_latest_with_metadata or "").split(",") if part.strip()]
    if not all(found for _, found, _ in pairs):
        raise ConfigError("use.latest.with.metadata", settings.use_latest_with_metadata, "it is not KEY=VALUE,...")
    return {name.strip(): value.strip() for name, _, value in pairs}

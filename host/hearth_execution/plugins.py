"""Loaded plugins of one environment, by role.

The same class serves the plugins that are installed with the host, inside the task runtime, and those of a bundle,
inside its stage process. ``transformation`` and ``converter`` run them on batches.
"""

from __future__ import annotations

import traceback
from typing import Any

from hearth_api import Batch, Converter, HeaderConverter, batch_to_sink_records, batch_to_source_records
from hearth_execution.attempt import Attempts
from hearth_execution.load import load_class, version_of
from hearth_execution.retry import NO_RETRY, Retry

_PHASE_OF_ROLE = {
    "key.converter": "KEY_CONVERTER",
    "value.converter": "VALUE_CONVERTER",
    "header.converter": "HEADER_CONVERTER",
}


class Plugins:
    """The plugins of one environment that one task uses."""

    def __init__(self, type_: str, retry: Retry = NO_RETRY) -> None:
        self._is_source = type_ == "source"
        self.retry = retry
        self._loaded: dict[str, Any] = {}
        self._class_names: dict[str, str] = {}

    def load(self, role: str, class_name: str, reference: str, config: dict[str, str]) -> str | None:
        """Create and configure the plugin of a role; returns its version."""
        plugin = load_class(reference)()
        if isinstance(plugin, Converter) and role != "header.converter":
            plugin.configure(config, role == "key.converter")
        elif isinstance(plugin, HeaderConverter) and role == "header.converter":
            plugin.configure({"converter.type": "header", **config})
        else:
            plugin.configure(config)
        self._loaded[role] = plugin
        self._class_names[role] = class_name
        return version_of(plugin)

    def __getitem__(self, role: str) -> Any:
        """Return the plugin of a role."""
        return self._loaded[role]

    def class_name(self, role: str) -> str:
        """Return the class name under which the plugin of a role is known."""
        return self._class_names[role]

    def attempts(self, role: str) -> Attempts:
        """Return what runs the plugin of a role on rows, whose phase is named as in Kafka Connect."""
        return Attempts(self.retry, _PHASE_OF_ROLE.get(role, "TRANSFORMATION"), self.class_name(role))

    def records(self, batch: Batch) -> list[Any]:
        """Return the rows of a batch as the records this task's kind of connector has."""
        return batch_to_source_records(batch) if self._is_source else batch_to_sink_records(batch)

    def close(self) -> None:
        """Close every plugin; what one of them raises does not keep the others open."""
        plugins, self._loaded = list(self._loaded.values()), {}
        for plugin in plugins:
            try:
                plugin.close()
            except Exception:
                traceback.print_exc()

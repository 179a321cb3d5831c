"""Endpoints for plugins."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hearth.discovery import PluginType
from hearth.herder.herder import Herder
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.validation.connector_validator import ValidationFailed
from hearth.rest.answer import INTERNAL, AnswerTimeout, JsonAnswer, answer
from hearth.rest.body import read_map
from hearth.rest.endpoint import Query
from hearth_api import UNDEFINED_VERSION, ConfigError

CONNECTORS = (PluginType.SINK, PluginType.SOURCE)
LISTED = (
    *CONNECTORS,
    PluginType.TRANSFORMATION,
    PluginType.PREDICATE,
    PluginType.CONVERTER,
    PluginType.HEADER_CONVERTER,
)
CONNECTORS_ONLY = Query("connectorsOnly", "Whether to list only connectors.", True)
VERSION = Query(
    "version", "The version of the plugin: a number, a range in Maven's or PEP 440's syntax, or latest.", "latest"
)
WARNINGS = Query(
    "warnings", "Whether to include warnings about settings that have no effect, which Java does not.", False
)
_SUFFIX = "Connector"


class ConnectorPluginsResource:
    """One method for each route below `/connector-plugins`."""

    def __init__(self, herder: Herder, directory: PluginDirectory, answer_timeout: AnswerTimeout) -> None:
        self._herder = herder
        self._directory = directory
        self._wait = answer_timeout.wait

    async def list(self, request: Request) -> Response:
        """List the connectors, or all plugins by type."""
        found = [
            {"class": plugin.class_name, "type": str(plugin.type), "version": plugin.version}
            for type_ in (CONNECTORS if CONNECTORS_ONLY.flag(request) else LISTED)
            for plugin in self._directory.catalogue.of_type(type_)
        ]
        for row in found:
            if row["version"] == UNDEFINED_VERSION:
                del row["version"]
        return JsonAnswer(found)

    async def keys(self, request: Request) -> Response:
        """Show the key definitions of a plugin."""
        name, version = request.path_params["pluginName"], VERSION.text(request)
        return JsonAnswer(await self._wait(self._herder.plugin_keys(name, version)))

    async def validate(self, request: Request) -> Response:
        """Validate a connector's configuration; `warnings` adds those about settings that have no effect."""
        name, config = str(request.path_params["pluginName"]), await read_map(request)
        included = config.get("connector.class")
        if included is not None and not _pruned(included).endswith(_pruned(name)):
            raise ConfigError(f"Included connector type {included} does not match request type {name}")
        try:
            check = self._herder.examine if WARNINGS.flag(request) else self._herder.validate
            return JsonAnswer(await self._wait(check(config)))
        except (ConfigError, ValidationFailed) as error:
            # Kafka Connect's own answer: there the error has passed another thread and lost its status.
            is_refused = isinstance(error, ConfigError)
            name = "connect.runtime.rest.errors.BadRequestException" if is_refused else "common.config.ConfigException"
            return answer(INTERNAL, f"org.apache.kafka.{name}: {error}")


def _pruned(name: str) -> str:
    return name[: -len(_SUFFIX)] if name.endswith(_SUFFIX) and len(name) > len(_SUFFIX) else name

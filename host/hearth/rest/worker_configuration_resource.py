"""Endpoints for worker configurations, which replace the worker's own settings for connectors that name one."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hearth.config.worker_configuration import WorkerConfiguration
from hearth.herder.herder import Herder
from hearth.rest.answer import JsonAnswer, TooLong, Unreadable
from hearth.rest.body import WorkerConfigurationRequest
from hearth_api import ConfigError


class WorkerConfigurationsResource:
    """One method for each route below `/worker-configurations`; none waits for a connector."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    async def list(self, request: Request) -> Response:
        """List names and descriptions."""
        found = await asyncio.to_thread(self._herder.worker_configurations.list)
        return JsonAnswer([{"name": each.name, "description": each.description} for each in found])

    async def create(self, request: Request) -> Response:
        """Create a worker configuration, which cannot be changed afterwards."""
        given = await _read(request)
        made = await asyncio.to_thread(self._herder.worker_configurations.create, given)
        location = f"{str(request.base_url).rstrip('/')}/worker-configurations/{given.name}"
        return JsonAnswer(_shown(made), 201, {"location": location})

    async def info(self, request: Request) -> Response:
        """Show a worker configuration."""
        return JsonAnswer(_shown(await asyncio.to_thread(self._herder.worker_configurations.find, _name(request))))

    async def delete(self, request: Request) -> Response:
        """Delete a worker configuration that no connector names."""
        await asyncio.to_thread(self._herder.worker_configurations.delete, _name(request))
        return Response(status_code=204)


async def _read(request: Request) -> WorkerConfiguration:
    """Read the body; a missing one is a client error here, even though Kafka Connect would report a server error."""
    try:
        body = await WorkerConfigurationRequest.read(request)
    except TooLong:
        raise
    except Unreadable as error:
        raise ConfigError(str(error), code="worker_configuration.body") from error
    return WorkerConfiguration(body.name, body.description, body.config)


def _name(request: Request) -> str:
    return str(request.path_params["configuration"])


def _shown(configuration: WorkerConfiguration) -> dict[str, Any]:
    return {
        "name": configuration.name,
        "description": configuration.description,
        "config": dict(configuration.properties),
    }

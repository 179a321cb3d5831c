"""Endpoints for log levels (KIP-495, KIP-976)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from hearth.foundation.log_level import levels
from hearth.rest.answer import JsonAnswer, Unreadable
from hearth.rest.body import read_map
from hearth.rest.endpoint import Query
from hearth_api import ConfigError, NotFoundError
from hearth_api.java import trimmed
from hearth_stage.level import LEVELS

log = logging.getLogger(__name__)

WORKER, CLUSTER = "worker", "cluster"
SCOPE = Query("scope", "Whether to set the level on this worker or on the whole cluster.", WORKER)


class LoggersResource:
    """One method for each route below `/admin/loggers`."""

    def __init__(self, share: Callable[[str, str], object] = levels.set) -> None:
        """``share`` sets the level of a logger on all hosts of the cluster, and may block on the brokers."""
        self._share = share

    async def list(self, request: Request) -> Response:
        """List the loggers with their levels, without those that are off."""
        return JsonAnswer({name: each for name, each in levels.all().items() if each["level"] != "OFF"})

    async def level(self, request: Request) -> Response:
        """Show the level of a logger."""
        name = str(request.path_params["logger"])
        found = levels.find(name)
        if found is None:
            raise NotFoundError(f"Logger {name} not found.", code="logger.unknown")
        return JsonAnswer(found)

    async def set_level(self, request: Request) -> Response:
        """Set the level of a logger and its descendants, also in tasks and plugins.

        The response lists the changed loggers of this host; for the whole cluster it is empty.
        """
        given = (await read_map(request, "levelMap")).get("level")
        if given is None:
            raise ConfigError("Desired 'level' parameter was not specified in request.", code="logger.level")
        if not given:
            raise Unreadable("Illegal null or empty Level name.")
        level = trimmed(given).upper()
        if level not in LEVELS:
            raise NotFoundError(f"invalid log level '{given}'.", code="logger.level")
        name = str(request.path_params["logger"])
        if _scope(request) == CLUSTER:
            await asyncio.to_thread(self._share, name, level)
            return Response(status_code=204)
        return JsonAnswer(levels.set(name, level))


def _scope(request: Request) -> str:
    given = SCOPE.text(request) or ""
    if given.lower() not in (WORKER, CLUSTER):
        log.warning("unknown scope %r for a log level, using %r", given, WORKER)
    return given.lower()

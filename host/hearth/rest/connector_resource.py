"""Endpoints for connectors and tasks."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.herder import Created, Herder
from hearth.rest.answer import AnswerTimeout, JsonAnswer
from hearth.rest.body import CreateRequest, no_changes, read_changes, read_map, read_maps
from hearth.rest.endpoint import Query
from hearth.rest.named_path import location
from hearth.rest.request_signature import SignatureCheck
from hearth.storage import RestartRequest, TargetState
from hearth_api import ConfigError, ConnectError, NotFoundError

_INT = re.compile(r"[+-]?[0-9]{1,20}")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
"""Task numbers are Java ints."""


EXPAND = Query("expand", "What to show of every connector instead of its name.", values=("status", "info"))
INCLUDE_TASKS = Query("includeTasks", "Whether to restart the tasks as well.", False)
ONLY_FAILED = Query("onlyFailed", "Whether to restart only what has failed.", False)


class ConnectorsResource:
    """One method for each route below `/connectors`."""

    def __init__(
        self, herder: Herder, answer_timeout: AnswerTimeout, signatures: SignatureCheck | None = None
    ) -> None:
        """``signatures`` authenticates other workers; a standalone worker has none."""
        self._herder = herder
        self._signatures = signatures
        self._view = herder.view
        self._wait = answer_timeout.wait

    async def list(self, request: Request) -> Response:
        """List the names of all connectors, with status or info if requested."""
        names = self._herder.connectors()
        if EXPAND.name not in request.query_params:
            return JsonAnswer(names)
        return JsonAnswer({name: found for name in names if (found := self._expanded(name, request)) is not None})

    async def create(self, request: Request) -> Response:
        """Create a connector, optionally with initial offsets (KIP-995)."""
        body = await CreateRequest.read(request)
        config = _named(body.name, body.config)
        if body.offsets is None:
            creation = self._herder.put(body.name, config, body.target, replace=False)
        else:
            creation = self._herder.create_at(body.name, config, body.target, body.offsets)
        created = await self._wait(creation)
        return _created(request, body.name, created)

    async def info(self, request: Request) -> Response:
        """Show a connector."""
        return JsonAnswer(self._view.info(_name(request)))

    async def config(self, request: Request) -> Response:
        """Show the configuration of a connector."""
        return JsonAnswer(self._view.info(_name(request))["config"])

    async def put_config(self, request: Request) -> Response:
        """Create a connector or replace its configuration."""
        name = _name(request)
        created = await self._wait(self._herder.put(name, _named(name, await read_map(request))))
        return _created(request, name, created) if created.is_new else JsonAnswer(created.info)

    async def patch_config(self, request: Request) -> Response:
        """Change single keys of a configuration."""
        changes = await read_changes(request)
        if changes is None:
            self._view.info(_name(request))  # an unknown connector is reported first, even without changes
            raise no_changes()
        created = await self._wait(self._herder.patch(_name(request), changes))
        return JsonAnswer(created.info)

    async def status(self, request: Request) -> Response:
        """Show the state of a connector and its tasks."""
        return JsonAnswer(self._view.connector(_name(request)))

    async def tasks(self, request: Request) -> Response:
        """Show the configurations of a connector's tasks."""
        return JsonAnswer(self._view.tasks(_name(request)))

    async def task_status(self, request: Request) -> Response:
        """Show the state of a task."""
        return JsonAnswer(self._view.task(_name(request), _task(request)))

    async def restart_task(self, request: Request) -> Response:
        """Restart a task."""
        await self._wait(self._herder.restart_task(_name(request), _task(request)))
        return Response(status_code=204)

    async def restart(self, request: Request) -> Response:
        """Restart a connector; with either flag the response is the restart plan."""
        wanted = RestartRequest(_name(request), ONLY_FAILED.flag(request), INCLUDE_TASKS.flag(request))
        if not wanted.only_failed and not wanted.include_tasks:
            await self._wait(self._herder.restart_connector(wanted.connector))
            return Response(status_code=204)
        return JsonAnswer(await self._wait(self._herder.restart(wanted)), 202)

    async def pause(self, request: Request) -> Response:
        """Pause a connector asynchronously."""
        self._herder.want(_name(request), TargetState.PAUSED)
        return Response(status_code=202)

    async def resume(self, request: Request) -> Response:
        """Resume a connector asynchronously."""
        self._herder.want(_name(request), TargetState.STARTED)
        return Response(status_code=202)

    async def stop(self, request: Request) -> Response:
        """Stop a connector and remove its tasks."""
        await self._wait(self._herder.want(_name(request), TargetState.STOPPED))
        return Response(status_code=204)

    async def delete(self, request: Request) -> Response:
        """Delete a connector."""
        await self._wait(self._herder.delete(_name(request)))
        return Response(status_code=204)

    async def put_tasks(self, request: Request) -> Response:
        """Replace task configurations for a follower; a standalone worker has none."""
        if self._signatures is None:
            raise ConnectError(
                "Kafka Connect in standalone mode does not support externally setting task configurations."
            )
        await self._signatures.refuse_unsigned(request)
        await self._wait(self._herder.put_tasks(_name(request), await read_maps(request)))
        return Response(status_code=204)

    async def fence(self, request: Request) -> Response:
        """Fence zombie tasks for a follower; a standalone worker has none."""
        if self._signatures is None:
            raise ConnectError("Kafka Connect in standalone mode does not support exactly-once source connectors.")
        await self._signatures.refuse_unsigned(request)
        await self._wait(self._herder.fence(_name(request)))
        return Response(status_code=204)

    def _expanded(self, name: str, request: Request) -> dict[str, Any] | None:
        """Return the expanded entry of a connector, None if it has just been deleted."""
        found = {}
        try:
            for expansion in request.query_params.getlist(EXPAND.name):
                if expansion == "status":
                    found["status"] = self._view.connector(name)
                elif expansion == "info":
                    found["info"] = self._view.info(name)
        except NotFoundError:
            return None
        return found


def _name(request: Request) -> str:
    return str(request.path_params["connector"])


def _task(request: Request) -> int:
    text = str(request.path_params["task"])
    if not _INT.fullmatch(text) or not _INT_MIN <= int(text) <= _INT_MAX:
        raise HTTPException(404)
    return int(text)


def _named(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with its connector's name."""
    included = config.get("name")
    if included is not None and included != name:
        raise ConfigError(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})",
            code="connector.name",
        )
    return {**config, "name": name}


def _created(request: Request, name: str, created: Created) -> Response:
    return JsonAnswer(created.info, 201, {"location": location(request, name)})

"""The application: every route, and what goes for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hearth.herder.herder import Herder
from hearth.herder.plugin import PluginDirectory
from hearth.rest.connector import ConnectorAnswers
from hearth.rest.error import Unreadable, on_connect_error, on_http_error, on_other_error, on_unreadable
from hearth.rest.header import middleware
from hearth.rest.plugin import PluginAnswers
from hearth.rest.wait import Patience
from hearth.runtime.config import WorkerConfig
from hearth_api import ConnectError

Answer = Callable[[Request], Awaitable[Response]]

HEALTHY = "Worker has completed startup and is ready to handle requests."
STARTING = "Worker is still starting up."


@dataclass(frozen=True)
class ServerInfo:
    """What the root says of this server."""

    version: str
    commit: str
    kafka_cluster_id: str


@dataclass
class Health:
    """Whether the host has done what it does at its start."""

    is_ready: bool = False


def new_app(
    worker: WorkerConfig,
    herder: Herder,
    directory: PluginDirectory,
    info: ServerInfo,
    health: Health,
    patience: Patience | None = None,
) -> Starlette:
    """Return the application over a herder."""
    patience = patience or Patience()
    return Starlette(
        routes=[
            *_general(info, health),
            *_connectors(ConnectorAnswers(herder, patience)),
            *_plugins(PluginAnswers(herder, directory, patience)),
        ],
        middleware=middleware(worker),
        exception_handlers={
            HTTPException: on_http_error,
            ConnectError: on_connect_error,
            Unreadable: on_unreadable,
            Exception: on_other_error,
        },
    )


def _general(info: ServerInfo, health: Health) -> list[Route]:
    async def root(request: Request) -> Response:
        shown = {"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id}
        return JSONResponse(shown)

    async def state(request: Request) -> Response:
        if health.is_ready:
            return JSONResponse({"status": "healthy", "message": HEALTHY})
        return JSONResponse({"status": "starting", "message": STARTING}, 503)

    return [_route("GET", "/", root), _route("GET", "/health", state)]


def _connectors(answers: ConnectorAnswers) -> list[Route]:
    one = "/connectors/{connector}"
    return [
        _route("GET", "/connectors", answers.list),
        _route("POST", "/connectors", answers.create),
        _route("GET", one, answers.info),
        _route("DELETE", one, answers.delete),
        _route("GET", f"{one}/config", answers.config),
        _route("PUT", f"{one}/config", answers.put_config),
        _route("PATCH", f"{one}/config", answers.patch_config),
        _route("GET", f"{one}/status", answers.status),
        _route("POST", f"{one}/restart", answers.restart),
        _route("PUT", f"{one}/pause", answers.pause),
        _route("PUT", f"{one}/resume", answers.resume),
        _route("PUT", f"{one}/stop", answers.stop),
        _route("GET", f"{one}/tasks", answers.tasks),
        _route("GET", f"{one}/tasks/{{task}}/status", answers.task_status),
        _route("POST", f"{one}/tasks/{{task}}/restart", answers.restart_task),
    ]


def _plugins(answers: PluginAnswers) -> list[Route]:
    one = "/connector-plugins/{plugin}/config"
    return [
        _route("GET", "/connector-plugins", answers.list),
        _route("GET", one, answers.keys),
        _route("PUT", f"{one}/validate", answers.validate),
    ]


def _route(method: str, path: str, answer: Answer) -> Route:
    return Route(path, answer, methods=[method])

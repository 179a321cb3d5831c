"""The application: every route, and what goes for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hearth.config import WorkerConfig
from hearth.herder.herder import Herder
from hearth.herder.plugin.directory import PluginDirectory
from hearth.rest.answer import (
    JsonAnswer,
    Patience,
    Unreadable,
    on_connect_error,
    on_http_error,
    on_other_error,
    on_unreadable,
)
from hearth.rest.body import refuse_other_types
from hearth.rest.connector_resource import ConnectorsResource
from hearth.rest.middleware import middleware
from hearth.rest.offset_resource import OffsetsResource
from hearth.rest.plugin_resource import ConnectorPluginsResource
from hearth.rest.topic_resource import TopicsResource
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
            *_connectors(ConnectorsResource(herder, patience)),
            *_offsets(OffsetsResource(herder, patience)),
            *_topics(TopicsResource(herder, worker, patience)),
            *_plugins(ConnectorPluginsResource(herder, directory, patience)),
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
        return JsonAnswer(shown)

    async def state(request: Request) -> Response:
        if health.is_ready:
            return JsonAnswer({"status": "healthy", "message": HEALTHY})
        return JsonAnswer({"status": "starting", "message": STARTING}, 503)

    return [_route("GET", "/", root), _route("GET", "/health", state)]


def _connectors(resource: ConnectorsResource) -> list[Route]:
    one = "/connectors/{connector}"
    return [
        _json_route("GET", "/connectors", resource.list),
        _json_route("POST", "/connectors", resource.create),
        _json_route("GET", one, resource.info),
        _json_route("DELETE", one, resource.delete),
        _json_route("GET", f"{one}/config", resource.config),
        _json_route("PUT", f"{one}/config", resource.put_config),
        _json_route("PATCH", f"{one}/config", resource.patch_config),
        _json_route("GET", f"{one}/status", resource.status),
        _json_route("POST", f"{one}/restart", resource.restart),
        _json_route("PUT", f"{one}/pause", resource.pause),
        _json_route("PUT", f"{one}/resume", resource.resume),
        _json_route("PUT", f"{one}/stop", resource.stop),
        _json_route("GET", f"{one}/tasks", resource.tasks),
        _json_route("GET", f"{one}/tasks/{{task}}/status", resource.task_status),
        _json_route("POST", f"{one}/tasks/{{task}}/restart", resource.restart_task),
    ]


def _offsets(resource: OffsetsResource) -> list[Route]:
    offsets = "/connectors/{connector}/offsets"
    return [
        _json_route("GET", offsets, resource.list),
        _json_route("PATCH", offsets, resource.alter),
        _json_route("DELETE", offsets, resource.reset),
    ]


def _topics(resource: TopicsResource) -> list[Route]:
    topics = "/connectors/{connector}/topics"
    return [
        _json_route("GET", topics, resource.list),
        _json_route("PUT", f"{topics}/reset", resource.reset),
    ]


def _plugins(resource: ConnectorPluginsResource) -> list[Route]:
    one = "/connector-plugins/{plugin}/config"
    return [
        _json_route("GET", "/connector-plugins", resource.list),
        _json_route("GET", one, resource.keys),
        _json_route("PUT", f"{one}/validate", resource.validate),
    ]


def _json_route(method: str, path: str, answer: Answer) -> Route:
    """Return a route that takes nothing but JSON: a page of elsewhere cannot send that without being asked first."""

    async def checked(request: Request) -> Response:
        refuse_other_types(request)
        return await answer(request)

    return _route(method, path, checked)


def _route(method: str, path: str, answer: Answer) -> Route:
    return Route(path, answer, methods=[method])

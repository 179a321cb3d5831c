"""The application: all routes and their middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from hearth.config import WorkerConfig
from hearth.foundation.log_level import levels
from hearth.herder.health_check import HealthCheck
from hearth.herder.herder import Herder
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.queue import then
from hearth.metric.sensor import Measurement
from hearth.rest import own_route
from hearth.rest.answer import (
    AnswerTimeout,
    JsonAnswer,
    TimedOut,
    Unreadable,
    on_connect_error,
    on_http_error,
    on_other_error,
    on_unreadable,
)
from hearth.rest.bundle_resource import BundlesResource
from hearth.rest.connector_resource import EXPAND, INCLUDE_TASKS, ONLY_FAILED, ConnectorsResource
from hearth.rest.endpoint import Answer, Endpoint, Judge, Responder, by, routes
from hearth.rest.entity import (
    ACTIVE_TOPICS,
    CONFIG,
    CONFIG_INFOS,
    CONFIG_KEYS,
    CONNECTOR_INFO,
    CONNECTOR_STATE_INFO,
    CONNECTORS,
    CREATE_REQUEST,
    GIVEN_CONFIG,
    LOGGER_LEVEL,
    LOGGER_LEVELS,
    MESSAGE,
    NAMES,
    OFFSETS,
    PLUGINS,
    SERVER_INFO,
    TASK_STATE,
    TASKS,
    WORKER_STATUS,
)
from hearth.rest.event_resource import EventsResource
from hearth.rest.hearth_resource import HearthResource
from hearth.rest.letter_resource import LettersResource
from hearth.rest.log_resource import LogsResource
from hearth.rest.logger_resource import SCOPE, LoggersResource
from hearth.rest.metrics_resource import MetricsResource
from hearth.rest.middleware import limits, middleware, same_origin
from hearth.rest.named_path import by_name, served
from hearth.rest.offset_resource import OffsetsResource
from hearth.rest.owner_resource import OwnersResource
from hearth.rest.page_resource import PageResource
from hearth.rest.plugin_resource import CONNECTORS_ONLY, VERSION, WARNINGS, ConnectorPluginsResource
from hearth.rest.preview_resource import PreviewResource
from hearth.rest.topic_resource import TopicsResource
from hearth.rest.worker_configuration_resource import WorkerConfigurationsResource
from hearth_api import ConnectError

if TYPE_CHECKING:
    from hearth.rest.extension import Extensions
    from hearth.rest.forward import Forwarder
    from hearth.rest.request_signature import SignatureCheck

ShareLevel = Callable[[str, str], object]
"""Sets the level of a logger on all hosts of a cluster."""

HEALTHY = "Worker has completed startup and is ready to handle requests."
HTML = "text/html"
ALIVE = "Worker is alive."
STARTING = "Worker is still starting up."
UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."
HEALTH_SECONDS = 10.0
"""Time limit of a health check, as in Kafka Connect."""


@dataclass(frozen=True)
class ServerInfo:
    """The content of the response to `/`."""

    version: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True)
class ClusterAccess:
    """How the application reaches the other hosts of its cluster; by default there are none.

    A ``forwarder`` forwards requests to another host. ``share_level`` sets a logger level on all hosts. ``signatures``
    authenticates the requests of other workers.
    """

    forwarder: Forwarder | None = None
    share_level: ShareLevel = levels.set
    signatures: SignatureCheck | None = None


ALONE = ClusterAccess()


@dataclass
class Health:
    """Whether the host has started, and the time limit of a health check."""

    ready: Future[None] = field(default_factory=Future)
    answer_timeout: AnswerTimeout = field(default_factory=lambda: AnswerTimeout(HEALTH_SECONDS))


def new_app(
    worker: WorkerConfig,
    herder: Herder,
    directory: PluginDirectory,
    info: ServerInfo,
    health: Health,
    answer_timeout: AnswerTimeout | None = None,
    extensions: Extensions | None = None,
    cluster: ClusterAccess = ALONE,
) -> Starlette:
    """Return the application over a herder."""
    answer_timeout = answer_timeout or AnswerTimeout()
    version = {"version": info.version, "commit": info.commit}
    is_administered = worker.admin_listeners is None

    def measured() -> Iterator[Measurement]:
        return chain(herder.metrics.collect(version), herder.reporter.conditions())

    endpoints = [
        *_general(info, health, herder.health, herder.liveness),
        own_route.metrics(MetricsResource(measured, worker.metrics_names)),
        *_connectors(ConnectorsResource(herder, answer_timeout, cluster.signatures)),
        *_offsets(OffsetsResource(herder, answer_timeout)),
        *_topics(TopicsResource(herder, worker, answer_timeout)),
    ]
    endpoints += [
        *by_name(endpoints),
        *own_route.owners(OwnersResource(herder, answer_timeout)),
        *own_route.letters(LettersResource(herder)),
        *own_route.reports(HearthResource(herder.reporter), LogsResource() if is_administered else None),
        *_plugins(ConnectorPluginsResource(herder, directory, answer_timeout)),
        *own_route.bundles(BundlesResource(worker, directory)),
        *own_route.worker_configurations(WorkerConfigurationsResource(herder)),
        *own_route.previews(PreviewResource(herder)),
    ]
    if is_administered:
        endpoints += _admin(cluster.share_level)
    events = EventsResource(herder)
    endpoints += own_route.events(events)
    if worker.ui_enabled:
        endpoints += own_route.page(PageResource(worker))
    if cluster.forwarder is not None:
        endpoints = [cluster.forwarder.placed(each) for each in endpoints]
    endpoints += _description(endpoints, info)
    if extensions is None:
        app = _app(endpoints, middleware(worker))
    else:
        app = _app([*endpoints, *extensions.endpoints(endpoints)], middleware(worker), extensions.judge)
    app.state.end_streams = events.feed.end
    return app


def new_admin_app(worker: WorkerConfig, share_level: ShareLevel = levels.set) -> Starlette:
    """Return the application for `admin.listeners`, without configured headers, as in Kafka Connect."""
    return _app(_admin(share_level), [*limits(), same_origin(worker)])


def _app(endpoints: Sequence[Endpoint], around: Sequence[Middleware], judge: Judge | None = None) -> Starlette:
    return Starlette(
        routes=[served(each) for each in routes(endpoints, judge)],
        middleware=around,
        exception_handlers={
            HTTPException: on_http_error,
            ConnectError: on_connect_error,
            Unreadable: on_unreadable,
            Exception: on_other_error,
        },
    )


def _admin(share_level: ShareLevel) -> list[Endpoint]:
    """Return the routes below `/admin`, and that of the log, which only administrators may have to see."""
    resource, all_, one = LoggersResource(share_level), "/admin/loggers", "/admin/loggers/{logger}"
    done = {200: NAMES, 204: None}
    return [
        Endpoint("GET", all_, resource.list, "listLoggers", {200: LOGGER_LEVELS}),
        Endpoint("GET", one, resource.level, "getLogger", {200: LOGGER_LEVEL}),
        Endpoint("PUT", one, resource.set_level, "setLevel", done, (SCOPE,), body=GIVEN_CONFIG),
        *own_route.logs(LogsResource()),
    ]


def _description(endpoints: Sequence[Endpoint], info: ServerInfo) -> list[Endpoint]:
    """Return the endpoints of the API's description, which is generated on first use."""

    async def described(request: Request) -> Response:
        """Describe this API as an OpenAPI document."""
        from hearth.rest.openapi import document

        return JsonAnswer(document(endpoints, info.version))

    async def shown(request: Request) -> Response:
        """Describe this API as an HTML page."""
        from hearth.rest.openapi import document, page

        return HTMLResponse(page(document(endpoints, info.version)))

    return [
        Endpoint("GET", "/openapi.json", described, "openApi", {200: None}, takes_json=False, is_hidden=True),
        Endpoint(
            "GET", "/openapi.html", shown, "openApiPage", {200: None}, takes_json=False, is_hidden=True, makes=HTML
        ),
    ]


def _general(info: ServerInfo, health: Health, check: HealthCheck, liveness: HealthCheck) -> list[Endpoint]:
    async def root(request: Request) -> Response:
        """Show the version of this worker and the Kafka cluster it uses."""
        shown = {"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id}
        return JsonAnswer(shown)

    async def state(request: Request) -> Response:
        """Show whether this worker has started and handles requests (KIP-1017)."""
        try:
            await health.answer_timeout.wait(then(health.ready, lambda _: check.take()))
        except TimedOut:
            unwell = (500, "unhealthy", UNHEALTHY) if health.ready.done() else (503, "starting", STARTING)
            status, kind, message = unwell
            details = check.summarize()
            return JsonAnswer({"status": kind, "message": f"{message} {details}" if details else message}, status)
        return JsonAnswer({"status": "healthy", "message": HEALTHY})

    async def live(request: Request) -> Response:
        """Show whether this worker works at all, also while it starts or Kafka is away: if not, restart it."""
        try:
            await health.answer_timeout.wait(liveness.take())
        except TimedOut:
            return JsonAnswer({"status": "unhealthy", "message": UNHEALTHY}, 500)
        return JsonAnswer({"status": "healthy", "message": ALIVE})

    statuses = dict.fromkeys((200, 500, 503), WORKER_STATUS)
    lives = dict.fromkeys((200, 500), WORKER_STATUS)
    return [
        Endpoint("GET", "/", root, "serverInfo", {200: SERVER_INFO}, takes_json=False),
        Endpoint("GET", "/health", state, "healthCheck", statuses, takes_json=False),
        Endpoint("GET", "/health/live", live, "liveness", lives, takes_json=False),
    ]


def _connectors(resource: ConnectorsResource) -> list[Endpoint]:
    all_, one = "/connectors", "/connectors/{connector}"
    task = f"{one}/tasks/{{task}}"
    known, created, accepted, done = {200: CONNECTOR_INFO}, {201: CONNECTOR_INFO}, {202: None}, {204: None}
    restarted = {202: CONNECTOR_STATE_INFO, 204: None}
    views = [
        Endpoint("GET", all_, resource.list, "listConnectors", {200: CONNECTORS}, (EXPAND,)),
        Endpoint("GET", one, resource.info, "getConnector", known),
        Endpoint("GET", f"{one}/config", resource.config, "getConnectorConfig", {200: CONFIG}),
        Endpoint("GET", f"{one}/status", resource.status, "getConnectorStatus", {200: CONNECTOR_STATE_INFO}),
        Endpoint("GET", f"{one}/tasks", resource.tasks, "getTaskConfigs", {200: TASKS}),
        Endpoint("GET", f"{task}/status", resource.task_status, "getTaskStatus", {200: TASK_STATE}),
    ]
    acts = [
        Endpoint("POST", all_, resource.create, "createConnector", created, body=CREATE_REQUEST),
        Endpoint("DELETE", one, resource.delete, "destroyConnector", done),
        Endpoint(
            "PUT", f"{one}/config", resource.put_config, "putConnectorConfig", known | created, body=GIVEN_CONFIG
        ),
        Endpoint("PATCH", f"{one}/config", resource.patch_config, "patchConnectorConfig", known, body=GIVEN_CONFIG),
        Endpoint(
            "POST", f"{one}/restart", resource.restart, "restartConnector", restarted, (INCLUDE_TASKS, ONLY_FAILED)
        ),
        Endpoint("PUT", f"{one}/pause", resource.pause, "pauseConnector", accepted),
        Endpoint("PUT", f"{one}/resume", resource.resume, "resumeConnector", accepted),
        Endpoint("PUT", f"{one}/stop", resource.stop, "stopConnector", done),
        Endpoint("POST", f"{task}/restart", resource.restart_task, "restartTask", done),
    ]
    among_workers = [
        _internal("POST", f"{one}/tasks", resource.put_tasks, "putTaskConfigs"),
        _internal("PUT", f"{one}/fence", resource.fence, "fenceZombies"),
    ]
    return [*by(Responder.ANY_IN_STEP, views), *by(Responder.LEADER, [*acts, *among_workers])]


def _internal(method: str, path: str, answer: Answer, operation: str) -> Endpoint:
    """Return an endpoint for internal requests between workers, which accepts any content type."""
    return Endpoint(method, path, answer, operation, {204: None}, takes_json=False, is_hidden=True)


def _offsets(resource: OffsetsResource) -> list[Endpoint]:
    offsets, done = "/connectors/{connector}/offsets", {200: MESSAGE}
    acts = [
        Endpoint("PATCH", offsets, resource.alter, "alterConnectorOffsets", done, body=OFFSETS),
        Endpoint("DELETE", offsets, resource.reset, "resetConnectorOffsets", done),
    ]
    listing = Endpoint("GET", offsets, resource.list, "getOffsets", {200: OFFSETS}, by=Responder.ANY_IN_STEP)
    return [listing, *by(Responder.LEADER, acts)]


def _topics(resource: TopicsResource) -> list[Endpoint]:
    topics, done = "/connectors/{connector}/topics", {202: None}
    listed = {200: ACTIVE_TOPICS}
    return [
        Endpoint("GET", topics, resource.list, "getConnectorActiveTopics", listed, by=Responder.ANY_IN_STEP),
        Endpoint("PUT", f"{topics}/reset", resource.reset, "resetConnectorActiveTopics", done, by=Responder.LEADER),
    ]


def _plugins(resource: ConnectorPluginsResource) -> list[Endpoint]:
    all_, one = "/connector-plugins", "/connector-plugins/{pluginName}/config"
    valid = {200: CONFIG_INFOS}
    return [
        Endpoint("GET", all_, resource.list, "listConnectorPlugins", {200: PLUGINS}, (CONNECTORS_ONLY,)),
        Endpoint("GET", one, resource.keys, "getConnectorConfigDef", {200: CONFIG_KEYS}, (VERSION,)),
        Endpoint("PUT", f"{one}/validate", resource.validate, "validateConfigs", valid, (WARNINGS,), GIVEN_CONFIG),
    ]

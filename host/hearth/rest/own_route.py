"""The routes that Kafka Connect does not have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hearth.rest.bundle_resource import ARCHIVE, FILE, VERSION, BundlesResource
from hearth.rest.endpoint import Endpoint, Responder, by
from hearth.rest.entity import (
    ARCHIVE_FILE,
    BUNDLE_CHANGE,
    BUNDLES,
    CONNECTOR_SUMMARIES,
    EXPLANATION,
    HEARTH_CONNECTOR,
    LETTERS,
    LOG_LINES,
    OWNER,
    OWNERS,
    PREVIEW,
    PREVIEW_REQUEST,
    REPLAY,
    REPLAY_REQUEST,
    WORKER_CONFIGURATION,
    WORKER_CONFIGURATION_REQUEST,
    WORKER_CONFIGURATIONS,
)
from hearth.rest.event_resource import EVENTS, EventsResource
from hearth.rest.hearth_resource import HearthResource
from hearth.rest.letter_resource import LIMIT, TEXT, LettersResource
from hearth.rest.log_resource import AFTER, CONNECTOR, LEVEL, LogsResource
from hearth.rest.metrics_resource import NAMES, MetricsResource
from hearth.rest.named_path import NAME, PREFIX
from hearth.rest.owner_resource import OwnersResource
from hearth.rest.page_resource import PageResource
from hearth.rest.preview_resource import PreviewResource
from hearth.rest.worker_configuration_resource import WorkerConfigurationsResource


def metrics(resource: MetricsResource) -> Endpoint:
    """Return the endpoint of metrics; it has a single format, whatever a scraper accepts."""
    return Endpoint("GET", "/metrics", resource.show, "metrics", {200: None}, (NAMES,), takes_json=False, makes=None)


def owners(resource: OwnersResource) -> list[Endpoint]:
    """Return the endpoints of the owners of connectors."""
    shown, done = {200: OWNERS}, {204: None}
    return [
        Endpoint("GET", "/hearth/owners", resource.list, "listOwners", shown, by=Responder.ANY_IN_STEP),
        Endpoint("PUT", f"{PREFIX}/owner", resource.set, "setOwner", done, (NAME,), OWNER, by=Responder.LEADER),
    ]


def reports(resource: HearthResource, log: LogsResource | None = None) -> Iterator[Endpoint]:
    """Return the endpoints of what Kafka Connect's status lacks, each also for a connector of any name.

    With a ``log`` also that of what the leader logged about a connector.
    """
    rows = [
        ("report", "", resource.connector, "getHearthConnector", HEARTH_CONNECTOR),
        ("explain", "/explain", resource.explain, "explainConnector", EXPLANATION),
    ]
    named = [
        Endpoint("GET", f"{PREFIX}/{name}", answer, f"{operation}ByName", {200: entity}, (NAME,))
        for name, _, answer, operation, entity in rows
    ]  # before the others, in whose paths any of these words could be a connector
    others = [
        Endpoint("GET", f"{PREFIX}/{{connector}}{path}", answer, operation, {200: entity})
        for _, path, answer, operation, entity in rows
    ]
    all_ = Endpoint("GET", "/hearth/reports", resource.summaries, "listReports", {200: CONNECTOR_SUMMARIES})
    if log is not None:
        query, shown = (NAME, AFTER, LEVEL), {200: LOG_LINES}
        named.append(Endpoint("GET", f"{PREFIX}/logs", log.show, "listLogLinesByName", shown, query))
    endpoints = [all_, *named, *others]
    return by(Responder.LEADER, endpoints)


def letters(resource: LettersResource) -> list[Endpoint]:
    """Return the endpoints of dead letters, to be declared before those with a name in their path."""
    path, query = f"{PREFIX}/dead-letters", (NAME, TEXT, LIMIT)
    return [
        Endpoint("GET", path, resource.show, "listDeadLetters", {200: LETTERS}, query, by=Responder.ANY_IN_STEP),
        Endpoint(
            "POST", f"{path}/replay", resource.replay, "replayDeadLetters", {200: REPLAY}, (NAME,), REPLAY_REQUEST,
            by=Responder.LEADER,
        )
    ]  # fmt: skip


def logs(resource: LogsResource) -> list[Endpoint]:
    """Return the endpoint of the worker's log."""
    query = (CONNECTOR, AFTER, LEVEL)
    return [Endpoint("GET", "/hearth/logs", resource.show, "listLogLines", {200: LOG_LINES}, query)]


def bundles(resource: BundlesResource) -> list[Endpoint]:
    """Return the endpoints of bundles on plugin.path."""
    all_, one = "/plugins", "/plugins/{bundle}"
    change = {200: BUNDLE_CHANGE}
    return [
        Endpoint("GET", all_, resource.list, "listBundles", {200: BUNDLES}),
        Endpoint(
            "POST", all_, resource.install, "installBundle", {200: BUNDLE_CHANGE, 201: BUNDLE_CHANGE}, (FILE,),
            ARCHIVE_FILE, brings=ARCHIVE, takes_json=False,
        ),
        Endpoint("DELETE", one, resource.remove, "removeBundle", change, (VERSION,)),
        Endpoint("POST", f"{one}/rollback", resource.rollback, "rollBackBundle", change),
    ]  # fmt: skip


def previews(resource: PreviewResource) -> list[Endpoint]:
    """Return the endpoint of previews."""
    made = {200: PREVIEW}
    return [Endpoint("POST", "/hearth/preview", resource.make, "previewConnector", made, body=PREVIEW_REQUEST)]


def worker_configurations(resource: WorkerConfigurationsResource) -> list[Endpoint]:
    """Return the endpoints of worker configurations."""
    all_, one = "/worker-configurations", "/worker-configurations/{configuration}"
    made, shown = {201: WORKER_CONFIGURATION}, {200: WORKER_CONFIGURATION}
    return [
        Endpoint("GET", all_, resource.list, "listWorkerConfigurations", {200: WORKER_CONFIGURATIONS}),
        Endpoint("POST", all_, resource.create, "createWorkerConfiguration", made, body=WORKER_CONFIGURATION_REQUEST),
        Endpoint("GET", one, resource.info, "getWorkerConfiguration", shown),
        Endpoint("DELETE", one, resource.delete, "deleteWorkerConfiguration", {204: None}),
    ]


def events(resource: EventsResource) -> list[Endpoint]:
    """Return the endpoints of the stream of states, and of the states for whoever cannot read streams."""
    return [
        Endpoint("GET", "/hearth/states", resource.states, "listStates", {200: None}, is_hidden=True),
        Endpoint(
            "GET", "/hearth/events", resource.stream, "streamStates", {200: None}, takes_json=False, makes=EVENTS,
            is_hidden=True,
        )
    ]  # fmt: skip


def page(resource: PageResource) -> list[Endpoint]:
    """Return the routes of the web page, whose media types are those of its files."""
    shown = partial(Endpoint, "GET", answers={200: None}, takes_json=False, makes=None, is_hidden=True)
    return [
        shown("/ui", resource.index, "showPage"),
        shown("/ui/settings.json", resource.settings, "getPageSettings"),
        shown("/ui/{file}", resource.file, "getPageFile"),
    ]

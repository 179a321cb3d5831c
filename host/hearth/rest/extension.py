"""REST extensions of a worker (KIP-285) and their part in handling requests.

One installed with the host runs in the host, like Kafka's own on its class path; one from plugin.path runs in its own
child process (Invariant 6). Each sees requests to existing endpoints of the regular listeners, after their method and
media types have been checked and before the endpoint runs. It sees neither unknown paths nor the admin listeners.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from hearth.config import WorkerConfig
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.extension_stage import ExtensionStage, IsolatedExtension
from hearth.herder.plugin.stage import answer_seconds
from hearth.rest.body import read_body
from hearth.rest.endpoint import Endpoint, shape
from hearth_api import ConfigError, NotFoundError
from hearth_api.worker import ClusterState, RestRequest, RestResponse
from hearth_execution.loaded_extension import LoadedExtension

log = logging.getLogger(__name__)

KEY = "rest.extension.classes"
_NAME = re.compile(r"\{(\w+)\}")


class Extension(Protocol):
    """An extension, in the host or in its own process."""

    @property
    def version(self) -> str | None:
        """Its version."""

    @property
    def resources(self) -> list[tuple[str, str]]:
        """Method and path of each of its resources."""

    @property
    def has_filters(self) -> bool:
        """Whether it filters every request."""

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Return a response that ends the request, None if it passes."""

    def serve(self, resource: int, request: RestRequest) -> RestResponse:
        """Return the response of one of its resources, by number."""

    def close(self) -> None:
        """Release its resources."""


class Extensions:
    """The extensions of a worker, in the order of its configuration."""

    def __init__(self, extensions: Sequence[Extension] = ()) -> None:
        self._extensions = extensions
        self._filters = [each for each in extensions if each.has_filters]

    async def judge(self, request: Request) -> Response | None:
        """Pass a request through all filters; the first response ends it."""
        if not self._filters:
            return None
        shown = await _shown(request)
        for each in self._filters:
            found = await asyncio.to_thread(each.judge, shown)
            if found is not None:
                return _answer(found)
        return None

    def endpoints(self, own: Sequence[Endpoint]) -> list[Endpoint]:
        """Return their resources; one that clashes with the host's own is skipped with a warning."""
        taken = {(each.method, shape(each.path)) for each in own}
        found = []
        for extension in self._extensions:
            for number, (method, path) in enumerate(extension.resources):
                if (method, shape(path)) in taken:
                    log.warning("the resource %s %s is already registered", method, path)
                    continue
                taken.add((method, shape(path)))
                found.append(_endpoint(extension, number, method, path))
        return found

    def close(self) -> None:
        """Close all extensions."""
        for each in self._extensions:
            each.close()


def open_extensions(worker: WorkerConfig, directory: PluginDirectory, state: ClusterState) -> Extensions:
    """Load the extensions that a worker's configuration names; an error prevents the worker from starting."""
    opened: list[Extension] = []
    try:
        for name in worker.rest_extension_classes:
            opened.append(_opened(name, worker, directory, state))  # noqa: PERF401 - those before are closed
    except Exception:
        Extensions(opened).close()
        raise
    return Extensions(opened)


def _opened(name: str, worker: WorkerConfig, directory: PluginDirectory, state: ClusterState) -> Extension:
    try:
        plugin = directory.plugin(name, None, PluginType.REST_EXTENSION)
    except NotFoundError as error:
        known = ", ".join(directory.class_names(PluginType.REST_EXTENSION)) or "none"
        raise ConfigError(
            f"{KEY}: unknown REST extension {name!r}, only {known}", code="extension.unknown", hint=error.hint
        ) from error
    config = {key: str(value) for key, value in worker.originals.items()}
    if plugin.bundle is None:
        return LoadedExtension(plugin.reference, config, state)
    return IsolatedExtension(_new_stage(plugin, directory, config, state, answer_seconds(worker, {})))


def _new_stage(
    plugin: Plugin, directory: PluginDirectory, config: dict[str, str], state: ClusterState, seconds: float
) -> Callable[[], ExtensionStage]:
    environment = directory.environment(plugin)
    return lambda: ExtensionStage(plugin, environment, config, state, seconds)


def _endpoint(extension: Extension, number: int, method: str, path: str) -> Endpoint:
    names = _NAME.findall(path)

    async def answer(request: Request) -> Response:
        """Answer with an extension's response."""
        # A path that the host serves for other methods has the host's parameter names.
        given = dict(zip(names, map(str, request.path_params.values())))
        return _answer(await asyncio.to_thread(extension.serve, number, await _shown(request, given)))

    return Endpoint(method, path, answer, "", {200: None}, takes_json=False, makes=None, is_hidden=True)


async def _shown(request: Request, path_params: dict[str, str] | None = None) -> RestRequest:
    """Return a request for extensions; repeated headers are joined into one list, as RFC 9110 allows."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    params = path_params if path_params is not None else {k: str(v) for k, v in request.path_params.items()}
    return RestRequest(request.method, request.url.path, query, headers, await read_body(request), params)


def _answer(response: RestResponse) -> Response:
    return Response(response.body, response.status, dict(response.headers))

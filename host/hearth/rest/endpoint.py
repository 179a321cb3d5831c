"""Declarations of the API's endpoints, which serve for routing and documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from hearth.rest.body import refuse_other_types
from hearth.rest.entity import Entity
from hearth.rest.media_range import JSON, MediaRange, accepted

Answer = Callable[[Request], Awaitable[Response]]
Judge = Callable[[Request], Awaitable["Response | None"]]
"""Checks a request before its endpoint; a response ends it."""

_PART = re.compile(r"\{\w+\}")

_METHODS = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT", "PATCH")
"""In Java's order."""


@dataclass(frozen=True)
class Query:
    """A query parameter; a missing one has its default."""

    name: str
    doc: str
    default: bool | str | None = None
    values: tuple[str, ...] = ()
    """The allowed values, each at most once but several in one request; empty for a parameter that is given once."""
    is_required: bool = False

    def text(self, request: Request) -> str | None:
        """Return the first value, or the default."""
        default = None if self.default is None else str(self.default)
        return next(iter(request.query_params.getlist(self.name)), default)

    def flag(self, request: Request) -> bool:
        """Return a boolean as Java parses it: the first value counts unless it is blank, and only `true` is true."""
        given = next(iter(request.query_params.getlist(self.name)), "")
        return given.lower() == "true" if given.strip() else bool(self.default)


class Responder(Enum):
    """Which host of a cluster responds."""

    ANY = "any"
    """The host that receives the request."""
    ANY_IN_STEP = "any in step"
    """The host that receives the request, after reading all writes of others."""
    LEADER = "leader"
    """The leader."""


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    `operation` is the OpenAPI operation id, as in Kafka's own document; the summary is the first line of the docstring
    of `answer`. `answers` has the entity of every success status, None for an empty body. An endpoint that
    `takes_json` accepts nothing else, which a page of another origin cannot send without a preflight. It `makes` a
    media type, which the client must accept unless the endpoint checks that itself.
    """

    method: str
    path: str
    answer: Answer
    operation: str
    answers: Mapping[int, Entity | None]
    query: tuple[Query, ...] = ()
    body: Entity | None = None
    brings: str = field(default=JSON, kw_only=True)
    """The media type of the request body."""
    takes_json: bool = field(default=True, kw_only=True)
    makes: str | None = field(default=JSON, kw_only=True)
    is_hidden: bool = field(default=False, kw_only=True)
    """Whether it is internal to workers and not documented."""
    by: Responder = field(default=Responder.ANY, kw_only=True)

    @property
    def summary(self) -> str:
        """Return the summary of the operation."""
        return (inspect.getdoc(self.answer) or "").partition("\n")[0]


class EndpointPath:
    """All endpoints of one path, as a Starlette application.

    Rejects what Java's JAX-RS rejects, in the same order and before reading the body: the method, the content type and
    the accepted types. After that `judge` may reject the request.
    """

    def __init__(self, endpoints: Sequence[Endpoint], judge: Judge | None = None) -> None:
        self._judge = judge
        self._endpoints = {each.method: each for each in endpoints}
        named = {*self._endpoints, "OPTIONS", *(["HEAD"] if "GET" in self._endpoints else [])}
        self._methods = [each for each in _METHODS if each in named]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        response = await self._respond(Request(scope, receive))
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        found = self._endpoints.get("GET" if request.method == "HEAD" else request.method)
        if found is None and request.method != "OPTIONS":
            raise HTTPException(405, headers={"allow": ",".join(self._methods)})
        if found is not None and found.takes_json:
            refuse_other_types(request)
        wanted = None
        if found is not None and found.makes is not None:
            wanted = chosen(request, found.makes)
            if wanted is None:
                raise HTTPException(406)
        refusal = await self._judge(request) if self._judge else None
        if refusal is not None:
            return refusal
        return self._options(request) if found is None else _called(await found.answer(request), wanted)

    def _options(self, request: Request) -> Response:
        text = ", ".join(self._methods) if chosen(request, "text/plain") else ""
        return Response(text, headers={"allow": ",".join(self._methods), "content-type": "text/plain"})


def chosen(request: Request, media_type: str) -> MediaRange | None:
    """Return the client's range that accepts a media type, None if there is none."""
    given = accepted(",".join(request.headers.getlist("accept")))
    return next((each for each in given if each.takes(media_type)), None)


def _called(response: Response, wanted: MediaRange | None) -> Response:
    """Return a response with the type parameters of the request's range, as Java's server does."""
    if wanted is not None and wanted.particular is not None and "content-type" in response.headers:
        response.headers["content-type"] = wanted.particular
    return response


def by(responder: Responder, endpoints: Iterable[Endpoint]) -> Iterator[Endpoint]:
    """Yield endpoints with a responder."""
    return (replace(each, by=responder) for each in endpoints)


def routes(endpoints: Iterable[Endpoint], judge: Judge | None = None) -> list[Route]:
    """Return a route for each path, in order of first declaration; `judge` may reject any request."""
    paths: dict[str, list[Endpoint]] = {}
    for each in endpoints:
        paths.setdefault(shape(each.path), []).append(each)
    return [Route(found[0].path, EndpointPath(found, judge)) for found in paths.values()]


def shape(path: str) -> str:
    """Return a path without the names of its parameters, which identifies it."""
    return _PART.sub("{}", path)

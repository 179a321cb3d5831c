"""What the API consists of: one declaration for each endpoint, by which it is routed and described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
"""Looks at a request before its endpoint does: a response ends it."""

_PART = re.compile(r"\{\w+\}")

_METHODS = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT", "PATCH")
"""In the order in which Java names them."""


@dataclass(frozen=True)
class Query:
    """A parameter behind the question mark; one that is not given counts as its default."""

    name: str
    doc: str
    default: bool | str | None = None
    values: tuple[str, ...] = ()
    """What may be said, each of it once and all in one request; nothing where the parameter is given once."""
    is_required: bool = False

    def text(self, request: Request) -> str | None:
        """Return what is said, the first of it, else the default."""
        default = None if self.default is None else str(self.default)
        return next(iter(request.query_params.getlist(self.name)), default)

    def flag(self, request: Request) -> bool:
        """Return a boolean as Java reads it: the first counts unless it is blank, and only `true` is."""
        given = next(iter(request.query_params.getlist(self.name)), "")
        return given.lower() == "true" if given.strip() else bool(self.default)


class Responder(Enum):
    """Which host of a cluster answers."""

    ANY = "any"
    """The one that is asked."""
    ANY_IN_STEP = "any in step"
    """The one that is asked, once it knows what all others have written."""
    LEADER = "leader"
    """The one that leads."""


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    `operation` names it in the OpenAPI document, as Kafka's own document does; its summary is the first line of what
    `answer` says of itself. `answers` has the entity of every status that is no error, None for no body. One that
    `takes_json` takes nothing else: a page of elsewhere cannot send that without being asked first. It `makes` a media
    type, which has to be one that the client accepts, unless that is for itself to judge.
    """

    method: str
    path: str
    answer: Answer
    operation: str
    answers: Mapping[int, Entity | None]
    query: tuple[Query, ...] = ()
    body: Entity | None = None
    brings: str = field(default=JSON, kw_only=True)
    """The media type of what clients send."""
    takes_json: bool = field(default=True, kw_only=True)
    makes: str | None = field(default=JSON, kw_only=True)
    is_hidden: bool = field(default=False, kw_only=True)
    """Whether it is for workers among themselves, and told nobody."""
    by: Responder = field(default=Responder.ANY, kw_only=True)

    @property
    def summary(self) -> str:
        """Return what it does, in a sentence."""
        return (inspect.getdoc(self.answer) or "").partition("\n")[0]


class EndpointPath:
    """All endpoints of one path, as a Starlette application.

    What is refused here, in this order and before anybody looks at the body, is what Java's JAX-RS refuses: a method,
    what a request says it brings, and what it wants brought. After that comes whoever may refuse a request at all.
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
    """Return what a client says of a media type that it takes, None where it does not take it."""
    given = accepted(",".join(request.headers.getlist("accept")))
    return next((each for each in given if each.takes(media_type)), None)


def _called(response: Response, wanted: MediaRange | None) -> Response:
    """Return an answer with the parameters that its type has in the request, as Java's server gives them back."""
    if wanted is not None and wanted.particular is not None and "content-type" in response.headers:
        response.headers["content-type"] = wanted.particular
    return response


def routes(endpoints: Iterable[Endpoint], judge: Judge | None = None) -> list[Route]:
    """Return a route for each path, in the order in which they are first named; `judge` may refuse any request."""
    paths: dict[str, list[Endpoint]] = {}
    for each in endpoints:
        paths.setdefault(shape(each.path), []).append(each)
    return [Route(found[0].path, EndpointPath(found, judge)) for found in paths.values()]


def shape(path: str) -> str:
    """Return a path without the names of its parts, by which it is the same as another."""
    return _PART.sub("{}", path)

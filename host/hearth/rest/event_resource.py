"""The states of connectors as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hearth.herder.herder import Herder
from hearth.rest.answer import JsonAnswer, answer
from hearth.rest.state_feed import StateFeed, TooManyListeners
from hearth_api import NotFoundError

EVENTS = "text/event-stream"
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_RETRY_MS = 3000


class EventsResource:
    """Streams of the states that this worker knows, which are those of the whole cluster."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self.feed = StateFeed(self._states, encode=lambda change: bytes(JsonAnswer(change).body))

    async def stream(self, request: Request) -> Response:
        """Follow the states of all connectors and tasks: an event `all`, then `changes`."""
        if request.method == "HEAD":
            return Response(media_type=EVENTS)
        follower = self.feed.follow()
        try:
            first = await anext(follower)
        except TooManyListeners:
            return answer(503, "this worker has too many listeners already; ask /connectors?expand=status")
        return StreamingResponse(_texts(first, follower), media_type=EVENTS, headers=_HEADERS)

    async def states(self, request: Request) -> Response:
        """Show the states of all connectors and tasks as the stream's event `all` has them."""
        return JsonAnswer({"connectors": await asyncio.to_thread(self._states)})

    def _states(self) -> dict[str, Any]:
        found = {}
        for name in self._herder.connectors():
            try:
                found[name] = shortened(self._herder.view.connector(name))
            except NotFoundError:
                continue  # it has just been deleted
        return found


async def _texts(first: bytes, others: AsyncIterator[bytes | None]) -> AsyncIterator[bytes]:
    yield b"retry: %d\nevent: all\ndata: %b\n\n" % (_RETRY_MS, first)
    async for each in others:
        yield b": quiet\n\n" if each is None else b"event: changes\ndata: %b\n\n" % each


def shortened(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a connector's status with the first line of each trace, as `error`."""
    tasks = [_short(task) for task in status["tasks"]]
    return {**status, "connector": _short(status["connector"]), "tasks": tasks}


def _short(part: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(part)
    if trace := found.pop("trace", None):
        found["error"] = trace.partition("\n")[0]
    return found

"""Endpoints for the offsets of connectors (KIP-875)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.herder import Herder
from hearth.rest.answer import AnswerTimeout, JsonAnswer
from hearth.rest.body import read_offsets


class OffsetsResource:
    """One method for each operation on `/connectors/{connector}/offsets`."""

    def __init__(self, herder: Herder, answer_timeout: AnswerTimeout) -> None:
        self._herder = herder
        self._wait = answer_timeout.wait

    async def list(self, request: Request) -> Response:
        """List the committed offsets of a connector."""
        return JsonAnswer(await self._wait(self._herder.offsets.read(_name(request))))

    async def alter(self, request: Request) -> Response:
        """Alter offsets of a stopped connector."""
        offsets = await read_offsets(request)
        return JsonAnswer(await self._wait(self._herder.offsets.alter(_name(request), offsets)))

    async def reset(self, request: Request) -> Response:
        """Reset all offsets of a stopped connector."""
        return JsonAnswer(await self._wait(self._herder.offsets.reset(_name(request))))


def _name(request: Request) -> str:
    return str(request.path_params["connector"])

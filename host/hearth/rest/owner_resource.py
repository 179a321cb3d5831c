"""Endpoints for the owners of connectors: who manages them, for clients that delete what an owner no longer has."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.herder import Herder
from hearth.rest.answer import AnswerTimeout, JsonAnswer
from hearth.rest.body import read_map
from hearth_api import ConfigError

_LONGEST = 200


class OwnersResource:
    """Lists all owners, and sets that of one connector."""

    def __init__(self, herder: Herder, answer_timeout: AnswerTimeout) -> None:
        self._herder = herder
        self._wait = answer_timeout.wait

    async def list(self, request: Request) -> Response:
        """List the owners of connectors by name."""
        return JsonAnswer(self._herder.owners())

    async def set(self, request: Request) -> Response:
        """Set the owner of a connector; null removes it."""
        given = await read_map(request, "owner")
        owner = given.get("owner")
        if "owner" not in given or (owner is not None and not 0 < len(owner.strip()) <= _LONGEST):
            raise ConfigError(f"owner has to be null or a text of 1 to {_LONGEST} characters", code="owner.invalid")
        await self._wait(self._herder.set_owner(str(request.path_params["connector"]), owner))
        return Response(status_code=204)

"""The endpoints of dead letters."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.herder import Herder
from hearth.rest.answer import JsonAnswer
from hearth.rest.body import read_json
from hearth.rest.endpoint import Query
from hearth.rest.shape import AnyShape, MapShape
from hearth_api import ConfigError

TEXT = Query("text", "A part of stage, exception or message: other letters are counted and not shown.")
LIMIT = Query("limit", "The most letters to show, 1 to 200.", "20")
_BODY = MapShape(AnyShape())


class LettersResource:
    """Shows and replays the dead letters of a connector; Kafka is read on another thread."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    async def show(self, request: Request) -> Response:
        """Show the dead letter queue of a connector: letters by what failed, and the newest with their bytes."""
        limit = LIMIT.text(request) or ""
        if not limit.isdecimal():
            raise ConfigError(f"limit is {limit!r}, expected a number", code="dead_letter.request")
        name = str(request.path_params["connector"])
        found = await asyncio.to_thread(self._herder.letters.show, name, TEXT.text(request) or "", int(limit))
        return JsonAnswer(found)

    async def replay(self, request: Request) -> Response:
        """Send dead letters of a connector back to the topics of their records, each once."""
        from hearth.herder.letter_desk import parse_replay  # with librdkafka

        wanted = parse_replay(await read_json(request, _BODY, lambda body: body, are_numbers=True))
        name = str(request.path_params["connector"])
        return JsonAnswer(await asyncio.to_thread(self._herder.letters.replay, name, wanted))

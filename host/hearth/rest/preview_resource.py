"""The endpoint for previews of connectors."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.herder import Herder
from hearth.rest.answer import JsonAnswer
from hearth.rest.body import read_json
from hearth.rest.shape import AnyShape, MapShape
from hearth_api import ConfigError

_BODY = MapShape(AnyShape())
_AT_REST = ("PAUSED", "STOPPED")


class PreviewResource:
    """Answers with the steps of a few records."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    async def make(self, request: Request) -> Response:
        """Show what becomes of a few records, step by step, without writing anything."""
        from hearth.herder.preview import parse_request  # with Arrow and librdkafka

        wanted = parse_request(await read_json(request, _BODY, lambda body: body, are_numbers=True))
        if wanted.records is None and wanted.accepts_effects and self._is_running(wanted.name):
            raise ConfigError(
                f"{wanted.name} is running, and a second task would poll its source beside it", code="preview.running"
            )
        return JsonAnswer(await asyncio.to_thread(self._herder.previews.make, wanted))

    def _is_running(self, name: str) -> bool:
        view = self._herder.view
        return name in self._herder.connectors() and view.connector(name)["connector"]["state"] not in _AT_REST

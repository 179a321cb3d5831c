"""Endpoints below `/hearth`: what a host knows of a connector beyond Kafka Connect's status."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hearth.herder.connector_report import ConnectorReporter
from hearth.rest.answer import JsonAnswer


class HearthResource:
    """One method for each route; reports are made on another thread."""

    def __init__(self, reporter: ConnectorReporter) -> None:
        self._reporter = reporter

    async def summaries(self, request: Request) -> Response:
        """Show rate, lag, failed records and restarts of all connectors."""
        return JsonAnswer(await asyncio.to_thread(self._reporter.summaries))

    async def connector(self, request: Request) -> Response:
        """Show the revision, runs, counts, rates and lag of a connector."""
        name = str(request.path_params["connector"])
        return JsonAnswer(await asyncio.to_thread(self._reporter.report, name))

    async def explain(self, request: Request) -> Response:
        """Explain what a connector does or waits for, with evidence, cause and remedy."""
        name = str(request.path_params["connector"])
        return JsonAnswer(await asyncio.to_thread(self._reporter.explain, name))

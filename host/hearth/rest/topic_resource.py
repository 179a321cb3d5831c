"""Endpoints for the topics that connectors write to or read from (KIP-558)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hearth.config import WorkerConfig
from hearth.herder.herder import Herder
from hearth.rest.answer import AnswerTimeout, Forbidden, JsonAnswer


class TopicsResource:
    """One method for each route below `/connectors/{connector}/topics`."""

    def __init__(self, herder: Herder, worker: WorkerConfig, answer_timeout: AnswerTimeout) -> None:
        self._herder = herder
        self._worker = worker
        self._wait = answer_timeout.wait

    async def list(self, request: Request) -> Response:
        """List the topics of a connector; an unknown connector has none."""
        self._refuse_unless_tracked()
        return JsonAnswer(self._herder.view.topics(str(request.path_params["connector"])))

    async def reset(self, request: Request) -> Response:
        """Reset the recorded topics of a connector."""
        self._refuse_unless_tracked()
        if not self._worker.topic_tracking_allow_reset:
            raise Forbidden("Topic tracking reset is disabled.")
        await self._wait(self._herder.reset_topics(str(request.path_params["connector"])))
        return Response(status_code=202)

    def _refuse_unless_tracked(self) -> None:
        if not self._worker.topic_tracking_enable:
            raise Forbidden("Topic tracking is disabled.")

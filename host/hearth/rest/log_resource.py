"""The endpoint of the last lines of a worker's log."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hearth.foundation.log_ring import LogRing, recent_lines
from hearth.rest.answer import JsonAnswer
from hearth.rest.endpoint import Query
from hearth_api import ConfigError
from hearth_stage.level import LEVELS

CONNECTOR = Query("connector", "The connector that the lines are about; without it, those about none.")
AFTER = Query("after", "The member `next` of an earlier answer: lines of that answer are left out.")
LEVEL = Query("level", f"The least level: {', '.join(LEVELS)}.", "TRACE")


class LogsResource:
    """Answers with lines that this worker has logged, those of tasks included if it leads."""

    def __init__(self, ring: LogRing = recent_lines) -> None:
        self._ring = ring
        ring.attach()

    async def show(self, request: Request) -> Response:
        """Show the last lines of this worker's log, the newest last."""
        level = (LEVEL.text(request) or "").upper()
        if level not in LEVELS:
            raise ConfigError("level", level, f"expected one of {', '.join(LEVELS)}")
        ring, _, number = (AFTER.text(request) or "").partition("-")
        after = int(number) if ring == self._ring.id and number.isdecimal() else 0
        connector = request.path_params.get("connector") or CONNECTOR.text(request) or None
        lines, newest = self._ring.read(connector, after, LEVELS[level])
        return JsonAnswer({"lines": lines, "next": f"{self._ring.id}-{newest}"})

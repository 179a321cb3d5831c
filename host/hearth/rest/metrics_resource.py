"""The endpoint of metrics."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from hearth.metric.exposition import CONTENT_TYPE, exposition
from hearth.metric.metric_name import DEFAULT_PROFILE, PROFILES
from hearth.metric.sensor import Measurement
from hearth.rest.endpoint import Query
from hearth_api import ConfigError

KEPT_SECONDS = 1.0
"""For how long an answer is given again: several scrapers cost as much as one."""
NAMES = Query(
    "names",
    f"Whose names the metrics have, joined by commas: {', '.join(PROFILES)}.",
    DEFAULT_PROFILE,
)


class MetricsResource:
    """Answers `/metrics` on a thread of its own, so that other requests do not wait for it."""

    def __init__(
        self,
        collect: Callable[[], Iterable[Measurement]],
        profiles: Sequence[str] = (DEFAULT_PROFILE,),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``profiles`` are those of a request that names none."""
        self._collect, self._profiles, self._clock = collect, tuple(profiles), clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, ...], tuple[float, bytes]] = {}

    async def show(self, request: Request) -> Response:
        """Show the metrics of this worker as Prometheus reads them."""
        profiles = self._chosen(request)
        text = await asyncio.to_thread(self._text, profiles)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    def _chosen(self, request: Request) -> tuple[str, ...]:
        if "names" not in request.query_params:
            return self._profiles
        return chosen_profiles((NAMES.text(request) or "").split(","))

    def _text(self, profiles: tuple[str, ...]) -> bytes:
        with self._lock:
            made, text = self._kept.get(profiles, (0.0, b""))
            if not text or self._clock() - made >= KEPT_SECONDS:
                text = exposition(self._collect(), profiles).encode("utf-8", "backslashreplace")
                self._kept = {profiles: (self._clock(), text)}
            return text


def chosen_profiles(given: Sequence[str]) -> tuple[str, ...]:
    """Return the profiles of their names; raises ``ConfigError`` for one that does not exist."""
    names = tuple(dict.fromkeys(each.strip() for each in given))
    for name in names:
        if name not in PROFILES:
            raise ConfigError("names", name, f"expected one or several of {', '.join(PROFILES)}, joined by commas")
    return names

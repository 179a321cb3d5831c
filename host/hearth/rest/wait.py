"""Waiting for the herder, though not for ever."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from hearth_api import ConnectError

T = TypeVar("T")

REQUEST_SECONDS = 90.0
"""How long a request may take, as in Kafka Connect."""


class Patience:
    """How long answers wait for what they ask of the herder."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds

    async def wait(self, future: Future[T]) -> T:
        """Return the outcome; raises ConnectError when it takes too long, and what was asked for goes on."""
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self._seconds)
        except asyncio.TimeoutError as error:
            raise ConnectError("Request timed out", code="request.timeout") from error

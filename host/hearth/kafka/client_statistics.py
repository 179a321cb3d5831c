"""What librdkafka tells about a client: its connections, requests and bytes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import orjson

from hearth.kafka.library import StatisticsCallback, library

STATISTICS_SETTING = {"statistics.interval.ms": "30000"}
"""How often librdkafka tells, in milliseconds: each time costs a wake, and up to a millisecond."""


@dataclass(frozen=True)
class ClientStatistics:
    """Connections that are up now, and what went through all of the client's connections since its start."""

    connections: int = 0
    requests: int = 0
    responses: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    connects: int = 0
    """Attempts to connect that succeeded or failed."""

    @classmethod
    def read(cls, text: bytes | str) -> ClientStatistics:
        """Read librdkafka's JSON (its ``STATISTICS.md``)."""
        found = orjson.loads(text)
        brokers = found.get("brokers", {}).values()
        return cls(
            connections=sum(each.get("state") == "UP" for each in brokers),
            requests=found.get("tx", 0),
            responses=found.get("rx", 0),
            bytes_sent=found.get("tx_bytes", 0),
            bytes_received=found.get("rx_bytes", 0),
            connects=sum(each.get("connects", 0) for each in brokers),
        )


class StatisticsKeeper:
    """Keeps the newest statistics of one client until they are taken; they are read on the thread that takes them."""

    def __init__(self) -> None:
        self._newest: bytes | None = None
        self._callback = StatisticsCallback(self._keep_from)

    def listen(self, configuration: int) -> None:
        """Have a client that is made of this configuration tell its statistics while it is polled."""
        library().conf_set_stats_cb(configuration, self._callback)

    def keep(self, text: bytes) -> None:
        """Keep statistics."""
        self._newest = text

    def take(self) -> ClientStatistics | None:
        """Return the statistics if there are new ones; may be called from any thread."""
        newest, self._newest = self._newest, None
        return None if newest is None else ClientStatistics.read(newest)

    def _keep_from(self, client: int, address: int, size: int, _: Any) -> int:
        self.keep(ctypes.string_at(address, size))
        return 0  # librdkafka frees the text

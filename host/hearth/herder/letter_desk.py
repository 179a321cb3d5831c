"""The dead letters of sink connectors: what a queue has, and its replay."""

from __future__ import annotations

import base64
import heapq
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hearth.config.connector_key import NAME
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.config.variable import Resolved
from hearth.herder.busy import BusyError
from hearth.herder.planner import Planner
from hearth.herder.validation.override import refuse_overrides
from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.letter_queue import LetterGroups, LetterQueue
from hearth_api import ConfigError, NotFoundError

AT_ONCE = 2
"""How many queues a host reads at the same time."""
MOST_SHOWN, MOST_REPLAYED = 200, 10_000
_MOST_READ = 10_000
"""Offsets of each partition that a list looks at, the newest."""
_SECONDS = 20.0
_LONGEST = 16 << 10
"""Bytes of a key, a value or a header that are shown."""


@dataclass(frozen=True)
class ReplayRequest:
    """Which letters to replay: those with ``text`` in their summary, or ``letters`` by partition and offset."""

    text: str = ""
    letters: frozenset[tuple[int, int]] | None = None
    to: str | None = None
    most: int = 1_000
    is_dry: bool = False

    def takes(self, letter: StoredLetter) -> bool:
        """Return whether a letter is meant."""
        place = (letter.record.partition, letter.record.offset)
        return _has(letter, self.text) and (self.letters is None or place in self.letters)


def parse_replay(given: Any) -> ReplayRequest:
    """Return the request of a JSON object, None for all letters; raises ConfigError for a wrong member."""
    members = {"text": str, "letters": list, "to": str, "max": int, "dry_run": bool}
    given = {} if given is None else given
    for name, value in given.items():
        is_right = isinstance(value, members.get(name, ())) and isinstance(value, bool) == (name == "dry_run")
        if value is not None and not is_right:
            raise ConfigError(
                f"{name!r} of a replay is {value!r}, expected one of {', '.join(members)}", code="dead_letter.request"
            )
    places, most = given.get("letters"), given.get("max")
    most = 1_000 if most is None else most
    if not 1 <= most <= MOST_REPLAYED:
        raise ConfigError(f"max is {most}, expected 1 to {MOST_REPLAYED}", code="dead_letter.request")
    try:
        letters = None if places is None else frozenset((int(partition), int(offset)) for partition, offset in places)
    except (TypeError, ValueError) as error:
        raise ConfigError("letters are pairs of partition and offset", code="dead_letter.request") from error
    return ReplayRequest(given.get("text") or "", letters, given.get("to") or None, most, bool(given.get("dry_run")))


class LetterDesk:
    """Reads and replays the dead letters of connectors. Thread-safe."""

    def __init__(self, planner: Planner, config_of: Callable[[str], Mapping[str, str]]) -> None:
        """``config_of`` returns the configuration of a connector by its name; raises NotFoundError."""
        self._planner = planner
        self._config_of = config_of
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def show(self, name: str, text: str = "", limit: int = 20) -> dict[str, Any]:
        """Return the queue, its groups, and the newest letters with ``text`` in their summary, the newest first."""
        if not 1 <= limit <= MOST_SHOWN:
            raise ConfigError(f"limit is {limit}, expected 1 to {MOST_SHOWN}", code="dead_letter.request")
        with self._queue(name) as (queue, resolved):
            groups = LetterGroups()
            letters = groups.counted(queue.letters(_MOST_READ, _SECONDS))
            shown = (_shown(each, resolved) for each in letters if _has(each, text))
            newest = heapq.nlargest(limit, shown, key=lambda each: (each["timestamp"] or 0, each["offset"]))
            found = [{**each, "message": resolved.hidden(each["message"])} for each in groups.to_json()]
            total = queue.count()
        return {"topic": queue.topic, "total": total, "groups": found, "letters": newest}

    def replay(self, name: str, request: ReplayRequest) -> dict[str, Any]:
        """Send letters back, or only count them; returns how many were replayed, and how many left for what reason."""
        with self._queue(name) as (queue, _), queue.replay(request.to) as run:
            chosen = list(run.replay(request.takes, request.most))
            if not request.is_dry:
                run.send(chosen)
            return {"dry_run": request.is_dry, **vars(run.count)}

    @contextmanager
    def _queue(self, name: str) -> Iterator[tuple[LetterQueue, Resolved]]:
        given = {**self._config_of(name), NAME: name}
        if not self._free.acquire(blocking=False):
            raise BusyError(f"{AT_ONCE} dead letter queues are being read")
        try:
            resolved = self._planner.variables.of(given).resolve(given)
            topic = resolved.config.get(DEAD_LETTER_TOPIC)
            if not topic:
                raise NotFoundError(
                    f"Connector {name} has no dead letter queue ({DEAD_LETTER_TOPIC})", code="dead_letter.none"
                )
            connector = self._planner.directory.connector(resolved.config)
            refuse_overrides(self._planner.policy, connector, resolved.config, self._planner.worker)
            worker = self._planner.worker_for(resolved.config).originals
            yield LetterQueue(topic, worker, resolved.config), resolved
        finally:
            self._free.release()


def _has(letter: StoredLetter, text: str) -> bool:
    return not text or (letter.context is not None and text in letter.context.summary)


def _shown(letter: StoredLetter, resolved: Resolved) -> dict[str, Any]:
    """Return a letter with its bytes; values of variables are replaced by the variables."""
    shown = letter.to_json()
    if shown["context"] is not None:
        shown["context"] = {
            name: resolved.hidden(value) if isinstance(value, str) else value
            for name, value in shown["context"].items()
        }
    record = letter.record
    headers = [{"name": name, **(_bytes(data, resolved) or {"size": None})} for name, data in letter.own_headers]
    return {**shown, "key": _bytes(record.key, resolved), "value": _bytes(record.value, resolved), "headers": headers}


def _bytes(data: bytes | None, resolved: Resolved) -> dict[str, Any] | None:
    """Return the size of a cell and its first bytes, as text or else in base64; None for null."""
    if data is None:
        return None
    first = data[:_LONGEST]
    try:
        text = first.decode("utf-8") if len(data) <= _LONGEST else first.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return {"size": len(data), "base64": base64.b64encode(first).decode()}
    return {"size": len(data), "text": resolved.hidden(text)}

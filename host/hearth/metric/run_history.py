"""What became of the runs of a task: how many there were, and how the last ones ended."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

KEPT_ENDS = 10
SHOWN_LINES = 3
"""How many lines of a trace an end has."""
SHOWN_CHARACTERS = 1000


class RunStore(Protocol):
    """Keeps histories for the next leader, or the next start; implemented by status stores."""

    def put_runs(self, connector: str, task: int, runs: Mapping[str, Any] | None) -> None:
        """Keep what became of the runs of a task, in JSON's types; None removes it."""

    def runs(self, connector: str, task: int) -> Mapping[str, Any] | None:
        """Return what became of the runs of a task, None if nothing is kept."""


@dataclass(frozen=True)
class PastRun:
    """The end of a run: when (seconds since the epoch), how (``failed``, ``lost``, ``moved``), and in which words.

    ``seconds`` is how long the run lasted, from its launch.
    """

    at: float
    how: str
    words: str
    seconds: float = 0.0


class RunHistory:
    """The runs of one task since its configuration, over its restarts and changes of the leader. Thread-safe.

    A run that another leader begins in place of the present one is no restart.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        kept: Mapping[str, Any] | None = None,
        keep: Callable[[Mapping[str, Any]], None] = lambda runs: None,
    ) -> None:
        """``kept`` is what ``keep`` was called with last."""
        self._clock, self._keep = clock, keep
        self._lock = threading.Lock()
        known = kept or {}
        self._ends: deque[PastRun] = deque((PastRun(**each) for each in known.get("ends", ())), maxlen=KEPT_ENDS)
        self.restarts = int(known.get("restarts", 0))
        """How many runs followed the first."""
        self._revision = known.get("revision")
        self._has_begun = False
        self.state = ""
        self.since = self._begun_at = clock()

    def renew(self, revision: int) -> None:
        """Count anew if the task has another configuration now; its last ends stay."""
        with self._lock:
            if revision == self._revision:
                return
            is_news = self.restarts > 0
            self._revision, self.restarts, self._has_begun = revision, 0, False
            if is_news:
                self._save()

    def begin_run(self) -> None:
        """Count a run."""
        with self._lock:
            self._begun_at = self._clock()
            if self._has_begun:
                self.restarts += 1
                self._save()
            self._has_begun = True

    def enter(self, state: str) -> None:
        """Note the state of the task."""
        if state != self.state:
            self.state, self.since = state, self._clock()

    def end(self, how: str, words: str | None) -> None:
        """Note the end of a run."""
        shown = "\n".join((words or "").splitlines()[:SHOWN_LINES])[:SHOWN_CHARACTERS]
        with self._lock:
            now = self._clock()
            self._ends.append(PastRun(now, how, shown, round(now - self._begun_at, 3)))
            self._save()

    @property
    def ends(self) -> list[PastRun]:
        """Return the last ends, the newest first."""
        with self._lock:
            return list(self._ends)[::-1]

    def _save(self) -> None:
        ends = [asdict(each) for each in self._ends]
        self._keep({"revision": self._revision, "restarts": self.restarts, "ends": ends})


class RunHistories:
    """The histories of all tasks that this host has run since it leads. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, dict[int, RunHistory]] = {}
        self._revisions: dict[str, int] = {}
        self._store: RunStore | None = None

    def keep_in(self, store: RunStore) -> None:
        """Keep what happens in a store, and go on with what is there."""
        self._store = store

    def of(self, connector: str, task: int) -> RunHistory:
        """Return the history of a task."""
        with self._lock:
            known = self._known.setdefault(connector, {})
            if task not in known:
                known[task] = self._kept(connector, task)
                if (revision := self._revisions.get(connector)) is not None:
                    known[task].renew(revision)
            return known[task]

    def _kept(self, connector: str, task: int) -> RunHistory:
        store = self._store
        if store is None:
            return RunHistory(self._clock)
        return RunHistory(self._clock, store.runs(connector, task), lambda runs: store.put_runs(connector, task, runs))

    def renew(self, connector: str, revision: int) -> None:
        """Count the runs of a connector's tasks anew if they have another configuration now: of another revision."""
        with self._lock:
            self._revisions[connector] = revision
            for each in self._known.get(connector, {}).values():
                each.renew(revision)

    def forget(self, connector: str) -> None:
        """Forget a connector, which was deleted; its statuses, and what is kept with them, are gone."""
        with self._lock:
            self._known.pop(connector, None)
            self._revisions.pop(connector, None)

    def leave(self) -> None:
        """Forget what another leader may go on with: it is read again from the store."""
        with self._lock:
            self._known.clear()
            self._revisions.clear()

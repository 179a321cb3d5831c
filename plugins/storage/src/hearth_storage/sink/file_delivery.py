"""How complete files come into a store."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, ParamSpec, TypeVar

from hearth_api import ConnectError, RetriableError
from hearth_storage.place.place import NameTaken, Place
from hearth_storage.sink.file_group import Claim, FileGroup, OpenFile, PartFile

LOOK_UP_SECONDS = 120.0
"""How long a store may not answer when it is asked for what it has, before the task fails."""
_PAUSE = 0.5
_log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


class Delivery(ABC):
    """Brings the files of a group into the store: each file, then what makes the group complete.

    Methods raise `RetriableError` for what may pass, and are then called again with the same arguments.
    """

    knows_offsets: ClassVar[bool] = False
    """Whether `begin` tells where a partition's files end, so that nobody looks for files by name."""

    def begin(self, claim: Claim) -> int | None:
        """Take a partition over; return the offset that its next file begins at, None if the group's offset counts."""
        return None

    @abstractmethod
    def deliver(self, group: FileGroup, file: OpenFile, part: PartFile) -> None:
        """Upload a file; called from several threads."""

    def complete(self, group: FileGroup) -> None:
        """Make a group complete whose files are all delivered."""
        return

    def end(self) -> None:
        """Clear up when all threads have ended."""
        return


class ObjectDelivery(Delivery):
    """Uploads each file under its name, which the store refuses if it is taken.

    A file of the same name and offsets counts as written; its answer was lost, or a task that was replaced wrote it.
    """

    def __init__(self, place: Place, *, if_absent: bool) -> None:
        """`if_absent` says whether the store refuses a name that exists."""
        self._place = place
        self._if_absent = if_absent

    def deliver(self, group: FileGroup, file: OpenFile, part: PartFile) -> None:
        """Put the file; another task's file with other offsets raises a `ConnectError`."""
        try:
            self._place.put(part.name, part.local, if_absent=self._if_absent, facts=file.facts)
        except NameTaken as error:
            found = self._place.head(part.name)
            end = end_of(found.facts) if found is not None else None
            if end is None:
                self._place.put(part.name, part.local, facts=file.facts)
            elif end != file.last:
                raise ConnectError(
                    f"{self._place.address}/{part.name} exists with offsets up to {end}, this task has them up to"
                    f" {file.last}",
                    hint="another task writes there: end it, then restart this task, which goes on behind that file",
                ) from error


def end_of(facts: Mapping[str, str]) -> int | None:
    """Return the last offset of a file, None where no sink of Hearth wrote it or the store keeps no facts."""
    found = {name.lower(): text for name, text in facts.items()}.get("endoffset", "")
    return int(found) if found.isdigit() else None


def insist(subject: str, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a call returns; a store that does not answer is asked again for some time.

    `subject` is what the call asks about, for the log. Raises `ConnectError` when the time is over.
    """
    deadline = time.monotonic() + LOOK_UP_SECONDS
    while True:
        try:
            return call(*args, **kwargs)
        except RetriableError as error:
            if time.monotonic() > deadline:
                raise ConnectError(str(error), hint=error.hint) from error
            _log.warning("%s is not looked up yet, and tried again: %s", subject, error)
            time.sleep(_PAUSE)

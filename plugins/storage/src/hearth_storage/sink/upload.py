"""Uploads complete files: those of a Kafka partition in the order of its offsets."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event

from hearth_api import ConnectError, RetriableError, TopicPartition
from hearth_storage.place.place import NameTaken, Place
from hearth_storage.sink.file_group import VALUE, FileGroup, OpenFile, PartFile, discard

THREADS = 4
_log = logging.getLogger(__name__)


class Uploads:
    """Uploads groups of files in the background.

    A group starts once the group before it is complete in the store, so at any time the files of a partition reach up
    to some offset, with those of one group beyond it: what a task finds after a crash is what it writes again.
    A file of the same name and offsets counts as written; its answer was lost, or a task that was replaced wrote it.
    """

    def __init__(self, place: Place, *, if_absent: bool, backoff: float) -> None:
        """`if_absent` says whether the store refuses a name that exists; `backoff` is in seconds."""
        self._place = place
        self._if_absent = if_absent
        self._backoff = backoff
        self._pool = ThreadPoolExecutor(THREADS, "uploads")
        self._changed = Condition()
        self._groups: dict[TopicPartition, deque[FileGroup]] = defaultdict(deque)
        self._left: dict[int, int] = {}
        self._size = 0
        self._done: dict[TopicPartition, int] = {}
        self._failure: BaseException | None = None
        self._stop = Event()

    @property
    def waiting(self) -> int:
        """Return the bytes of files that are not yet in the store."""
        return self._size

    def is_idle(self, partition: TopicPartition) -> bool:
        """Return whether all files of a partition that were added are in the store."""
        with self._changed:
            return not self._groups.get(partition)

    def done(self) -> Mapping[TopicPartition, int]:
        """Return the offset behind the complete files of each partition."""
        with self._changed:
            return dict(self._done)

    def add(self, group: FileGroup) -> None:
        """Upload the files of a group after those of the group before it."""
        with self._changed:
            if group.is_abandoned:
                discard(group)
                return
            self._size += sum(_size(file) for file in group.files)
            waiting = self._groups[group.claim.partition]
            waiting.append(group)
            group.claim.uploading += 1
            if len(waiting) == 1:
                self._begin(group)

    def release(self, partition: TopicPartition) -> None:
        """Give up the files of a partition that this task loses; uploads that have begun go on to their end."""
        with self._changed:
            for group in self._groups.pop(partition, ()):
                group.claim.is_lost = True
                if id(group) not in self._left:
                    self._forget(group)
            self._done.pop(partition, None)

    def wait(self, most: int, seconds: float) -> bool:
        """Wait until at most so many bytes are left to upload; return whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._size <= most or self._failure is not None, seconds)

    def check(self) -> None:
        """Raise what an upload failed of."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the threads; requests that are under way end first."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self, group: FileGroup) -> None:
        self._left[id(group)] = len(group.files)
        for file in group.files:
            self._pool.submit(self._upload, group, file)
        if not group.files:
            self._end(group)

    def _end(self, group: FileGroup) -> None:
        """Note that a group is complete, and begin the next one; the lock is held."""
        del self._left[id(group)]
        waiting = self._groups.get(group.claim.partition)
        if not group.is_abandoned and waiting:
            waiting.popleft()
            self._done[group.claim.partition] = group.end
            if waiting:
                self._begin(waiting[0])
        self._changed.notify_all()

    def _upload(self, group: FileGroup, file: OpenFile) -> None:
        try:
            parts = file.parts
            for kind in sorted(parts, key=lambda each: each == VALUE):  # as `last_kind` says
                if not self._put(group, file, parts[kind]):
                    return
        except BaseException as error:  # noqa: BLE001 - it is raised by the next call of the task
            with self._changed:
                if not group.is_abandoned:
                    self._failure = self._failure or error
                self._changed.notify_all()
            return
        with self._changed:
            self._forget_file(file)
            self._left[id(group)] -= 1
            if not self._left[id(group)]:
                self._end(group)

    def _put(self, group: FileGroup, file: OpenFile, part: PartFile) -> bool:
        """Upload until the store has the file or the task loses the partition; return whether one of them happened."""
        while not group.is_abandoned:
            if self._stop.is_set():
                return False
            try:
                self._put_once(file, part)
            except RetriableError as error:
                _log.warning("%s is not uploaded yet, and tried again: %s", part.name, error)
                self._stop.wait(self._backoff)
            else:
                break
        return True

    def _put_once(self, file: OpenFile, part: PartFile) -> None:
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

    def _forget(self, group: FileGroup) -> None:
        for file in group.files:
            self._forget_file(file)

    def _forget_file(self, file: OpenFile) -> None:
        self._size -= _size(file)
        for part in file.parts.values():
            part.local.unlink(missing_ok=True)
        file.parts = {}
        self._changed.notify_all()


def end_of(facts: Mapping[str, str]) -> int | None:
    """Return the last offset of a file, None where no sink of Hearth wrote it or the store keeps no facts."""
    found = {name.lower(): text for name, text in facts.items()}.get("endoffset", "")
    return int(found) if found.isdigit() else None


def _size(file: OpenFile) -> int:
    return sum(part.local.stat().st_size for part in file.parts.values())

"""Uploads complete files: those of a Kafka partition in the order of its offsets."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event
from typing import Any

from hearth_api import RetriableError, TopicPartition
from hearth_storage.sink.file_delivery import Delivery
from hearth_storage.sink.file_group import VALUE, FileGroup, OpenFile, discard

THREADS = 4
_log = logging.getLogger(__name__)


class Uploads:
    """Uploads groups of files in the background.

    A group starts once the group before it is complete in the store, so at any time the files of a partition reach up
    to some offset, with those of one group beyond it: what a task finds after a crash is what it writes again.
    """

    def __init__(self, delivery: Delivery, backoff: float) -> None:
        """`backoff` is in seconds."""
        self._delivery = delivery
        self._backoff = backoff
        self._pool = ThreadPoolExecutor(THREADS, "uploads")
        self._changed = Condition()
        self._groups: dict[TopicPartition, deque[FileGroup]] = defaultdict(deque)
        self._left: dict[int, int] = {}
        self._size = 0
        self._done: dict[TopicPartition, int] = {}
        self._failure: BaseException | None = None
        self._stop = Event()

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
            return self._changed.wait_for(lambda: self._waits_for_at_most(most) or self._failure is not None, seconds)

    def check(self) -> None:
        """Raise what an upload failed of."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the threads; requests that are under way end first."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _waits_for_at_most(self, most: int) -> bool:
        return self._size <= most and (most > 0 or not any(self._groups.values()))

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
                part = parts[kind]
                if not self._insist(group, part.name, self._delivery.deliver, group, file, part):
                    return
            if not self._is_last(group, file):
                return
            if not self._insist(group, str(group.claim.partition), self._delivery.complete, group):
                return
        except BaseException as error:  # noqa: BLE001 - it is raised by the next call of the task
            with self._changed:
                if not group.is_abandoned:
                    self._failure = self._failure or error
                self._changed.notify_all()
            return
        with self._changed:
            self._end(group)

    def _is_last(self, group: FileGroup, file: OpenFile) -> bool:
        """Note that a file is delivered; return whether it was the last one of its group."""
        with self._changed:
            self._forget_file(file)
            self._left[id(group)] -= 1
            return not self._left[id(group)]

    def _insist(self, group: FileGroup, subject: str, step: Callable[..., None], *args: Any) -> bool:
        """Repeat a step until it succeeds or the task loses the partition; return whether one of them happened."""
        while not group.is_abandoned:
            if self._stop.is_set():
                return False
            try:
                step(*args)
            except RetriableError as error:
                _log.warning("%s is not uploaded yet, and tried again: %s", subject, error)
                self._stop.wait(self._backoff)
            else:
                break
        return True

    def _forget(self, group: FileGroup) -> None:
        for file in group.files:
            self._forget_file(file)

    def _forget_file(self, file: OpenFile) -> None:
        self._size -= _size(file)
        for part in file.parts.values():
            part.local.unlink(missing_ok=True)
        file.parts = {}
        self._changed.notify_all()


def _size(file: OpenFile) -> int:
    return sum(part.local.stat().st_size for part in file.parts.values())

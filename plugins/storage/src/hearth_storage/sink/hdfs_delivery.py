"""Files of a Kafka partition become visible together in HDFS, by Java's log and renames."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping

from hearth_api import ConnectError, NotFoundError, RetriableError, TopicPartition
from hearth_storage.place.hdfs_place import TEMPORARY, HdfsPlace
from hearth_storage.place.place import NameTaken
from hearth_storage.sink.file_delivery import Delivery, insist
from hearth_storage.sink.file_group import Claim, FileGroup, OpenFile, PartFile
from hearth_storage.sink.offset_log import CorruptLog, blocks, encoded, end_offset

_LOG = "log"
_OLD = ".1"
_CLOSE_SECONDS = 60.0
_PAUSE = 0.2
_HOST, _SLASHES = re.compile(r"^\w+://[^/]*"), re.compile("/+")
_log = logging.getLogger(__name__)


class TakenOver(ConnectError):
    """Another task has the partition now, and this one commits nothing more of it."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(
            f"another task writes the files of {partition} now",
            hint="if they are of two connectors, end one; a restart of this task goes on behind those files",
        )


class HdfsDelivery(Delivery):
    """Writes temporary files, then the log, then renames; whoever takes a partition over finishes what the log tells.

    Each assignment has a directory of its own, `<topics.dir>/+tmp/<topic>/<partition>/<token>`, for temporary files,
    and in it one that a log is written in before it is renamed to `<logs.dir>/<topic>/<partition>/log`. That rename is
    the commit. A successor deletes this directory before it reads the log, so its predecessor commits nothing more.
    """

    knows_offsets = True

    def __init__(self, place: HdfsPlace, topics: Callable[[str], str], logs: Callable[[str], str]) -> None:
        """`topics` and `logs` return `topics.dir` and `logs.dir` of a topic."""
        self._place = place
        self._topics = topics
        self._logs = logs
        self._begun: list[Claim] = []
        self._committing: set[str] = set()

    def begin(self, claim: Claim) -> int | None:
        """Fence the tasks that had the partition, finish what they committed, and return where the files end."""
        self._begun.append(claim)
        return insist(self._log_of(claim.partition), self._begin, claim)

    def deliver(self, group: FileGroup, file: OpenFile, part: PartFile) -> None:
        """Write the temporary file."""
        extension = part.name.rpartition(".")[2]
        temporary = f"{self._directory(group.claim)}/{part.local.name}_tmp.{extension}"
        try:
            self._place.write(temporary, part.local)
        except NotFoundError as error:
            raise TakenOver(group.claim.partition) from error
        group.renames[temporary] = part.name

    def complete(self, group: FileGroup) -> None:
        """Commit the group by the log, then rename its files."""
        if not group.renames:
            return
        claim, address = group.claim, self._place.address
        block = {f"{address}/{temporary}": f"{address}/{name}" for temporary, name in group.renames.items()}
        unpublished = f"{self._directory(claim)}/{_LOG}/{_LOG}"
        try:
            self._place.write(unpublished, encoded(block))
            self._committing.add(claim.token)
            self._place.replace(unpublished, self._log_of(claim.partition))
        except NotFoundError as error:
            raise TakenOver(claim.partition) from error
        for temporary, name in group.renames.items():
            if not self._renamed(temporary, name):
                raise TakenOver(claim.partition)
        self._committing.discard(claim.token)

    def end(self) -> None:
        """Delete the temporary files of this task, unless a commit of them has to be finished by a successor."""
        for claim in self._begun:
            if claim.token not in self._committing:
                try:
                    self._place.delete_directory(self._directory(claim))
                except ConnectError as error:
                    _log.warning("temporary files stay: %s", error)

    def _begin(self, claim: Claim) -> int | None:
        place, above = self._place, self._above(claim.partition)
        place.make_directory(f"{self._directory(claim)}/{_LOG}")
        others = [name for name in place.directories(above) if name != claim.token]
        for name in others:
            place.delete_directory(f"{above}/{name}/{_LOG}")
        end = self._recovered(claim.partition)
        for name in others:
            place.delete_directory(f"{above}/{name}")
        return None if end < 0 else end + 1

    def _recovered(self, partition: TopicPartition) -> int:
        """Finish the commits of the log, and return the last offset of the files, -1 if there are none.

        Java's rule: the last block of the log tells, else that of the log before it, else the names of the files; the
        names also if a log cannot be read.
        """
        log = self._log_of(partition)
        try:
            end = -1
            for block in blocks(self._closed(log)):
                self._finish(block)
                end = _end(block, partition, end)
            if end < 0:
                for block in blocks(self._closed(log + _OLD)):
                    end = _end(block, partition, end)
        except CorruptLog as error:
            _log.warning("%s/%s is not used: %s; names of files tell the offset", self._place.address, log, error)
            end = -1
        if end >= 0:
            return end
        found = self._place.all_files(f"{self._topics(partition.topic)}/{partition.topic}")
        return max((end_offset(name, partition.topic, partition.partition) for name in found), default=-1)

    def _closed(self, log: str) -> bytes:
        """Return a log, empty if there is none; whoever writes it, Java or not, can do so no more."""
        if self._place.head(log) is None:
            return b""
        deadline = time.monotonic() + _CLOSE_SECONDS
        while not self._place.closed(log):
            if time.monotonic() > deadline:
                raise RetriableError(f"{self._place.address}/{log} is still being closed by HDFS")
            time.sleep(_PAUSE)
        return self._place.read(log)

    def _finish(self, block: Mapping[str, str]) -> None:
        """Rename the files of a commit whose task ended within it; absent ones were renamed and moved since."""
        for temporary, name in block.items():
            self._renamed(self._name(temporary), self._name(name))

    def _name(self, address: str) -> str:
        """Return the name in this place of a file that a log has by its address."""
        path, root = (_SLASHES.sub("/", _HOST.sub("", each)) for each in (address, self._place.address))
        if not path.startswith(f"{root}/"):
            raise ConnectError(
                f"the log names {address}, which is not below {self._place.address}",
                hint="set store.url to that of the task that wrote the log, or delete it if its files are complete",
            )
        return path[len(root) + 1 :]

    def _renamed(self, temporary: str, name: str) -> bool:
        """Rename a file unless that is done; return False if there is neither of them."""
        try:
            self._place.rename(temporary, name)
        except NameTaken:
            return True
        except NotFoundError:
            return self._place.head(name) is not None
        return True

    def _directory(self, claim: Claim) -> str:
        return f"{self._above(claim.partition)}/{claim.token}"

    def _above(self, partition: TopicPartition) -> str:
        return f"{self._topics(partition.topic)}/{TEMPORARY}/{partition.topic}/{partition.partition}"

    def _log_of(self, partition: TopicPartition) -> str:
        return f"{self._logs(partition.topic)}/{partition.topic}/{partition.partition}/{_LOG}"


def _end(block: Mapping[str, str], partition: TopicPartition, before: int) -> int:
    """Return the last offset of the files of a block, that before it if it has none."""
    ends = [end_offset(name, partition.topic, partition.partition) for name in block.values()]
    return max(ends, default=-1) if max(ends, default=-1) >= 0 else before

"""Files as a source sees them: what their names tell, and which of them belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from zlib import crc32

from hearth_storage.format.compression import bare_name
from hearth_storage.place.place import Entry
from hearth_storage.source.source_setting import RESTORE, StorageSourceConfig

_KINDS = {".keys": "key", ".headers": "headers"}


@dataclass(frozen=True)
class StoredFile:
    """A file of values with those of keys and headers beside it; tombstones have keys alone.

    `partition` and `start` are Kafka's, from the name a sink gave; None and 0 for any other file.
    """

    name: str
    topic: str
    value: Entry | None = None
    key: Entry | None = None
    headers: Entry | None = None
    partition: int | None = None
    start: int = 0

    @property
    def version(self) -> str:
        """Return the version of the file that makes records."""
        entry = self.value or self.key
        assert entry is not None
        return entry.version

    @property
    def directory(self) -> str:
        """Return the part of the name before the last slash."""
        return self.name.rpartition("/")[0]

    def share(self, count: int) -> int:
        """Return which of `count` tasks reads the file: one for each Kafka partition, or for each directory."""
        if self.partition is None:
            return crc32(self.directory.encode()) % count
        return (crc32(self.topic.encode()) + self.partition) % count


@dataclass
class FileNames:
    """Makes stored files of a store's entries, by the settings of a source."""

    settings: StorageSourceConfig
    _name: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compile the form of the names that sinks give: topic, partition, start offset, for HDFS also the end."""
        delim = re.escape(self.settings.file_delim)
        form = rf"(?P<topic>.+?){delim}(?P<partition>\d+){delim}(?P<start>\d+)(?:{delim}\d+)?"
        self._name = re.compile(rf"{form}(?P<kind>\.keys|\.headers)?(?P<extension>\..*)?")

    def stem(self, entry: Entry) -> str:
        """Return the part of a name that a file has in common with those of its keys and headers."""
        directory, delim, last = entry.name.rpartition(self.settings.directory_delim)
        match = self._name.fullmatch(last)
        return entry.name if match is None else directory + delim + last[: match.end("start")]

    def files(self, entries: Iterable[Entry]) -> Iterator[StoredFile]:
        """Yield the complete files among entries, sorted by directory, partition and start; others are passed over."""
        if self.settings.mode == RESTORE:
            yield from self._restored(entries)
            return
        for entry in entries:
            name = entry.name
            topic = next((each for each, form in self.settings.topics if form.fullmatch(name)), None)
            if topic is not None and self.settings.format_of(bare_name(name)) is not None:
                yield StoredFile(name, topic, value=entry)

    def _restored(self, entries: Iterable[Entry]) -> Iterator[StoredFile]:
        found: dict[tuple[str, str], StoredFile] = {}
        for entry in entries:
            directory, _, last = entry.name.rpartition(self.settings.directory_delim)
            match = self._name.fullmatch(last)
            if match is None:
                continue
            stem = (directory, last[: match.end("start")])
            file = found.get(stem)
            if file is None:
                topic, partition, start = match["topic"], int(match["partition"]), int(match["start"])
                file = StoredFile("", topic, partition=partition, start=start)
            kind = _KINDS.get(match["kind"] or "", "value")
            found[stem] = replace(file, **{kind: entry})  # type: ignore[arg-type]
        whole = (self._named(file, directory) for (directory, _), file in found.items())
        yield from sorted(filter(None, whole), key=lambda file: (file.directory, file.partition, file.start))

    def _named(self, file: StoredFile, directory: str) -> StoredFile | None:
        """Return a file under the name of what makes its records; None if a part of it is still missing."""
        is_tombstone = directory.rpartition(self.settings.directory_delim)[2] == self.settings.tombstone_partition
        main = file.value or (file.key if is_tombstone else None)
        misses_keys = self.settings.store_keys and file.key is None
        misses_headers = self.settings.store_headers and file.headers is None
        if main is None or misses_keys or misses_headers:
            return None
        if self.settings.format_of(bare_name(main.name)) is None:
            return None
        return replace(file, name=main.name)

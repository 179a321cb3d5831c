"""A place that contains files by name, such as a bucket or a directory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from hearth_api import ConnectError

PART_SIZE = 26_214_400
"""Bytes of a part of an upload, unless a setting says otherwise."""


@dataclass(frozen=True)
class Entry:
    """A complete file of a place: name, size in bytes, time of its last change in ms, and the store's version of it.

    `version` changes whenever the content does; it is an ETag where the store has one, else made of time and size.
    `facts` are those of `put`, where the store kept them; only `head` finds them.
    """

    name: str
    size: int
    changed: int
    version: str
    facts: Mapping[str, str] = field(default_factory=dict)


class NameTaken(ConnectError):
    """A file of this name exists, and was not to be replaced."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"{self.name} exists already"


class Place(ABC):
    """Files by name; a name uses `/` between directories and begins with none.

    A file is complete or absent, and is never changed in place. Any method raises `NotFoundError` for a file, bucket
    or container that is absent, `RetriableError` for what may pass (no answer, 429, 5xx), and `ConnectError` for what
    will not (no right, wrong region). An error after a write leaves open whether it happened. Methods may be called
    from several threads.
    """

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the address of the place for messages, such as `s3://bucket`, without secrets."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error unless the place exists and answers."""

    @abstractmethod
    def put(
        self, name: str, data: bytes | Path, *, if_absent: bool = False, facts: Mapping[str, str] | None = None
    ) -> None:
        """Write a file of bytes, or a copy of a local file; it appears complete.

        With `if_absent`, an existing name raises `NameTaken`, checked when the file appears; a file above the size of
        a part is checked before its upload starts. `facts` are short texts kept beside the file, where the store can.
        """

    @abstractmethod
    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return bytes of a file from `start`, all of them unless a length is given; fewer at its end."""

    @abstractmethod
    def reader(self, name: str) -> BinaryIO:
        """Return a seekable file for reading, which fetches ranges."""

    @abstractmethod
    def list(self, prefix: str = "", after: str = "") -> Iterator[Sequence[Entry]]:
        """Yield pages of the files whose name begins with `prefix` and sorts after `after`, in the order of names.

        Names sort by their UTF-8 bytes. A page has at most some thousands of entries; the next page is fetched when it
        is asked for.
        """

    @abstractmethod
    def head(self, name: str) -> Entry | None:
        """Return the facts of a file, None if there is none."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file; do nothing if there is none."""

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file atomically; raises `NameTaken` if the new name exists.

        Only places that have directories can; others raise `NotImplementedError`.
        """
        raise NotImplementedError(f"{self.address} cannot rename files")

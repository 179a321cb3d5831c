"""A spool at an address, such as a bucket, that fsspec knows how to reach."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from hearth_api import ConfigError

CREATE_ONCE = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory")
"""Where a file can be made on condition that there is none, in one step; ``memory`` is this process's own."""
RENAME_ONCE = ("hdfs", "viewfs", "webhdfs")
"""Where a file is renamed in one step, which fails where the name is taken."""


class AddressStore:
    """Files of whatever serves an address. There is no lock: numbers of states show who takes a spool over."""

    look_seconds = 1.0

    def __init__(self, address: str) -> None:
        scheme = address.partition("://")[0]
        if scheme not in CREATE_ONCE + RENAME_ONCE:
            raise ConfigError(
                "hearth.spool", address, "of no file system of that name is known that a name is taken once",
                hint=f"name a directory that is shared, or an address of {', '.join(CREATE_ONCE[:-1] + RENAME_ONCE)}",
            )  # fmt: skip
        self.address = address
        self._renames = scheme in RENAME_ONCE
        try:
            from fsspec.core import url_to_fs

            self._system, self._root = url_to_fs(address, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise ConfigError(
                "hearth.spool", address, f"it cannot be reached: {error}",
                hint="install fsspec and its package for that scheme (s3fs, gcsfs, adlfs), on executors as well",
            ) from error  # fmt: skip

    def lock(self, seconds: float) -> Callable[[], None]:
        """Try whether a name is taken by one alone, as all of it depends on that."""
        name = f"trial-{uuid.uuid4().hex}"
        try:
            self.create(name, b"1")
            with contextlib.suppress(FileExistsError):
                self.create(name, b"2")
                raise ConfigError(
                    "hearth.spool", self.address, "a name that was taken there can be taken again",
                    hint="use a newer fsspec and package for that scheme, or a directory that is shared",
                )  # fmt: skip
        finally:
            self.remove(name)
        return lambda: None

    def names(self, folder: str = "") -> list[str]:
        """Return the last parts of names."""
        with contextlib.suppress(FileNotFoundError):
            return [each.rstrip("/").rpartition("/")[2] for each in self._system.ls(self._path(folder), detail=False)]
        return []

    def read(self, name: str) -> bytes | None:
        """Return what a file holds."""
        with contextlib.suppress(FileNotFoundError):
            return bytes(self._system.cat_file(self._path(name)))
        return None

    def end(self, name: str, count: int) -> bytes | None:
        """Return the last bytes of a file."""
        with contextlib.suppress(FileNotFoundError):
            return bytes(self._system.cat_file(self._path(name), start=-count))
        return None

    def open(self, name: str) -> Any:
        """Return a file that was read whole: segments are not that large."""
        return pa.BufferReader(self._system.cat_file(self._path(name)))

    def create(self, name: str, data: bytes) -> None:
        """Make a file on condition that there is none."""
        if not self._renames:
            self._system.pipe_file(self._path(name), data, mode="create")
            return
        beside = self._path(f".{uuid.uuid4().hex}")
        self._system.pipe_file(beside, data)
        try:
            self._system.mv(beside, self._path(name))
        except OSError as error:
            if self._system.exists(self._path(name)):
                raise FileExistsError(name) from error
            raise
        finally:
            self.remove(beside)

    def put(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._system.pipe_file(self._path(name), data)

    def draft(self, name: str) -> Path:
        """Return a path among the temporary files of this machine."""
        handle, path = tempfile.mkstemp(prefix="hearth-spool-")
        os.close(handle)
        return Path(path)

    def publish(self, draft: Path, name: str) -> None:
        """Upload a file."""
        path = self._path(name)
        if self._renames:
            beside = self._path(f".{uuid.uuid4().hex}")
            self._system.put_file(str(draft), beside)
            self._system.mv(beside, path)
        else:
            self._system.put_file(str(draft), path)
        draft.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a file."""
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

"""A spool at an fsspec address, such as a bucket."""

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
"""Schemes with atomic creation of a file that must not exist; ``memory`` is local to this process."""
RENAME_ONCE = ("hdfs", "viewfs", "webhdfs")
"""Schemes with atomic rename that fails if the name exists."""


class AddressStore:
    """Files at an fsspec address. There is no lock: numbers of states show which read has taken over a spool."""

    look_seconds = 1.0

    def __init__(self, address: str) -> None:
        scheme = address.partition("://")[0]
        if scheme not in CREATE_ONCE + RENAME_ONCE:
            raise ConfigError(
                "hearth.spool", address, "that file system is not known to create files atomically",
                hint=f"use a shared directory, or an address of {', '.join(CREATE_ONCE[:-1] + RENAME_ONCE)}",
            )  # fmt: skip
        self.address = address
        self._renames = scheme in RENAME_ONCE
        try:
            from fsspec.core import url_to_fs

            self._system, self._root = url_to_fs(address, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise ConfigError(
                "hearth.spool", address, f"it cannot be reached: {error}",
                hint="install fsspec and its package for that scheme (s3fs, gcsfs, adlfs), also on executors",
            ) from error  # fmt: skip

    def lock(self, seconds: float) -> Callable[[], None]:
        """Check that a name can be created only once, on which everything depends."""
        name = f"trial-{uuid.uuid4().hex}"
        try:
            self.create(name, b"1")
            with contextlib.suppress(FileExistsError):
                self.create(name, b"2")
                raise ConfigError(
                    "hearth.spool", self.address, "a file that exists there can be created again",
                    hint="use a newer fsspec and package for that scheme, or a shared directory",
                )  # fmt: skip
        finally:
            self.remove(name)
        return lambda: None

    def names(self, folder: str = "") -> list[str]:
        """Return the base names of a folder."""
        with contextlib.suppress(FileNotFoundError):
            return [each.rstrip("/").rpartition("/")[2] for each in self._system.ls(self._path(folder), detail=False)]
        return []

    def read(self, name: str) -> bytes | None:
        """Return the content of a file."""
        with contextlib.suppress(FileNotFoundError):
            return bytes(self._system.cat_file(self._path(name)))
        return None

    def end(self, name: str, count: int) -> bytes | None:
        """Return the last bytes of a file."""
        with contextlib.suppress(FileNotFoundError):
            return bytes(self._system.cat_file(self._path(name), start=-count))
        return None

    def open(self, name: str) -> Any:
        """Return a file, read into memory: segments are small enough."""
        return pa.BufferReader(self._system.cat_file(self._path(name)))

    def create(self, name: str, data: bytes) -> None:
        """Create a file that must not exist."""
        if not self._renames:
            self._system.pipe_file(self._path(name), data, mode="create")
            return
        draft = self._path(f".{uuid.uuid4().hex}")
        self._system.pipe_file(draft, data)
        try:
            self._system.mv(draft, self._path(name))
        except OSError as error:
            if self._system.exists(self._path(name)):
                raise FileExistsError(name) from error
            raise
        finally:
            self.remove(draft)

    def put(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._system.pipe_file(self._path(name), data)

    def draft(self, name: str) -> Path:
        """Return a temporary file of this machine."""
        handle, path = tempfile.mkstemp(prefix="hearth-spool-")
        os.close(handle)
        return Path(path)

    def publish(self, draft: Path, name: str) -> None:
        """Upload a file."""
        path = self._path(name)
        if self._renames:
            uploaded = self._path(f".{uuid.uuid4().hex}")
            self._system.put_file(str(draft), uploaded)
            self._system.mv(uploaded, path)
        else:
            self._system.put_file(str(draft), path)
        draft.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a file."""
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

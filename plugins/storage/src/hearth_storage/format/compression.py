"""Compression of whole files: written by the settings of a sink, read by the name of a file."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

import pyarrow as pa

from hearth_api import ConfigError

_TYPE, _LEVEL = ".compression.type", ".compression.level"
_EXTENSIONS = {"none": "", "gzip": ".gz"}
_READ = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


class Compression:
    """What `s3.compression.type` and its like for the other stores ask for."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Find the key of whichever store; raises ConfigError for an unknown type."""
        key, name = _setting(settings, _TYPE, "none")
        self._name = str(name).lower()
        if self._name not in _EXTENSIONS:
            raise ConfigError(key, name, f"is one of {', '.join(_EXTENSIONS)}")
        self._level = int(_setting(settings, _LEVEL, -1)[1])

    @property
    def extension(self) -> str:
        """Return what the name of a compressed file ends with."""
        return _EXTENSIONS[self._name]

    def wrapped(self, out: BinaryIO) -> BinaryIO:
        """Return a file that compresses into another, and leaves it open; without a time, so equal data are equal."""
        if self._name == "none":
            return out
        level = 6 if self._level < 0 else self._level
        return cast(BinaryIO, gzip.GzipFile(fileobj=out, mode="wb", compresslevel=level, mtime=0, filename=""))


def decompressed(file: BinaryIO, name: str) -> BinaryIO:
    """Return the file, decompressed if the extension of its name says so."""
    codec = next((codec for extension, codec in _READ.items() if name.endswith(extension)), None)
    if codec is None:
        return file
    if codec == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))  # reads files of several members
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec))


def bare_name(name: str) -> str:
    """Return a name without the extension of a compression."""
    return next((name[: -len(each)] for each in _READ if name.endswith(each)), name)


def _setting(settings: Mapping[str, Any], end: str, default: Any) -> tuple[str, Any]:
    found = ((key, value) for key, value in settings.items() if f".{key}".endswith(end) and value is not None)
    return next(found, (end[1:], default))

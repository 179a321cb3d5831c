"""A place in an object store, reached through obstore."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import obstore
from obstore import exceptions

from hearth_api import ConnectError, NotFoundError, RetriableError
from hearth_storage.place.place import PART_SIZE, Entry, NameTaken, Place
from hearth_storage.place.range_reader import RangeReader
from hearth_storage.place.translation import translating

_PAGE = 1000
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_HINTS = {
    "NoSuchBucket": "create the bucket, or correct its name",
    "InvalidAccessKeyId": "check the access key",
    "SignatureDoesNotMatch": "check the secret key",
    "RequestTimeTooSkewed": "set this machine's clock",
    "ExpiredToken": "renew the session token, or use a provider that does",
    "PermanentRedirect": "set the region to that of the bucket",
    "AuthorizationHeaderMalformed": "set the region to that of the bucket",
    "AccessDenied": "grant the right to list, read and write to these credentials",
}


def _error(address: str, error: Exception) -> ConnectError:
    text = " ".join(str(error).partition("\n\nDebug source")[0].split())
    message = f"{address}: {text}"
    code = _CODE.search(text)
    hint = _HINTS.get(code[1]) if code else None
    status = _STATUS.search(text)
    if isinstance(error, FileNotFoundError | exceptions.NotFoundError) or (status and status[1] == "404"):
        return NotFoundError(message, hint=hint)
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return ConnectError(message, hint=hint or _HINTS["AccessDenied"])
    if isinstance(error, exceptions.GenericError) and (status is None or int(status[1]) in _PASSING):
        return RetriableError(message, hint=hint)
    return ConnectError(message, hint=hint)


_translated = translating(exceptions.AlreadyExistsError, (exceptions.BaseError, OSError, ValueError), _error)


class ObjectPlace(Place):
    """Files in a bucket or container."""

    def __init__(
        self, store: Any, address: str, *, part_size: int = PART_SIZE, tags: Mapping[str, str] | None = None
    ) -> None:
        """With `tags`, each file has them and its facts as tags."""
        self._tags = tags
        self._store = store
        self._address = address
        self._part_size = part_size

    @property
    def address(self) -> str:
        """Return the address of the bucket or container."""
        return self._address

    @_translated
    def check(self) -> None:
        """List a file at most, since a right to list suffices."""
        for _ in obstore.list(self._store, prefix="+check", chunk_size=1):
            break

    @_translated
    def put(
        self, name: str, data: bytes | Path, *, if_absent: bool = False, facts: Mapping[str, str] | None = None
    ) -> None:
        """Write in one conditional request, or in parts above the size of a part."""
        size = len(data) if isinstance(data, bytes) else data.stat().st_size
        common: Any = {"attributes": {"Content-Type": "application/octet-stream", **(facts or {})}}
        if self._tags is not None:
            common["tags"] = {**(facts or {}), **self._tags}
        if size > self._part_size:
            if if_absent and self.head(name) is not None:
                raise NameTaken(name)
            obstore.put(self._store, name, data, chunk_size=self._part_size, max_concurrency=2, **common)
            return
        body = data if isinstance(data, bytes) else data.read_bytes()
        mode: Any = "create" if if_absent else "overwrite"
        obstore.put(self._store, name, body, use_multipart=False, mode=mode, **common)

    @_translated
    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Read in one request, or two if the length is that of the file."""
        if not start and length is None:
            return bytes(obstore.get(self._store, name).bytes())
        size = obstore.head(self._store, name)["size"]
        end = size if length is None else min(size, start + length)
        return bytes(obstore.get_range(self._store, name, start=start, end=end)) if start < end else b""

    @_translated
    def reader(self, name: str) -> BinaryIO:
        """Return a buffered reader of ranges."""
        return cast("BinaryIO", RangeReader(self, name, obstore.head(self._store, name)["size"]))

    @_translated
    def list(self, prefix: str = "", after: str = "") -> Iterator[Sequence[Entry]]:
        """Yield a page of each answer; the store sorts the names."""
        directory = prefix.rpartition("/")[0]
        found = obstore.list(self._store, prefix=directory or None, offset=after or None, chunk_size=_PAGE)
        return self._pages(iter(found), prefix)

    def _pages(self, found: Iterator[Any], prefix: str) -> Iterator[Sequence[Entry]]:
        while (page := self._next(found)) is not None:
            if entries := [_entry(each) for each in page if each["path"].startswith(prefix)]:
                yield entries

    @_translated
    def _next(self, found: Iterator[Any]) -> Any:
        return next(found, None)

    def head(self, name: str) -> Entry | None:
        """Ask for the facts alone."""
        try:
            return self._head(name)
        except NotFoundError:
            return None

    @_translated
    def _head(self, name: str) -> Entry:
        found = obstore.get(self._store, name, options={"head": True})
        return _entry(found.meta, {key: str(value) for key, value in found.attributes.items()})

    @_translated
    def delete(self, name: str) -> None:
        """Delete in one request."""
        try:
            obstore.delete(self._store, name)
        except FileNotFoundError:
            return


def _entry(meta: Any, facts: Mapping[str, str] | None = None) -> Entry:
    changed = int(meta["last_modified"].timestamp() * 1000)
    version = (meta.get("e_tag") or f"{changed}-{meta['size']}").strip('"')  # Azure quotes it in one of two answers
    return Entry(meta["path"], meta["size"], changed, version, facts or {})

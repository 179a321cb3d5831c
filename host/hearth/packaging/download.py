"""Downloads: files from addresses, unharmed on their way or looked at afterwards."""

from __future__ import annotations

import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from hearth.discovery.refusal import BundleError
from hearth.foundation.user_file import FULL
from hearth_api import ConfigError, ConnectError

LONGEST_WAIT = 60.0
"""Seconds in which nothing comes of a download before it is given up."""


def download(address: str, target: Path, is_checked: bool, most_bytes: int) -> Path:
    """Fetch a file; returns where it is.

    What is not ``is_checked`` afterwards has to come over https, wherever the address leads to and on each step there.
    Raises ``ConfigError`` where it would not, ``ConnectError`` where nothing comes, ``BundleError`` for too much.
    """
    _check_way(address, is_checked)
    opener = urllib.request.build_opener(_Redirects(is_checked))
    try:
        with opener.open(address, timeout=LONGEST_WAIT) as answer, target.open("wb") as file:
            for block in iter(lambda: answer.read(1 << 20), b""):
                file.write(block)
                if file.tell() > most_bytes:
                    raise BundleError(f"{address} is longer than {most_bytes} bytes", hint="fetch it in another way")
    except (urllib.error.URLError, OSError) as error:
        if error.errno in FULL:
            raise
        hint = "see whether this machine reaches that address"
        raise ConnectError(f"{address}: {error}", code="environment.download", hint=hint) from error
    return target


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows where an address leads to, as long as nobody on the way could have said so."""

    def __init__(self, is_checked: bool) -> None:
        self._is_checked = is_checked

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request; raises for one that is not to be made."""
        _check_way(newurl, self._is_checked)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _check_way(address: str, is_checked: bool) -> None:
    if urlsplit(address).scheme != "https" and not is_checked:
        hint = "say with --sha256 what has to come, or name an address with https"
        raise ConfigError(f"anybody on the way may exchange what comes from {address}", hint=hint)

"""Downloads files over https, or over any transport if the caller verifies the content."""

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
"""Seconds without data after which a download is aborted."""


def download(address: str, target: Path, is_checked: bool, most_bytes: int) -> Path:
    """Download a file and return its path.

    Unless the caller verifies the content (``is_checked``), the address and every redirect must use https. Raises
    ``ConfigError`` if one does not, ``ConnectError`` if the download fails, ``BundleError`` above ``most_bytes``.
    """
    _check_way(address, is_checked)
    opener = urllib.request.build_opener(_Redirects(is_checked))
    try:
        with opener.open(address, timeout=LONGEST_WAIT) as answer, target.open("wb") as file:
            for block in iter(lambda: answer.read(1 << 20), b""):
                file.write(block)
                if file.tell() > most_bytes:
                    raise BundleError(f"{address} is longer than {most_bytes} bytes", hint="download it otherwise")
    except (urllib.error.URLError, OSError) as error:
        if error.errno in FULL:
            raise
        hint = "check that this machine can reach the address"
        raise ConnectError(f"{address}: {error}", code="environment.download", hint=hint) from error
    return target


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects that cannot be forged on the network path."""

    def __init__(self, is_checked: bool) -> None:
        self._is_checked = is_checked

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        """Return the redirected request; raise if it is not allowed."""
        _check_way(newurl, self._is_checked)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _check_way(address: str, is_checked: bool) -> None:
    if urlsplit(address).scheme != "https" and not is_checked:
        hint = "give the expected hash with --sha256, or use an https address"
        raise ConfigError(f"the download from {address} is not protected against tampering", hint=hint)

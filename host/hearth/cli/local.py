"""A local host: `hearth standalone` or `hearth distributed` as a child process, used over its REST API."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hearth.foundation.child import start_child, stop_child
from hearth.foundation.properties import render
from hearth_api import ConnectError, NotFoundError

_START_TIMEOUT = 90.0
"""Longer than the minute after which the host gives up on its broker and reports it."""
_PAGE_TIMEOUT = 10.0
_REQUEST_TIMEOUT = 100.0
"""Slightly longer than the 90 s after which the host gives up on a request."""
_STOP_GRACE = 30.0
_POLL = 0.1
_LAST_LINES = 15
_SERVES = re.compile(r"^Hearth \S+ serves (http://[^\s,]+)", re.MULTILINE)
_WAITS = re.compile(r"^waiting for .*$", re.MULTILINE)
_SPARKS_PAGE = re.compile(r"Spark's UI is at (http://\S+)")


class LocalHost:
    """A host that keeps its files in one folder and ends with the process that started it.

    The address is read from the host's output: a free port that is picked beforehand could be taken by another
    process in the meantime, which would then be mistaken for this host.
    """

    def __init__(self, folder: Path, port: int, settings: Mapping[str, str], mode: str = "standalone") -> None:
        """Describe a host that will listen on `port` or the next free one; nothing starts yet."""
        self.folder = folder
        self._mode = mode
        self.url = ""
        """Where it answers; known after the start."""
        self._settings = {**settings, "listeners": f"http://127.0.0.1:{port}"}
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Return the file with the host's output."""
        return self.folder / "host.log"

    @property
    def is_running(self) -> bool:
        """Return whether the process is alive."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """Return the process id; the host has been started."""
        assert self._child is not None, "start comes first"
        return self._child.pid

    @property
    def address(self) -> str:
        """Return host and port, as statuses name a host."""
        return self.url.partition("://")[2]

    def processes(self) -> Iterator[tuple[str, int]]:
        """Yield nothing: a standalone host has no other to take over."""
        yield from ()

    def news(self, connector: str) -> Iterator[str]:
        """Yield nothing: there is no other host."""
        yield from ()

    def await_sparks_page(self) -> str | None:
        """Return the address of Spark's UI, which appears after the first task; ``None`` if it does not."""
        deadline = time.monotonic() + _PAGE_TIMEOUT
        while (page := self._find(_SPARKS_PAGE)) is None and self.is_running and time.monotonic() < deadline:
            time.sleep(_POLL)
        return page

    def start(self, on_wait: Callable[[str], None] = lambda _: None) -> None:
        """Start the host and return when it answers; relative paths of connectors are relative to its folder.

        `on_wait` is called with each line in which the host reports what it waits for.
        """
        worker = self.folder / "worker.properties"
        worker.touch(mode=0o600)  # it may hold a secret
        worker.write_text(render(self._settings), encoding="ascii")
        command = [sys.executable, "-m", "hearth", self._mode, "--free-port", str(worker)]
        with self.log.open("wb") as log:
            self._child = start_child(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + _START_TIMEOUT
        reported = 0
        while (url := self._find(_SERVES)) is None:
            waits = _WAITS.findall(self._output())
            for line in waits[reported:]:
                on_wait(line)
            reported = len(waits)
            if not self.is_running:
                raise self.failure(f"exited with code {self._child.wait()}")
            if time.monotonic() > deadline:
                raise self.failure(f"did not serve within {_START_TIMEOUT:.0f} s")
            time.sleep(_POLL)
        self.url = url

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the JSON of the response; an error carries the host's message."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310  the URL is our own
            self.url + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_TIMEOUT) as answer:  # noqa: S310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise _as_error(error.code, error.read()) from error
        except OSError as error:
            raise ConnectError(f"{method} {self.url}{path}: {error}", code="host.unreachable") from error

    def stop(self) -> None:
        """Stop the host and let its tasks drain; kill it if that takes too long."""
        if self._child is not None:
            stop_child(self._child, _STOP_GRACE)

    def failure(self, fact: str) -> ConnectError:
        """Return an error with a fact about the host and the last lines of its log."""
        lines = self._output().splitlines()[-_LAST_LINES:]
        return ConnectError(
            "\n".join((f"the host {fact}; the last lines of its log:", *lines)),
            code="host.start",
            hint=f"see {self.log}",
        )

    def _find(self, pattern: re.Pattern[str]) -> str | None:
        """Return what the pattern's group matches in the host's output."""
        found = pattern.search(self._output())
        return None if found is None else found[1]

    def _output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def _as_error(status: int, body: bytes) -> ConnectError:
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        message = body.decode(errors="replace")
    kind = NotFoundError if status == 404 else ConnectError
    return kind(f"HTTP {status}: {message}", code="host.answer")

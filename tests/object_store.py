"""Servers of object stores for tests, each a process of its own on the local machine."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from urllib.error import HTTPError, URLError

from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually


@dataclass(frozen=True)
class StoreServer:
    """A running server."""

    url: str

    def answers(self) -> bool:
        """Return whether it takes requests."""
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except HTTPError:
            return True
        except (URLError, OSError):
            return False
        return True


@contextmanager
def running(command: list[str], url: str) -> Iterator[StoreServer]:
    """Run the program of a server until the block ends."""
    with TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            server = StoreServer(url)
            if not eventually(lambda: process.poll() is not None or server.answers(), TIMEOUT) or process.poll():
                log.seek(0)
                raise AssertionError(log.read().decode())
            yield server
        finally:
            process.kill()
            process.wait(TIMEOUT)


@contextmanager
def serving_s3() -> Iterator[StoreServer]:
    """Serve S3 by moto, with a bucket named `data`."""
    port = reserve_port()
    url = f"http://127.0.0.1:{port}"
    with running([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], url) as server:
        make_bucket(server, "data")
        yield server


def make_bucket(server: StoreServer, name: str) -> None:
    """Create a bucket."""
    urllib.request.urlopen(urllib.request.Request(f"{server.url}/{name}", method="PUT"), timeout=TIMEOUT).close()

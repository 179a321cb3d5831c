"""Servers of object stores for tests, each a process of its own on the local machine.

moto serves S3, azurite Azure's storage; npm installs azurite on first use. No emulator of Google's storage speaks its
XML API, which is that of S3 but for names of headers: moto serves it as well, behind a translation of those.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from urllib.error import HTTPError, URLError

from filelock import FileLock

from hearth.foundation.user_file import cache_directory
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's well-known account, which exists nowhere else."""
_AZURITE = Path(__file__).with_name("azurite")
_GOOGLE = """
import sys
from werkzeug.serving import run_simple
from moto.server import DomainDispatcherApplication, create_backend_app
serve = DomainDispatcherApplication(create_backend_app)
def app(environ, answer):
    for name in [each for each in environ if each.startswith("HTTP_X_GOOG_META_")]:
        environ["HTTP_X_AMZ_META_" + name[17:]] = environ.pop(name)
    if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
        environ["HTTP_IF_NONE_MATCH"] = "*"
    environ["HTTP_AUTHORIZATION"] = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"
    def translated(status, headers, *more):
        return answer(status, [(k.lower().replace("x-amz-meta-", "x-goog-meta-"), v) for k, v in headers], *more)
    return serve(environ, translated)
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
"""


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


@contextmanager
def serving_google() -> Iterator[StoreServer]:
    """Serve the XML API of Google's storage, with a bucket named `data`."""
    port = reserve_port()
    with running([sys.executable, "-c", _GOOGLE, str(port)], f"http://127.0.0.1:{port}") as server:
        make_bucket(server, "data")
        yield server


def google_credentials(server: StoreServer) -> str:
    """Return a service account's file that names the server and needs no token."""
    account = {"client_email": "", "private_key": "", "private_key_id": ""}
    return json.dumps({"gcs_base_url": server.url, "disable_oauth": True, **account})


def has_azurite() -> bool:
    """Return whether this machine can run azurite."""
    return None not in (shutil.which("node"), shutil.which("npm"))


@contextmanager
def serving_azure() -> Iterator[StoreServer]:
    """Serve Azure's blob storage, with a container named `data`."""
    port = reserve_port()
    program = _installed_azurite() / "node_modules" / ".bin" / "azurite-blob"
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    command = [str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    with running(command, f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}") as server:
        _make_container(server, "data")
        yield server


def _installed_azurite() -> Path:
    files = [_AZURITE / name for name in ("package.json", "package-lock.json", ".npmrc")]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = cache_directory("tests", f"azurite-{digest}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=600):  # several processes of a run need it at once
        if not folder.is_dir():
            with TemporaryDirectory(dir=folder.parent) as building:
                for file in files:
                    shutil.copy(file, building)
                command = ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
                subprocess.run(command, cwd=building, check=True, timeout=600, capture_output=True)
                Path(building).rename(folder)
                Path(building).mkdir()  # what is removed at the end
    return folder


def _make_container(server: StoreServer, name: str) -> None:
    date, version = formatdate(usegmt=True), "2021-08-06"
    path = f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{name}"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n{path}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(AZURE_KEY), text.encode(), "sha256")).decode()
    headers = {"x-ms-date": date, "x-ms-version": version}
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{signature}"
    request = urllib.request.Request(f"{server.url}/{name}?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(request, timeout=TIMEOUT).close()

"""A PostgreSQL server of a test, as a user's process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

USER, PASSWORD = "hearth", "open sesame"
_USER_OF_PACKAGE = "postgres"
"""The user of Debian's package, because the server refuses to run as root."""
_OPTIONS = {
    "listen_addresses": "127.0.0.1", "fsync": "off", "max_connections": "60", "max_prepared_transactions": "4",
}  # fmt: skip


def programs() -> Path | None:
    """Return the folder of the newest server's programs, None if there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    found = shutil.which("postgres")
    return next((path for path in debian if (path / "postgres").exists()), Path(found).parent if found else None)


def is_installed() -> bool:
    """Return whether this machine has the server."""
    return programs() is not None


@dataclass
class PostgreSql:
    """A running server."""

    port: int
    folder: Path
    command: list[str]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, **_identity()
            )
        assert eventually(self.answers, TIMEOUT), (self.folder / "log").read_text()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends connections, where SIGTERM waits for them; SIGQUIT ends it as a power failure does."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(TIMEOUT)
            self.process = None

    def answers(self) -> bool:
        """Return whether it takes connections."""
        found = programs()
        assert found is not None
        command = [str(found / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0


def _identity() -> dict[str, Any]:
    return {"user": _USER_OF_PACKAGE} if os.getuid() == 0 else {}


@contextmanager
def serving() -> Iterator[PostgreSql]:
    """Start a server with an empty data directory and an administrator with a password; stop it at the end."""
    found = programs()
    assert found is not None, "apt install postgresql"
    with TemporaryDirectory(prefix="hearth-postgresql-") as name:
        folder = Path(name)
        password = folder / "password"
        password.write_text(PASSWORD)
        if os.getuid() == 0:
            shutil.chown(folder, _USER_OF_PACKAGE)
            shutil.chown(password, _USER_OF_PACKAGE)
        rights = ["--username", USER, "--pwfile", str(password), "--auth", "scram-sha-256"]
        make = [str(found / "initdb"), "-D", str(folder / "data"), *rights, "--encoding", "UTF8", "--no-locale", "-N"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, **_identity())
        port = reserve_port()
        options = {**_OPTIONS, "port": str(port), "unix_socket_directories": str(folder)}
        command = [str(found / "postgres"), "-D", str(folder / "data")]
        command += [part for option, value in options.items() for part in ("-c", f"{option}={value}")]
        server = PostgreSql(port, folder, command)
        server.start()
        try:
            yield server
        finally:
            server.stop()

"""A MariaDB server of a test, as a user's process; its changes are logged by row."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

USER, PASSWORD = "hearth", "open sesame"
_USER_IN_TESTS = "mysql"
"""The user of Debian's package, because the server refuses to run as root."""
_OPTIONS = (
    "--bind-address=127.0.0.1", "--log-bin=log", "--binlog-format=ROW", "--server-id=1",
    "--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0", "--innodb-fast-shutdown=2",
)  # fmt: skip
"""The last three save time: a test's data need not survive a power failure."""


def is_installed() -> bool:
    """Return whether this machine has the server."""
    return shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") is not None


@dataclass(frozen=True)
class MariaDb:
    """A running server."""

    port: int
    socket: Path

    def run(self, statements: str) -> str:
        """Run SQL statements as its administrator and return what the client prints."""
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot"]
        done = subprocess.run(command, input=statements, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def answers(self) -> bool:
        """Return whether it takes statements."""
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-e", "select 1"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _install(command: list[str], data: Path) -> None:
    """Make a data directory; on a busy machine that may fail for no lasting reason, so it is tried again."""
    for _ in range(3):
        shutil.rmtree(data, ignore_errors=True)
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode == 0:
            return
    raise AssertionError(f"{command}: {done.stdout}{done.stderr}")


@contextmanager
def serving() -> Iterator[MariaDb]:
    """Start a server with an empty data directory, and a user that may read everything; stop it at the end."""
    with TemporaryDirectory(prefix="hearth-mariadb-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        data, port = folder / "data", reserve_port()
        own = ["--no-defaults", f"--datadir={data}", f"--user={_USER_IN_TESTS}"]
        install = ["mariadb-install-db", *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
        _install(install, data)
        server = MariaDb(port, data / "socket")
        with (folder / "log").open("wb") as log:
            command = ["/usr/sbin/mariadbd", *own, *_OPTIONS, f"--port={port}", f"--socket={server.socket}"]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            try:
                assert eventually(server.answers, TIMEOUT), (folder / "log").read_text()
                hosts = ("%", "localhost")
                users = (f"create user '{USER}'@'{host}' identified by '{PASSWORD}'" for host in hosts)
                rights = (f"grant all on *.* to '{USER}'@'{host}'" for host in hosts)
                server.run(";".join([*users, *rights]))
                yield server
            finally:
                process.terminate()
                process.wait(TIMEOUT)

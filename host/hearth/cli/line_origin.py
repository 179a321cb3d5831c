"""Where the quickstart's lines come from: a file, or a table of a database."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path


class LineOrigin(ABC):
    """Takes lines that a source connector reads."""

    def __init__(self, path: Path) -> None:
        """Store the file, which may be missing."""
        self.path = path

    def prepare(self) -> None:
        """Make what a source must find when it starts."""
        return

    @abstractmethod
    def count(self) -> int:
        """Return how many lines it has."""

    @abstractmethod
    def append(self, lines: Sequence[str]) -> None:
        """Add lines, all at once."""

    @abstractmethod
    def command(self, line: str) -> str:
        """Return a shell command that adds a line."""


class LineFile(LineOrigin):
    """Lines of a text file."""

    def count(self) -> int:
        """Count the ends of lines."""
        return self.path.read_bytes().count(b"\n") if self.path.exists() else 0

    def append(self, lines: Sequence[str]) -> None:
        """Append to the file, and wait until they are on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())

    def command(self, line: str) -> str:
        """Return an echo into the file."""
        return f"echo '{line}' >> {self.path}"


class LineTable(LineOrigin):
    """Rows of a table of a SQLite database, which is created when it is needed."""

    NAME = "lines"

    def prepare(self) -> None:
        """Create the table."""
        self._connected().close()

    def count(self) -> int:
        """Count the rows."""
        with closing(self._connected()) as connection:
            return int(connection.execute(f"SELECT COUNT(*) FROM {self.NAME}").fetchone()[0])  # noqa: S608 - a constant

    def append(self, lines: Sequence[str]) -> None:
        """Insert rows in one transaction."""
        with closing(self._connected()) as connection, connection:
            connection.executemany(f"INSERT INTO {self.NAME}(line) VALUES (?)", [(line,) for line in lines])  # noqa: S608

    def command(self, line: str) -> str:
        """Return a call of SQLite's shell."""
        insert = f"insert into {self.NAME}(line) values ('{line}')"  # noqa: S608 - shown, not run
        return f'sqlite3 {self.path} "{insert}"'

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path)
        columns = "id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, line TEXT NOT NULL"
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self.NAME}({columns})")
        return connection

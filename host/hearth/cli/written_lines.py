"""Where the quickstart's lines arrive: a text file, or a directory of Parquet files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path


class WrittenLines(ABC):
    """Lines that a sink connector writes."""

    def __init__(self, path: Path) -> None:
        """Store the file or directory, which may be missing."""
        self.path = path

    @abstractmethod
    def end(self) -> int:
        """Return the present end, a position for `read`."""

    @abstractmethod
    def read(self, begin: int) -> tuple[list[str], int]:
        """Return the complete lines from a position on, and the position after them."""

    @abstractmethod
    def command(self) -> str:
        """Return a shell command that shows lines."""


class LinesInFile(WrittenLines):
    """Lines of a text file; positions are bytes."""

    def end(self) -> int:
        """Return the size."""
        return self.path.stat().st_size if self.path.exists() else 0

    def read(self, begin: int) -> tuple[list[str], int]:
        """Read up to the last end of a line, since a sink may be in the middle of writing."""
        if not self.path.exists():
            return [], begin
        with self.path.open("rb") as file:
            file.seek(begin)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = [line.decode(errors="replace") for line in whole.split(b"\n")[:-1]]
        return lines, begin + len(whole)

    def command(self) -> str:
        """Return a tail of the file."""
        return f"tail -f {self.path}"


class LinesInParquet(WrittenLines):
    """The column `line` of Parquet files below a directory, in the order of their names; positions are rows."""

    COLUMN = "line"

    def __init__(self, path: Path) -> None:
        """Create the directory, which the sink wants to find."""
        super().__init__(path)
        path.mkdir(parents=True, exist_ok=True)
        self._known: dict[Path, list[str]] = {}

    def end(self) -> int:
        """Count the rows."""
        return len(self._lines())

    def read(self, begin: int) -> tuple[list[str], int]:
        """Read the files that are new; each is complete, and never changes."""
        lines = self._lines()
        return lines[begin:], len(lines)

    def command(self) -> str:
        """Return a query of DuckDB."""
        return f"duckdb -c \"select * from '{self.path}/**/*.parquet'\""  # noqa: S608 - shown, not run

    def _lines(self) -> list[str]:
        from pyarrow import parquet

        files = sorted(path for path in self.path.rglob("[!.]*.parquet"))
        for path in files:
            if path not in self._known:
                table = parquet.ParquetFile(path).read(columns=[self.COLUMN])
                self._known[path] = table.column(self.COLUMN).to_pylist()
        return [line for path in files for line in self._known[path]]

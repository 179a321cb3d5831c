"""Numbered lines through a cluster: written without end and read at the sink, with every gap in time and order."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.timeouts import eventually

_EVERY_SECONDS = 0.05


@dataclass
class Arrivals:
    """Arrivals at one end: how far without a gap, how many repeats, and the longest time without a new line."""

    reach: int = 0
    count: int = 0
    longest_gap: float = 0.0
    faults: list[str] = field(default_factory=list)
    _last_at: float = field(default_factory=time.monotonic)

    @property
    def repeats(self) -> int:
        """Return how many lines arrived again."""
        return self.count - self.reach

    def add(self, number: int) -> None:
        """Add a line; a repeat may start further back, but no line may be skipped."""
        self.count += 1
        if number > self.reach:
            self.faults.append(f"line {number} arrived before line {self.reach}")
        if number == self.reach:
            self.reach += 1
            self.look()
            self._last_at = time.monotonic()

    def look(self) -> None:
        """Update the time since the last new line."""
        self.longest_gap = max(self.longest_gap, time.monotonic() - self._last_at)

    def forget_gaps(self) -> None:
        """Restart the measurement of gaps."""
        self.longest_gap, self._last_at = 0.0, time.monotonic()


class NumberedLines:
    """Writes lines to a source's file and reads those of a sink's file, each in its own thread."""

    def __init__(self, folder: Path, topic: str) -> None:
        self.source, self.sink = folder / f"{topic}.in", folder / f"{topic}.out"
        self.topic = topic
        self.arrivals = Arrivals()
        self.written = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._write, self._read)]
        self.source.touch()

    def configs(self) -> list[dict[str, str]]:
        """Return the configurations of source and sink."""
        return [
            {"name": f"{self.topic}-source", "connector.class": "FileStreamSource", "tasks.max": "1",
             "file": str(self.source), "topic": self.topic},
            {"name": f"{self.topic}-sink", "connector.class": "FileStreamSink", "tasks.max": "1",
             "file": str(self.sink), "topics": self.topic},
        ]  # fmt: skip

    def __enter__(self) -> NumberedLines:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()

    def flows(self, seconds: float = 60.0) -> bool:
        """Wait until lines arrive that were written after this call."""
        wanted = self.written + 1
        return eventually(lambda: self.arrivals.reach >= wanted, seconds)

    def is_complete(self, seconds: float = 60.0) -> bool:
        """Stop writing, and wait until all written lines have arrived."""
        self._stop.set()
        self._threads[0].join()
        whole = eventually(self._is_all_there, seconds)
        self._threads[1].join()
        return whole

    def _is_all_there(self) -> bool:
        if not self._threads[1].is_alive():
            self._threads[1] = threading.Thread(target=self._read_rest, daemon=True)
            self._threads[1].start()
        return self.arrivals.reach >= self.written

    def _write(self) -> None:
        with self.source.open("a") as file:
            while not self._stop.wait(_EVERY_SECONDS):
                file.write(f"{self.written:09d}\n")
                file.flush()
                self.written += 1

    def _read(self) -> None:
        self._offset, self._rest = 0, b""
        while not self._stop.wait(_EVERY_SECONDS):
            self._read_rest()

    def _read_rest(self) -> None:
        self.arrivals.look()
        if not self.sink.exists():
            return
        with self.sink.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self.arrivals.add(int(line[-9:]))  # a killed sink may have left half a line

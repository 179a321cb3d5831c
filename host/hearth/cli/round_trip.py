"""A round trip of lines from a source's file or table to a sink's files: sends them, waits for them and compares."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from hearth.cli.line_origin import LineOrigin
from hearth.cli.written_lines import WrittenLines
from hearth_api import ConnectError

_TIMEOUT = 90.0
_POLL = 0.1
_ASK_EVERY = 2.0


class RoundTrip:
    """Sends numbered lines to where a source reads and looks for them where a sink writes.

    Numbers continue after the last line there, so every line is unique. Lines of earlier runs may
    still arrive and do not count.
    """

    def __init__(self, source: LineOrigin, written: WrittenLines) -> None:
        """Note the present end of what the sink has written; either file may be missing."""
        self.source = source
        self.written = written
        self._sent: list[str] = []
        self._begin = self._seen = written.end()

    @property
    def sink(self) -> Path:
        """Return the file or directory that the sink writes."""
        return self.written.path

    def send(self, count: int) -> None:
        """Add ``count`` lines for the source."""
        lines_before = self.source.count()
        self._sent = [f"Hello from Hearth, line {lines_before + each}" for each in range(1, count + 1)]
        self.source.append(self._sent)

    def wait(self) -> Iterator[int]:
        """Wait until every line has arrived; yield the number of missing lines every two seconds.

        Raises `ConnectError` if some are still missing after 90 seconds.
        """
        deadline = time.monotonic() + _TIMEOUT
        asked = time.monotonic()
        while missing := len(set(self._sent) - set(self.arrived())):
            if time.monotonic() > deadline:
                raise ConnectError(
                    f"{missing} of {len(self._sent)} lines did not arrive in {self.sink} within {_TIMEOUT:.0f} s"
                )
            if time.monotonic() - asked > _ASK_EVERY:
                yield missing
                asked = time.monotonic()
            time.sleep(_POLL)

    def arrived(self) -> list[str]:
        """Return the lines of this trip that the sink has written, in its order."""
        sent = set(self._sent)
        return [line for line in self.written.read(self._begin)[0] if line in sent]

    def newly_arrived(self) -> list[str]:
        """Return the complete lines, from any sender, that the sink has written since the last call."""
        lines, self._seen = self.written.read(self._seen)
        return lines

    def verify(self) -> None:
        """Raise unless every line that was sent arrived exactly once and in order."""
        arrived = self.arrived()
        if arrived == self._sent:
            return
        lost = len(set(self._sent) - set(arrived))
        twice = len(arrived) - len(set(arrived))
        fact = f"{lost} lost, {twice} more than once" if lost or twice else "not in order"
        raise ConnectError(f"of {len(self._sent)} lines {fact}: compare {self.source.path} and {self.sink}")

"""Progress output for people: steps with their results, in colour on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TextIO

_GREEN, _RED, _DIM, _BOLD = "32", "31", "2", "1"
_ERASE_LINE = "\r\x1b[K"

Step = Callable[[str], AbstractContextManager[object]]
"""Shows that a step of this name is in progress, and that it is done."""


def printable(text: str, keep: str = "\n\t") -> str:
    """Escape characters of a text that could control a terminal or cannot be printed, except those in ``keep``."""
    others = text
    for each in keep:
        others = others.replace(each, "")
    if others.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text
    )


def clear_screen() -> None:
    """Empty the terminal and go to its top; does nothing where the output is no terminal."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[H\x1b[2J")
        sys.stdout.flush()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Format a head and rows as one line each, with columns as wide as their widest cell.

    If a line is wider than ``width``, by default the width of the terminal if standard output is one, each row is a
    paragraph instead, with a line for each cell.
    """
    shown = [head, *([printable(cell, keep="") for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(head))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    if width is None or not rows or max(map(len, lines)) <= width:
        return "\n".join(lines)
    names = max(map(len, head))
    return "\n\n".join("\n".join(f"{name.ljust(names)}  {cell}" for name, cell in zip(head, row)) for row in shown[1:])


class Terminal:
    """Writes lines; on a terminal in colour, and with a line that changes while a step is in progress."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, else to standard output."""
        self._stream = stream or sys.stdout
        self._is_live = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._has_colour = self._is_live and not os.environ.get("NO_COLOR")

    def say(self, text: str = "") -> None:
        """Write a line."""
        self._write(f"{text}\n")

    def title(self, text: str) -> None:
        """Write a bold line."""
        self.say(self._paint(text, _BOLD))

    def note(self, text: str) -> None:
        """Write a dim line; on a terminal it replaces the name of the step in progress."""
        self.say(f"{_ERASE_LINE if self._is_live else ''}{self._paint(f'  {text}', _DIM)}")

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[str], None]]:
        """Show that a step is in progress, then whether it succeeded and how long it took.

        Yields a function that sets a description of the result, which follows the name.
        """
        started, result = time.monotonic(), [""]
        if self._is_live:
            self._write(f"… {name}")
        try:
            yield lambda words: result.__setitem__(0, words)
        except BaseException:
            self._end_step(self._paint("✗", _RED), name, started)
            raise
        self._end_step(self._paint("✓", _GREEN), f"{name}  {result[0]}".rstrip(), started)

    @property
    def live_step(self) -> Step:
        """Return `step` on a terminal, and a context that shows nothing for output to a program."""
        return self.step if self._is_live else nullcontext

    def _end_step(self, sign: str, text: str, started: float) -> None:
        seconds = self._paint(f"({time.monotonic() - started:.1f} s)", _DIM)
        self.say(f"{_ERASE_LINE if self._is_live else ''}{sign} {text}  {seconds}")

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._has_colour else text

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "ascii"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()

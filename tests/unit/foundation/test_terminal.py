"""People see colour and moving lines on a terminal, plain lines anywhere else."""

from __future__ import annotations

import io

import pytest

from hearth.foundation.terminal import Terminal, printable, table


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Say so."""
        return True


class Pipe(io.StringIO):
    """A stream with an old encoding that is not a terminal."""

    encoding = "ascii"


def test_pipe_gets_plain_lines() -> None:
    """A log file holds no control characters, and a character it cannot show is no crash."""
    stream = Pipe()
    terminal = Terminal(stream)
    with terminal.step("Kafka") as done:
        done("on port 9092")
    terminal.note("more")
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().startswith("? Kafka  on port 9092  (0.")
    assert stream.getvalue().endswith("  more\n")


def test_terminal_gets_colour_and_a_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a step runs its name is shown; its result replaces it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Screen()
    with Terminal(stream).step("Kafka"):
        assert stream.getvalue() == "… Kafka"
    assert "\r\x1b[K\x1b[32m✓\x1b[0m Kafka" in stream.getvalue()


def test_live_steps_are_shown_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that reads the output gets none of them."""
    monkeypatch.setenv("TERM", "xterm")
    screen, pipe = Screen(), Pipe()
    for stream in (screen, pipe):
        with Terminal(stream).live_step("Kafka"):
            pass
    assert "Kafka" in screen.getvalue()
    assert pipe.getvalue() == ""


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is a promise to people who set it."""
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Screen()
    Terminal(stream).title("Hearth")
    assert stream.getvalue() == "Hearth\n"


def test_failed_step_is_marked_and_raises() -> None:
    """The caller prints the error itself."""
    stream = Screen()

    def fail() -> None:
        with Terminal(stream).step("Kafka"):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert "✗" in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本", "plain, naïve, 日本"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\t\x07b\n", "a\t\\x07b\n"),
        ("\x1b[2J\x07\x9b\x7f", "\\x1b[2J\\x07\\x9b\\x7f"),
        ("right \u202e left", "right \\u202e left"),
        ("name \udcff", "name \\udcff"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    """Escapes, bells, changes of direction, and what cannot be written at all."""
    assert printable(text) == shown


def test_a_line_stays_a_line() -> None:
    """In a single line, line breaks are escaped as well."""
    assert printable("a\nb", keep="") == "a\\nb"


def test_table_that_is_wider_than_the_terminal_has_a_paragraph_for_each_row() -> None:
    """A terminal would break lines in the middle of words; a pipe gets a line for each row, however long."""
    head, rows = ("NAME", "IT IS"), [("orders", "a source"), ("counts", "a sink")]
    assert table(head, rows) == "NAME    IT IS\norders  a source\ncounts  a sink"
    assert table(head, rows, 16) == table(head, rows)
    assert table(head, rows, 15) == "NAME   orders\nIT IS  a source\n\nNAME   counts\nIT IS  a sink"
    assert table(head, [], 3) == "NAME  IT IS"

"""The log of a stage's process: what leaves it, and when."""

from __future__ import annotations

import io
import subprocess
import sys

from hearth_stage.log_call import LogLine

BEGIN = "import logging, os, sys, threading, warnings\nfrom hearth_stage.log_output import begin_log\nbegin_log()\n"


def said(program: str) -> list[LogLine | str]:
    """Return the lines of a process that begins its log and then runs a program."""
    command = [sys.executable, "-c", BEGIN + program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return [LogLine.read(line) or line for line in io.StringIO(done.stdout.decode())]


def shown(program: str) -> list[tuple[str, str, str] | str]:
    """Return level, logger and text of these lines."""
    return [each if isinstance(each, str) else (each.level, each.logger, each.text) for each in said(program)]


def test_each_line_leaves_at_once() -> None:
    """Before a process is killed, in the order in which it was said; half a line leaves when it is flushed."""
    lines = shown(
        "logging.getLogger('a').debug('hidden')\n"
        "logging.getLogger('a').info('logged\\n\\xe9\\udc80')\n"
        "print('printed', 1)\n"
        "sys.stderr.write('raw\\n')\n"
        "print('half', end='', flush=True)\n"
        "print('lost', end='')\n"
        "warnings.warn('beware')\n"
        "sys.stdout.buffer.write(b'bytes\\n')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert lines[:4] == [
        ("INFO", "a", "logged\n\u00e9\\udc80"),
        ("INFO", "stdout", "printed 1"),
        "raw\n",
        ("INFO", "stdout", "half"),
    ]
    assert lines[4][:2] == ("WARN", "py.warnings")
    assert lines[5:] == ["bytes\n"]


def test_lines_of_two_threads_do_not_mix() -> None:
    """Although ``print`` writes a line in pieces."""
    lines = shown(
        "def talk(word):\n    for _ in range(200):\n        print(word, word, word)\n"
        "threads = [threading.Thread(target=talk, args=[word]) for word in 'ab']\n"
        "for each in threads: each.start()\n"
        "for each in threads: each.join()\n"
    )
    assert sorted(lines) == [("INFO", "stdout", "a a a")] * 200 + [("INFO", "stdout", "b b b")] * 200

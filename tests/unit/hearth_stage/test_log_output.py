"""The log of a stage process: what it writes, and when."""

from __future__ import annotations

import io
import subprocess
import sys

from hearth_stage.log_budget import BURST_BYTES
from hearth_stage.log_call import LogLine

BEGIN = "import logging, os, sys, threading, warnings\nfrom hearth_stage.log_output import begin_log\nbegin_log()\n"


def printed(program: str) -> list[LogLine | str]:
    """Return the output lines of a process that starts its log and then runs a program."""
    command = [sys.executable, "-c", BEGIN + program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return [LogLine.read(line) or line for line in io.StringIO(done.stdout.decode())]


def shown(program: str) -> list[tuple[str, str, str] | str]:
    """Return level, logger and text of these lines."""
    return [each if isinstance(each, str) else (each.level, each.logger, each.text) for each in printed(program)]


def test_each_line_is_written_at_once() -> None:
    """Before the process is killed, in order; an incomplete line is written by a flush."""
    lines = shown(
        "logging.getLogger('a').debug('hidden')\n"
        "logging.getLogger('a').info('logged\\n\\xe9\\udc80')\n"
        "print('printed', 1)\n"
        "sys.stderr.write('complained\\n')\n"
        "os.write(2, b'raw\\n')\n"
        "print('half', end='', flush=True)\n"
        "print('lost', end='')\n"
        "warnings.warn('beware')\n"
        "sys.stdout.buffer.write(b'bytes\\n')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert lines[:5] == [
        ("INFO", "a", "logged\n\u00e9\\udc80"),
        ("INFO", "stdout", "printed 1"),
        ("WARN", "stderr", "complained"),
        "raw\n",
        ("INFO", "stdout", "half"),
    ]
    assert lines[5][:2] == ("WARN", "py.warnings")
    assert lines[6:] == ["bytes\n"]


def test_lines_of_two_threads_do_not_mix() -> None:
    """Although ``print`` writes a line in pieces."""
    lines = shown(
        "def talk(word):\n    for _ in range(200):\n        print(word, word, word)\n"
        "threads = [threading.Thread(target=talk, args=[word]) for word in 'ab']\n"
        "for each in threads: each.start()\n"
        "for each in threads: each.join()\n"
    )
    assert sorted(lines) == [("INFO", "stdout", "a a a")] * 200 + [("INFO", "stdout", "b b b")] * 200


def test_each_line_has_its_tenant() -> None:
    """Also on threads started by its threads, and for a failed thread's trace; C output has no tenant."""
    lines = printed(
        "from hearth_stage.tenancy import work_for\n"
        "def talk():\n"
        "    print('printed')\n"
        "    logging.getLogger('a').info('logged')\n"
        "    inner = threading.Thread(target=lambda: 1 / 0)\n"
        "    inner.start()\n"
        "    inner.join()\n"
        "def live(number):\n"
        "    work_for(number)\n"
        "    thread = threading.Thread(target=talk)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "for number in (1, 2):\n"
        "    thread = threading.Thread(target=live, args=[number])\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print('own')\n"
    )
    logged = [(each.tenant, each.text) for each in lines if isinstance(each, LogLine)]
    assert len(logged) == len(lines)
    assert {tenant for tenant, _ in logged} == {0, 1, 2}
    for number in (1, 2):
        mine = [text for tenant, text in logged if tenant == number]
        assert mine[:2] == ["printed", "logged"]
        assert mine[-1] == "ZeroDivisionError: division by zero"
    assert logged[-1] == (0, "own")


def test_handler_of_a_plugin_does_not_get_its_own_output() -> None:
    """It writes to the stream that logs printed lines, which must not cause a loop."""
    lines = shown(
        "logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))\n"
        "logging.getLogger().addHandler(logging.StreamHandler())\n"
        "logging.getLogger('a').warning('beware')\n"
    )
    assert sorted(lines) == [("INFO", "stdout", "beware"), ("WARN", "a", "beware"), ("WARN", "stderr", "beware")]


def test_flooding_tenant_leaves_the_others_their_share() -> None:
    """The number of dropped lines is logged with its next line, or when it ends."""
    lines = printed(
        "from hearth_stage.log_output import forget_lines_of\n"
        "from hearth_stage.tenancy import work_for\n"
        "work_for(1)\n"
        "for number in range(8_000): print(number, 'x' * 200)\n"
        "work_for(2)\n"
        "print('short')\n"
        "forget_lines_of(1)\n"
        "forget_lines_of(2)\n"
        "forget_lines_of(3)\n"
    )
    logged = [each for each in lines if isinstance(each, LogLine)]
    assert len(logged) == len(lines)
    long = [each for each in logged if each.tenant == 1]
    assert BURST_BYTES * 0.9 < sum(len(each.text) for each in long) < BURST_BYTES * 1.5
    left_out = 8_000 - (len(long) - 1)
    assert long[-1].text == f"... {left_out} lines left out, this process has exceeded its log budget ..."
    assert [each.text for each in logged if each.tenant == 2] == ["short"]

"""Runs a Java program that ends no later than the process that started it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearth.foundation.child import start_child, stop_child
from hearth.foundation.class_archive import ClassArchive
from hearth_api import ConnectError

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
_LOG_LIMIT = 5_000_000
_LAST_LINES = 20
_LOGGING = """\
handlers=java.util.logging.FileHandler
.level={level}
java.util.logging.FileHandler.pattern={pattern}
java.util.logging.FileHandler.limit={limit}
java.util.logging.FileHandler.count=2
java.util.logging.FileHandler.append=true
java.util.logging.FileHandler.formatter=java.util.logging.SimpleFormatter
java.util.logging.SimpleFormatter.format=%1$tF %1$tT,%1$tL %4$s %3$s %5$s%6$s%n
"""


class BrokerUnavailable(ConnectError):
    """The broker did not start, or exited unexpectedly."""

    code = "environment.broker"


@dataclass(frozen=True)
class JavaProgram:
    """A Java program to run; `name` is also the name of its files in `folder`, such as its size-limited log."""

    name: str
    java: Path
    main_class: str
    arguments: Sequence[str]
    class_path: Sequence[Path]
    folder: Path
    options: Sequence[str] = QUICK_START
    log_level: str = "INFO"
    pass_fds: Sequence[int] = field(default=())

    @property
    def log(self) -> Path:
        """Return the newest part of the program's log."""
        return self.folder / f"{self.name}.log.0"

    @property
    def output(self) -> Path:
        """Return the file with the output of the program and its JVM since the last start."""
        return self.folder / f"{self.name}.out"


class JavaProcess:
    """A running JavaProgram."""

    def __init__(self, program: JavaProgram) -> None:
        """Start the program; it gets SIGTERM when this process ends in any way."""
        self.program = program
        self._process = _start(program)

    @property
    def pid(self) -> int:
        """Return the process id of the JVM."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the program has not ended yet."""
        return self._process.poll() is None

    def stop(self, grace: float = 20.0) -> None:
        """Terminate the program, and kill it if it has not exited after `grace` seconds."""
        stop_child(self._process, grace)

    def kill(self) -> None:
        """Kill the program, like a power failure."""
        self._process.kill()
        self._process.wait()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the program to exit and return its exit code."""
        return self._process.wait(timeout)

    def last_words(self) -> str:
        """Return the last lines of the output and the log, for a message about an unexpected exit."""
        lines: list[str] = []
        for path in (self.program.output, self.program.log):
            if path.is_file():
                lines += path.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
        return "\n".join(lines)


def _start(program: JavaProgram) -> subprocess.Popen[bytes]:
    """Start the program with its output in a file that each start overwrites."""
    program.folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program.java),
        *program.options,
        *ClassArchive(program.java, program.class_path).options(),
        f"-Djava.util.logging.config.file={_logging(program)}",
        f"-XX:ErrorFile={program.folder}/{program.name}.crash",
        program.main_class,
        *program.arguments,
    ]
    with program.output.open("wb") as output:
        return start_child(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "CLASSPATH": os.pathsep.join(map(str, program.class_path))},
            pass_fds=program.pass_fds,
        )


def _logging(program: JavaProgram) -> Path:
    """Write the configuration of the program's log, which has two files of limited size."""
    path = program.folder / f"{program.name}.logging"
    pattern = str(program.folder / f"{program.name}.log.%g")
    text = _LOGGING.format(level=program.log_level, pattern=pattern.replace("\\", "/"), limit=_LOG_LIMIT)
    path.write_text(text, encoding="latin-1", errors="backslashreplace")
    return path


def run_to_end(program: JavaProgram, timeout: float = 60.0) -> None:
    """Run a program to completion; raises BrokerUnavailable with its last output if it fails."""
    process = JavaProcess(program)
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise BrokerUnavailable(f"{program.main_class} did not exit within {timeout:.0f} s") from error
    if code:
        raise BrokerUnavailable(f"{program.main_class} exited with code {code}:\n{process.last_words()}")

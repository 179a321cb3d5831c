"""Hearth as a user starts it: `hearth standalone` with the file bundle on its plugin.path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Thread

from hearth.foundation.child import start_child, stop_child
from tests.peer.worker import GRACE, Worker
from tests.shared_folder import built_once

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def file_bundle() -> Path:
    """Return a plugin.path with the packed file bundle; it is packed once for each run and removed at its end."""
    project = str(ROOT / "plugins" / "file")
    return built_once("plugins", lambda folder: run_hearth("bundle", "pack", project, "-o", str(folder)))


def hearth_environment(class_path: Sequence[Path] = ()) -> dict[str, str]:
    """Return an environment in which `python -m hearth` is this checkout's host with its plugins installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "host", *class_path)))}


def run_hearth(*arguments: str) -> str:
    """Run one `hearth` command to its end and return its output."""
    command = [sys.executable, "-m", "hearth", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=hearth_environment(), check=False)
    assert result.returncode == 0, f"{' '.join(arguments)}:\n{result.stdout}{result.stderr}"
    return result.stdout


class HearthConnect(Worker):
    """`hearth standalone`; the newest lines of its output are kept in memory."""

    side = "hearth"
    command = "standalone"
    through: Sequence[str] = ()
    """A command prefix, to run it on another machine, for example."""
    kept_lines = 400
    class_path: Sequence[Path] = ()
    """Directories of packages whose plugins count as installed with the host."""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, grace: float = GRACE) -> None:
        if self._process:
            stop_child(self._process, grace)
        self._forget()

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._forget()

    def last_words(self) -> str:
        return "\n".join(self._lines) if self._process else "it was never started"

    def _plugin_path(self) -> str:
        return str(file_bundle())

    def _launch(self, files: Sequence[Path]) -> None:
        self._lines: deque[str] = deque(maxlen=self.kept_lines)
        command = [*self.through, sys.executable, "-m", "hearth", self.command, *map(str, files)]
        self._process = start_child(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=hearth_environment(self.class_path),
        )
        self._reader = Thread(target=self._read, args=[self._process], daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Read the worker's output until it and all processes that inherited the output have ended."""
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.append(line.decode(errors="replace").rstrip())

    def _forget(self) -> None:
        """Drop the process; a surviving grandchild may hold the pipe, so wait only briefly."""
        if self._process and self._process.stdout:
            self._reader.join(5)
            if not self._reader.is_alive():
                self._process.stdout.close()
        self._process = None

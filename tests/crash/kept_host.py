"""A cluster host that keeps the output of all its runs for diagnosis."""

from __future__ import annotations

import subprocess

from tests.peer.distributed import HearthDistributed


class KeptHost(HearthDistributed):
    """A host that also writes its output to `host.log` in its folder."""

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with (self.folder / "host.log").open("ab") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                self._lines.append(line.decode(errors="replace").rstrip())

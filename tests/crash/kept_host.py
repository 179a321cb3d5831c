"""A host of a cluster whose words are kept over all its runs, for whoever looks for a cause."""

from __future__ import annotations

import subprocess

from tests.peer.distributed import HearthDistributed


class KeptHost(HearthDistributed):
    """A host that writes what it says to `host.log` in its folder as well."""

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with (self.folder / "host.log").open("ab") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                self._lines.append(line.decode(errors="replace").rstrip())

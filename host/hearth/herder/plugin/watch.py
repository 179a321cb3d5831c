"""Scans plugin.path periodically, so that new bundles are found before anything requests them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

SECONDS = 1.0
"""Seconds between two scans: file systems do not report changes that another machine makes."""
REST = 4
"""The pause lasts at least this multiple of the last scan, which may be slow in a huge directory."""


class PluginWatch:
    """Scans repeatedly on its own thread until it is closed."""

    def __init__(self, look: Callable[[], object], seconds: float = SECONDS) -> None:
        self._look = look
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plugin watch", daemon=True)

    def start(self) -> None:
        """Start the thread; the first scan follows after a delay."""
        self._thread.start()

    def close(self) -> None:
        """Stop scanning; wait for a scan in progress."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = self._seconds
        while not self._over.wait(pause):
            begun = time.monotonic()
            try:
                self._look()
            except Exception:
                log.exception("plugin.path could not be scanned; retrying")
            pause = max(self._seconds, REST * (time.monotonic() - begun))

"""Looking at plugin.path now and then, so that what is dropped there is seen though nobody asks for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

SECONDS = 1.0
"""How long after a look the next one takes place: a file system tells nobody of what others do on another machine."""
REST = 4
"""So many times as long as a look took there is none, be it that a huge directory is read in vain each time."""


class PluginWatch:
    """Looks again and again on a thread of its own, until it is closed."""

    def __init__(self, look: Callable[[], object], seconds: float = SECONDS) -> None:
        self._look = look
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plugin watch", daemon=True)

    def start(self) -> None:
        """Begin; the first look is over a while later."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; returns when a look that has begun is over."""
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
                log.exception("plugin.path could not be looked through, which is tried again")
            pause = max(self._seconds, REST * (time.monotonic() - begun))

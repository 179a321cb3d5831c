"""Writes the file named in HEARTH_TEST_MARKER when it is imported."""

import os
from pathlib import Path

from hearth_api import Transformation

if "HEARTH_TEST_MARKER" in os.environ:
    Path(os.environ["HEARTH_TEST_MARKER"]).write_text(__name__, encoding="utf-8")


class MarksOnImport(Transformation):
    """Passes records through unchanged."""

    def configure(self, configs):
        return

    def apply(self, record):
        return record

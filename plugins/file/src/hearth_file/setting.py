"""The settings of the file connectors, and the names in a source's offsets."""

from __future__ import annotations

from hearth_api import Importance, NonEmptyString, Settings, key

FILENAME = "filename"
"""The only key of a source partition."""
POSITION = "position"
"""The only key of a source offset: the number of bytes before the next line."""
LARGE_BATCH = 10_000
"""Maximum lines of a batch if `batch.size` is not set."""


class FileStreamSourceConfig(Settings):
    """Settings of the file source."""

    file: str | None = key(
        "file", default=None, importance=Importance.HIGH,
        doc="Path of the file to read; the standard input if unset.",
    )  # fmt: skip
    topic: str = key(
        "topic", check=NonEmptyString(), importance=Importance.HIGH, doc="The topic to write the lines to."
    )
    batch_size: int = key(
        "batch.size", default=2000, importance=Importance.LOW,
        doc=f"The maximum number of lines in a poll. If unset, a poll may return up to {LARGE_BATCH:,} lines, because"
        " they move as columns.",
    )  # fmt: skip


class FileStreamSinkConfig(Settings):
    """Settings of the file sink."""

    file: str | None = key(
        "file", default=None, importance=Importance.HIGH,
        doc="Path of the file to append to, created if missing; the standard output if unset.",
    )  # fmt: skip

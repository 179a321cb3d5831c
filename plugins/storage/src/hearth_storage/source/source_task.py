"""The source tasks of the stores."""

from __future__ import annotations

from hearth_storage.source.local import FilesSourceConfig
from hearth_storage.source.s3 import S3SourceConfig
from hearth_storage.source.storage_source_task import StorageSourceTask


class S3SourceTask(StorageSourceTask):
    """Reads files of a bucket."""

    settings = S3SourceConfig


class FilesSourceTask(StorageSourceTask):
    """Reads files below a directory."""

    settings = FilesSourceConfig

"""Spark: runs each Connect task as one Spark job with one long-running Spark task.

On the host, ``spark_launcher`` submits tasks to the application that ``spark_application`` starts and restarts with
the settings of ``spark_setting``; in an executor, Spark calls ``executor``. ``daemon`` is the process that Spark's
Python workers are forked from: ``worker_daemon`` preloads their modules and ``worker_fork`` forks them.
``spare_daemon`` preloads a daemon while the JVM starts, and Spark's own daemon hands over to it with ``hand_over``.
``prewarm`` starts a daemon in each executor of a cluster. ``executor_artifact`` sends executors on other machines the
packages they lack, and ``environment_archive`` the environments of bundles. ``gateway`` starts the JVM,
``standalone_master`` checks whether the master accepts this host, ``address`` finds the address that executors use for
this host, and ``slot`` reports tasks that wait for a slot. No record flows through the JVM, so the RDD API is enough
and Catalyst is never used.

``session`` and ``install`` are for users of the data source: ``spark_session`` starts Spark with the Python that has
Hearth, and ``installation`` adds bundles and Hearth to a running session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running Spark session, or start one that knows ``format("hearth")``.

    ``settings`` are Spark's own: ``session({"spark.master": "local[4]"})``. Call this before anything else starts
    Spark. Raises ``OtherPython``, with a remedy, if Spark already runs with a Python that has no Hearth.
    """
    from hearth.spark.spark_session import open_session  # not needed by hosts and executors

    return open_session(settings or {})


def install(spark: SparkSession, plugin_path: str | Sequence[str]) -> list[str]:
    """Send the bundles of plugin.path, and Hearth, to all executors of a session; returns the names of the bundles.

    ``plugin_path`` is a list, or a string separated by commas. Raises an error if a bundle or its environment is bad.
    """
    from hearth.spark.installation import install_into  # not needed by hosts and executors

    return install_into(spark, plugin_path)

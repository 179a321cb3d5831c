"""Spark: one long-running Spark task and one Spark job for each Connect task.

``spark_launcher`` runs on the host and submits tasks to the Spark that ``spark_application`` starts, and starts again,
with what ``spark_setting`` says; ``executor`` is what Spark calls in an executor; ``daemon`` is the process from which
Spark's Python workers are forked, warm: ``worker_daemon`` loads what they need and ``worker_fork`` forks them.
``spare_daemon`` has that loaded while the JVM starts, to which ``hand_over`` leaves the place, and ``prewarm`` has one
started in each executor of a cluster; ``executor_artifact`` sends executors on other machines what they lack,
``environment_archive`` environments among it. ``gateway`` starts the JVM, ``standalone_master`` finds out whether the
master lets this host in, ``address`` knows where executors find it, ``slot`` tells of tasks that wait. No record flows
through the JVM, so the RDD interface is enough and Catalyst never wakes.

``session`` and ``install`` are for users of the data source: ``spark_session`` starts Spark with the Python that has
Hearth, ``installation`` brings bundles and Hearth into a session of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the session of Spark that runs, or start one in which ``format("hearth")`` is found.

    ``settings`` are Spark's own: ``session({"spark.master": "local[4]"})``. Call it before anything else starts Spark.
    Raises what to do where Spark runs already with a Python that has no Hearth.
    """
    from hearth.spark.spark_session import open_session  # hosts and executors have no use for it

    return open_session(settings or {})


def install(spark: SparkSession, plugin_path: str | Sequence[str]) -> list[str]:
    """Bring the bundles of plugin.path, and Hearth, to all executors of a session; returns the names of the bundles.

    ``plugin_path`` has commas in between, or is a list. Raises what is wrong with a bundle or its environment.
    """
    from hearth.spark.installation import install_into  # hosts and executors have no use for it

    return install_into(spark, plugin_path)

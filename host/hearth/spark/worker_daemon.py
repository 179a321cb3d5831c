"""The process Spark forks its Python workers from, with the heavy modules already in memory.

A fork of a warm process starts at once and shares its memory. Nothing imported here may have started a thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from hearth.spark.hand_over import is_spare
from hearth.spark.spare_daemon import begin_apart, take_place
from hearth.spark.worker_fork import fork_workers


def without_zips(path: list[str], spark_home: str | None) -> list[str]:
    """Return an import path without the zips in which Spark brings pyspark and py4j, where both are installed beside.

    What comes from a zip is compiled by every process that imports it, which costs two seconds and 10 MB, and its list
    of thousands of files is read by each that looks for a module. Only the
    pyspark that Spark itself was installed with takes the place of its zip. A jar of Spark's is a zip without Python.
    """
    if spark_home is None or str(Path(spark_home).parent) not in path or not Path(spark_home, "__init__.py").exists():
        return path
    if not Path(spark_home).with_name("py4j").is_dir():
        return path
    zips = tuple(os.path.join(spark_home, *folder, "") for folder in (("python", "lib"), ("jars",)))
    return [entry for entry in path if not entry.startswith(zips)]


def load_converters() -> None:
    """Load what most tasks convert their records with, definitions of keys as well."""
    from hearth_execution.load import load_class

    for reference in ("hearth_converters.string:StringConverter", "hearth_json.converter:JsonConverter"):
        with contextlib.suppress(ImportError):
            load_class(reference)().config()


def adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, so that all of an executor's descend from it.

    A fork server was started by one worker and serves the others when that ends. Spark's daemon leaves it to the
    kernel to clear away what ended.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def serve() -> NoReturn:
    """Load everything, take the place of Spark's daemon where this is a spare, and fork workers."""
    if is_spare():
        begin_apart()
    sys.path[:] = without_zips(sys.path, os.environ.get("SPARK_HOME"))

    from hearth.runtime.executor_usage import EXECUTOR
    from hearth_stage.single_thread import single_threaded

    with single_threaded():
        import pyspark.worker  # noqa: F401  (Spark imports it after each fork, which is 7 MB more in every worker)
        from pyspark.daemon import worker

        import hearth.runtime.shared_runtime
        import hearth.runtime.task
        import hearth.spark.executor  # noqa: F401
        import hearth_stage.first_array  # noqa: F401
        from hearth.config.confinement_key import BY_DEFAULT
        from hearth.isolation.forked_process import fork_server_directory
        from hearth.kafka.library import library
        from hearth.link.encryption import prepare_encryption
        from hearth.link.link_call import TO_HOST, TO_TASK
        from hearth.runtime.plan import TaskPlan
        from hearth.runtime.task_log import begin_task_log
        from hearth_stage.call import prepare
        from hearth_stage.form import codec_of
        from hearth_stage.operation import FROM_STAGE, TO_STAGE
        from hearth_stage.shared_memory import share_memory

        library()
    load_converters()
    importlib.import_module("encodings.idna")  # by which a task looks up its host's address
    for known in (TO_STAGE.all(), FROM_STAGE.all(), TO_TASK, TO_HOST):
        prepare(known)
    codec_of(TaskPlan)
    BY_DEFAULT.passed_of(os.environ)  # patterns of names, which take 5 ms to compile
    prepare_encryption()
    fork_server_directory()  # all workers share it, so stages of one environment fork from one process
    adopt_orphans()
    begin_task_log()
    share_memory()
    os.environ[EXECUTOR] = str(take_place() if is_spare() else os.getppid())
    os.environ.pop("_SPARK_AUTH_SECRET", None)  # the executor's, by which no plugin should know the cluster
    # Who ends a host by a signal to all its processes wants it to drain. This one ends with its input, whoever its
    # parent is, and a worker decides for itself once it runs a task.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    fork_workers(worker)

"""The process that Spark forks its Python workers from, with the large modules already loaded.

A fork of it starts at once and shares its memory. Nothing imported here may start a thread.
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
    """Return an import path without Spark's zips of pyspark and py4j if both are also installed.

    Every process compiles what it imports from a zip, which takes two seconds and 10 MB, and reads the list of
    thousands of files for each module that it looks up. Only the pyspark that Spark was installed with replaces the
    zip. Spark's jars are zips without Python.
    """
    if spark_home is None or str(Path(spark_home).parent) not in path or not Path(spark_home, "__init__.py").exists():
        return path
    if not Path(spark_home).with_name("py4j").is_dir():
        return path
    zips = tuple(os.path.join(spark_home, *folder, "") for folder in (("python", "lib"), ("jars",)))
    return [entry for entry in path if not entry.startswith(zips)]


def load_converters() -> None:
    """Load the most common converters and their configuration definitions."""
    from hearth_execution.load import load_class

    for reference in ("hearth_converters.string:StringConverter", "hearth_json.converter:JsonConverter"):
        with contextlib.suppress(ImportError):
            load_class(reference)().config()


def adopt_orphans() -> None:
    """Become the parent of orphans, so that all processes of an executor descend from its daemon.

    A worker starts the fork server, which serves the others after that worker has ended. Spark's daemon lets the
    kernel reap ended children.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def serve() -> NoReturn:
    """Preload everything, take over from Spark's daemon if this is a spare, and fork workers."""
    if is_spare():
        begin_apart()
    sys.path[:] = without_zips(sys.path, os.environ.get("SPARK_HOME"))

    from hearth.runtime.executor_usage import EXECUTOR
    from hearth_stage.single_thread import single_threaded

    with single_threaded():
        import pyspark.worker  # noqa: F401  (otherwise Spark imports it after each fork, for 7 MB more in every worker)
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
    importlib.import_module("encodings.idna")  # needed to resolve the host's address
    for known in (TO_STAGE.all(), FROM_STAGE.all(), TO_TASK, TO_HOST):
        prepare(known)
    codec_of(TaskPlan)
    BY_DEFAULT.passed_of(os.environ)  # compiles patterns of names, which takes 5 ms
    prepare_encryption()
    fork_server_directory()  # shared by all workers, so stages of one environment fork from one process
    adopt_orphans()
    begin_task_log()
    share_memory()
    os.environ[EXECUTOR] = str(take_place() if is_spare() else os.getppid())
    os.environ.pop("_SPARK_AUTH_SECRET", None)  # the executor's secret, which no plugin may see
    # A host that gets SIGTERM with all its processes should drain, so this process ignores it and exits at the end of
    # its input; a worker sets its own handling when it runs a task.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    fork_workers(worker)
